// SPDX-License-Identifier: BSD-3-Clause
// What PSM2 does while it opens an endpoint, and what it may do inside any other call: run handlers, which add links, break the
// link that is being sent on, or are run inside each other. Over a stand-in, so that it happens each time.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <thread>
#include <vector>

#include "conduit/psm2/endpoint.hpp"
#include "fake_library.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::psm2::test {
namespace {

constexpr uint32_t kRanks = 40;
constexpr std::size_t kSegment = std::size_t{64} << 10;
constexpr uint64_t kOffset = 4096;

TEST(Psm2Opening, TakesNoLimitThatIsHalfMade) {
  FakePsm2::reset();
  FakePsm2::half_made = 5;
  const Library library = FakePsm2::library();
  PsmOpened opened;
  ASSERT_EQ(library.open(Devices::memory, {}, &opened), OMPL_OK) << error_detail();
  EXPECT_EQ(opened.limits.max_request, FakePsm2::kLimit);
  EXPECT_EQ(FakePsm2::half_made, 0);
}

TEST(Psm2Opening, WithoutALimitThereIsNoEndpoint) {
  FakePsm2::reset();
  FakePsm2::half_made = INT_MAX;
  const Library library = FakePsm2::library();
  PsmOpened opened;
  EXPECT_EQ(library.open(Devices::memory, {}, &opened), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("no limit of its messages"), std::string::npos);
  EXPECT_EQ(opened.endpoint, nullptr);
  FakePsm2::reset();
}

// A world of several ranks in one process, which are threads.
TEST(Psm2Opening, NobodyAsksForLimitsWhileAnotherOpens) {
  FakePsm2::reset();
  const Library library = FakePsm2::library();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        PsmOpened opened;
        const bool good = library.open(Devices::memory, {}, &opened) == OMPL_OK &&
                          opened.limits.max_reply == FakePsm2::kLimit;
        wrong += good ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(FakePsm2::asked_meanwhile, 0);
}

struct CountingSink final : Sink {
  void signal(uint32_t, const Signal&) override { ++count; }
  int count = 0;
};

// Rank 0, whose endpoint 0 is the only real one.
class Psm2Handlers : public testing::Test {
 protected:
  void SetUp() override {
    log::set_level(log::Level::off);
    FakePsm2::reset();
    library_ = FakePsm2::library();
    settings_.endpoints = 1;
    job_ = {.rank = 0,
            .size = kRanks,
            .host = {},
            .secret = "a secret",
            .settings = &settings_,
            .segment = segment_.data(),
            .capacity = segment_.size()};
    own_.slots = {1};
    own_.by_memory = true;
    peers_.assign(kRanks, own_);
    shared_ = {.library = &library_,
               .job = &job_,
               .own = &own_,
               .peers = &peers_,
               .liveness = &liveness_,
               .cookies = {},
               .devices = Devices::memory};
    for (uint64_t rank = 0; rank < kRanks; ++rank) shared_.cookies.push_back(1000 + rank);
    endpoint = std::make_unique<Psm2Endpoint>(shared_, 0);
    PsmEpid number = 0;
    ASSERT_EQ(endpoint->open({}, &number), OMPL_OK) << error_detail();
  }
  void TearDown() override {
    FakePsm2::reset();
    endpoint.reset();
  }

  // That rank says hello. Returns what its messages are to carry.
  static uint64_t hello(uint32_t rank) {
    const Hello hello{.rank = rank, .slot = 0, .target_slot = 0, .cookie = 1000 + rank, .head = 77};
    const auto words = std::bit_cast<std::array<uint64_t, 3>>(hello);
    FakePsm2::receive({to_argument({.op = kHello}), words[0], words[1], words[2]});
    return FakePsm2::last_reply.at(1);
  }
  static uint64_t join(uint32_t rank) {
    const uint64_t head = hello(rank);
    FakePsm2::receive({head_for(head, kReady)});
    return head;
  }

 private:
  Library library_;
  Settings settings_;
  Job job_;
  Address own_;
  std::vector<Address> peers_;
  LivenessListener liveness_;
  SharedState shared_;
  std::vector<std::byte> segment_ = std::vector<std::byte>(kSegment);

 public:
  std::unique_ptr<Psm2Endpoint> endpoint;
};

// The list of links grows while it is gone through.
TEST_F(Psm2Handlers, MayAddLinksWhileTheOthersAreAsked) {
  uint64_t word = 0;
  for (uint32_t rank = 1; rank <= 4; ++rank) {
    join(rank);
    ASSERT_EQ(endpoint->put(rank, &word, kOffset, 8).state, Post::State::done);
  }
  uint32_t next = 5;
  int asked = 0;
  FakePsm2::on_request = [&](const FakePsm2::Words& words) {
    asked += to_head(words[0]).op == kAsk ? 1 : 0;
    if (next < kRanks) join(next++);
  };
  CountingSink sink;
  EXPECT_EQ(endpoint->completed(1), 0U);  // somebody waits
  ASSERT_GE(endpoint->progress(sink, 16), 0);
  EXPECT_EQ(asked, 4);
  EXPECT_GT(next, 8U);
}

TEST_F(Psm2Handlers, MayAddLinksWhileItParts) {
  for (uint32_t rank = 1; rank <= 4; ++rank) join(rank);
  uint32_t next = 5;
  FakePsm2::on_request = [&](const FakePsm2::Words&) {
    if (next < kRanks) join(next++);
  };
  endpoint.reset();
  EXPECT_EQ(next, kRanks) << "those that joined meanwhile were told too";
}

// What the other side sends makes no sense, and is taken in the middle of a post to it.
TEST_F(Psm2Handlers, MayBreakTheLinkThatIsSentOn) {
  const uint64_t head = join(1);
  uint64_t word = 0;
  ASSERT_EQ(endpoint->put(1, &word, kOffset, 8).state, Post::State::done);
  FakePsm2::on_request = [&](const FakePsm2::Words&) {
    FakePsm2::receive({head_for(head, kPut), kSegment}, 8);  // beyond the segment
  };
  const Post get = endpoint->get(1, &word, kOffset, 8);
  EXPECT_EQ(get.state, Post::State::failed);
  EXPECT_EQ(endpoint->failure(1), OMPL_ERR_LINK);
  EXPECT_NE(endpoint->describe().find("0 of 200"), std::string::npos) << endpoint->describe();
  EXPECT_EQ(endpoint->completed(1), 2U) << "everything outstanding counts as complete";
  EXPECT_EQ(endpoint->put(1, &word, kOffset, 8).state, Post::State::failed);
}

// PSM2 waits for room for an answer, and takes in an answer meanwhile, on the connector's thread.
TEST_F(Psm2Handlers, MayRunInsideEachOtherWhileTheConnectorIsAway) {
  const uint64_t head = join(1);
  int inside = 0;
  FakePsm2::on_reply = [&] {
    ++inside;
    FakePsm2::receive_reply({head_for(head, kTaken), 0});
  };
  std::atomic<bool> connected{false};
  FakePsm2::on_connect = [&] {
    if (!connected) FakePsm2::receive({head_for(head, kAsk)});
    connected = true;
  };
  CountingSink sink;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(600);
  while (!connected && std::chrono::steady_clock::now() < limit) {
    endpoint->signal(2, {.offset = kOffset});
    ASSERT_GE(endpoint->progress(sink, 16), 0);
  }
  EXPECT_TRUE(connected);
  endpoint.reset();  // which waits for the connector
  EXPECT_EQ(inside, 1);
}

}  // namespace
}  // namespace ompl::conduit::psm2::test
