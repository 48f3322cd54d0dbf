// SPDX-License-Identifier: BSD-3-Clause
// Which transport the verbs conduit takes, that ranks agree on it, and who may use a DC target. Over the stand-in.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "conduit/registry.hpp"
#include "conduit/verbs/tests/stub/stub_call.hpp"
#include "conduit/verbs/transport.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conformance {
namespace {

using conduit::Conduit;
using conduit::Post;
using conduit::verbs::Transport;
using conduit::verbs::wanted_transports;

// One rank's conduit, with what it needs of the layer.
class Node {
 public:
  Node(uint32_t rank, const std::string& transport, std::size_t budget = 0,
       std::string secret = "the secret", uint32_t size = 2) {
    settings_.verbs_transport = transport;
    settings_.endpoint_memory = budget;
    job_.rank = rank;
    job_.size = size;
    job_.secret = std::move(secret);
    job_.settings = &settings_;
    job_.segment = segment_.data();
    job_.capacity = segment_.size();
    code = conduit_->open(job_);
  }
  Conduit& conduit() { return *conduit_; }
  // Its only endpoint.
  conduit::Endpoint& endpoint() {
    if (!endpoint_) {
      EXPECT_EQ(conduit_->endpoint(0, &endpoint_), OMPL_OK);
    }
    return *endpoint_;
  }
  // What the other rank says of it.
  conduit::Reach reach(Node& other) {
    return conduit_->connect(other.job_.rank, other.conduit().address());
  }

  int code = OMPL_OK;

 private:
  Settings settings_;
  conduit::Job job_;
  std::vector<std::byte> segment_ = std::vector<std::byte>(4096);
  std::unique_ptr<Conduit> conduit_ = conduit::verbs::make();
  std::unique_ptr<conduit::Endpoint> endpoint_;
};

struct Records final : conduit::Sink {
  void signal(uint32_t /*source*/, const conduit::Signal& /*record*/) override { ++count; }
  int count = 0;
};

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLimit{200};

class VerbsTransport : public ::testing::Test {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  void TearDown() override {
    if (auto* const have = STUB(verbs_stub_have_all); have != nullptr) have(1);
  }
};

TEST_F(VerbsTransport, TheMemoryOfAConnectionIsThatOfTheTransport) {
  Settings settings;
  conduit::Job job;
  job.settings = &settings;
  job.size = 1000;
  const auto conduit = conduit::verbs::make();
  const std::size_t rc = conduit->connection_bytes(job);
  settings.verbs_transport = "dc";
  EXPECT_LT(20 * conduit->connection_bytes(job), rc);
}

using Transports = std::vector<Transport>;

TEST_F(VerbsTransport, AutoIsRcUntilOneEndpointsConnectionsTakeTooMuch) {
  Settings settings;
  EXPECT_EQ(wanted_transports(settings, 1), Transports{Transport::rc});
  EXPECT_EQ(wanted_transports(settings, 5000), Transports{Transport::rc});
  const Transports large{Transport::dc, Transport::xrc, Transport::rc};
  EXPECT_EQ(wanted_transports(settings, 20'000), large);
  settings.endpoint_memory = std::size_t{1} << 30;
  EXPECT_EQ(wanted_transports(settings, 20'000), Transports{Transport::rc});
  settings.endpoint_memory = std::size_t{1} << 20;
  EXPECT_EQ(wanted_transports(settings, 100), large);
  settings.verbs_transport = "rc";
  EXPECT_EQ(wanted_transports(settings, 100), Transports{Transport::rc});
  settings.verbs_transport = "dc";
  EXPECT_EQ(wanted_transports(settings, 2), Transports{Transport::dc});
}

TEST_F(VerbsTransport, TheReasonSaysWhichAndThatItNeverRanOnHardware) {
  const std::pair<const char*, const char*> wishes[] = {{"dc", ", DC (never run on hardware)"},
                                                        {"auto", ", DC (n"},
                                                        {"xrc", ", XRC (never run on hardware)"}};
  for (const auto& [wish, says] : wishes) {
    Node a(0, wish, 1);
    Node b(1, wish, 1);
    ASSERT_EQ(a.code, OMPL_OK) << ompl_error_detail();
    ASSERT_EQ(b.code, OMPL_OK) << ompl_error_detail();
    const conduit::Reach reach = a.reach(b);
    EXPECT_TRUE(reach.usable) << reach.why;
    EXPECT_NE(reach.why.find(says), std::string::npos) << reach.why;
    EXPECT_TRUE(b.reach(a).usable);
  }
}

TEST_F(VerbsTransport, RanksThatDifferAreToldWithBothNames) {
  Node a(0, "rc");
  Node b(1, "dc");
  const conduit::Reach reach = a.reach(b);
  EXPECT_FALSE(reach.usable);
  EXPECT_EQ(reach.why, "this rank uses RC, that one DC: set OMPL_VERBS_TRANSPORT alike for all");
  EXPECT_FALSE(b.reach(a).usable);
}

TEST_F(VerbsTransport, ADeviceWithoutThemIsAnErrorOrAutoFallsBackWithTheReasons) {
  Node first(0, "rc");  // loads the library
  STUB(verbs_stub_have_all)(0);
  Node wish(0, "dc");
  EXPECT_EQ(wish.code, OMPL_ERR_UNSUPPORTED);
  EXPECT_STREQ(ompl_error_detail(),
               "stub0 has no DC, only mlx5 devices have it; OMPL_VERBS_TRANSPORT=rc does without");
  Node other_wish(0, "xrc");
  EXPECT_EQ(other_wish.code, OMPL_ERR_UNSUPPORTED);
  EXPECT_STREQ(ompl_error_detail(),
               "stub0 has no XRC: ibv_open_xrcd failed: Operation not supported; "
               "OMPL_VERBS_TRANSPORT=rc does without");
  Node automatic(1, "auto", 1);
  ASSERT_EQ(automatic.code, OMPL_OK) << ompl_error_detail();
  const conduit::Reach reach = automatic.reach(first);
  EXPECT_TRUE(reach.usable);
  EXPECT_NE(reach.why.find(", RC; no DC: stub0 has no DC"), std::string::npos) << reach.why;
  EXPECT_NE(reach.why.find("; no XRC: stub0 has no XRC"), std::string::npos) << reach.why;
}

// The key of a target comes of the job's secret.
TEST_F(VerbsTransport, WhoDoesNotKnowTheSecretIsRefusedByTheTarget) {
  Records records;
  Node member(0, "dc");
  for (const char* secret : {"the secret", "another"}) {
    Node other(1, "dc", 0, secret);
    ASSERT_TRUE(other.reach(member).usable);
    ASSERT_TRUE(member.reach(other).usable);
    conduit::Endpoint& from = other.endpoint();
    const auto limit = Clock::now() + kLimit;
    const Post posted = from.signal(0, {.offset = 8});
    ASSERT_EQ(posted.state, Post::State::done);
    while (from.completed(0) < posted.ticket && Clock::now() < limit)
      ASSERT_GE(from.progress(records, 16), 0);
    const bool knows = std::string(secret) == "the secret";
    EXPECT_EQ(from.failure(0), knows ? OMPL_OK : OMPL_ERR_LINK);
    if (!knows) {
      EXPECT_EQ(from.reason(0), "remote access error");
    }
  }
  for (int i = 0; i < 10; ++i) ASSERT_GE(member.endpoint().progress(records, 16), 0);
  EXPECT_EQ(records.count, 1) << "of the one who knows it";
}

// XRC's ranks of a node share a target. The one that was asked for it first computes, and looks at nothing.
TEST_F(VerbsTransport, ARankThatIsLongAwayDoesNotKeepItsNeighboursFromConnecting) {
  constexpr uint32_t kSize = 3;
  std::vector<std::unique_ptr<Node>> nodes;
  for (uint32_t rank = 0; rank < kSize; ++rank)
    nodes.push_back(std::make_unique<Node>(rank, "xrc", 0, "the secret", kSize));
  std::vector<conduit::Endpoint*> ends;
  for (const auto& node : nodes) {
    for (const auto& other : nodes) {
      if (other != node) {
        ASSERT_TRUE(node->reach(*other).usable);
      }
    }
    ends.push_back(&node->endpoint());
  }
  std::array<Records, kSize> records;
  std::array<Post, kSize> sent;
  const auto limit = Clock::now() + kLimit;
  // Rank 0 signals to both in turn until the given one has it; the given ones take part.
  const auto until = [&](uint32_t target, std::initializer_list<uint32_t> taking_part) {
    while (records[target].count == 0 && Clock::now() < limit) {
      for (uint32_t rank = kSize - 1; rank > 0; --rank) {
        if (sent[rank].state != Post::State::done || sent[rank].ticket == 0)
          sent[rank] = ends[0]->signal(rank, {.offset = 8});
      }
      for (const uint32_t rank : taking_part) ASSERT_GE(ends[rank]->progress(records[rank], 16), 0);
    }
    EXPECT_EQ(records[target].count, 1) << "at rank " << target;
  };
  until(1, {0, 1});
  EXPECT_EQ(ends[0]->completed(2), 0U) << "rank 2 has not taken part";
  until(2, {0, 1, 2});
  EXPECT_EQ(ends[0]->failure(1), OMPL_OK);
  EXPECT_EQ(ends[0]->failure(2), OMPL_OK);
}

}  // namespace
}  // namespace ompl::conformance
