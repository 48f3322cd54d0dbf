// SPDX-License-Identifier: BSD-3-Clause
// The tcp conduit over the loopback interface: ranks in one process.
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>

#include "conduit/registry.hpp"
#include "conduit/tcp/link.hpp"
#include "conformance/rules/endpoint_rules.hpp"
#include "conformance/strangers.hpp"

namespace ompl::conduit::tcp::test {
namespace {

using namespace conduit::test;

std::unique_ptr<Node> make_node(uint32_t rank, uint32_t size, uint32_t slots,
                                const std::string& interface) {
  Settings settings;
  settings.net_interface = interface;
  return std::make_unique<Node>(make(), rank, size, slots, settings);
}

EndpointCase over(const std::string& name, const std::string& interface) {
  return {name,
          [interface](uint32_t rank, uint32_t slots) { return make_node(rank, 2, slots, interface); }};
}
std::string name_of(const testing::TestParamInfo<EndpointCase>& info) { return info.param.name; }

const auto kCases = testing::Values(over("v4", "127.0.0.1"), over("v6", "::1"));
INSTANTIATE_TEST_SUITE_P(Tcp, EndpointRules, kCases, name_of);

class TcpEndpointTest : public EndpointRules {};
INSTANTIATE_TEST_SUITE_P(Tcp, TcpEndpointTest, testing::Values(over("v4", "127.0.0.1")), name_of);

// Slot 2 of three talks to slot 0 of two, which talks back to slot 0.
TEST_P(TcpEndpointTest, ABreakOfAConnectionThatOnlyTheOtherSideSendsOnIsALoss) {
  int broken = 0;
  ASSERT_NO_FATAL_FAILURE(lose_a_connection_that_only_a_sends_on(&broken));
  EXPECT_EQ(broken, 2);
}

// A connection that broke is not made anew, by neither side [18].
TEST_P(TcpEndpointTest, ABrokenConnectionIsBrokenForBoth) {
  signal(from_a(), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  for (const int fd : sockets()) ::shutdown(fd, SHUT_RDWR);
  const auto known = [&] { return from_a().failure(1) != OMPL_OK && from_b().failure(0) != OMPL_OK; };
  ASSERT_TRUE(until(known, [&] { step(); }));
  EXPECT_EQ(from_a().failure(1), OMPL_ERR_LINK) << "the other rank lives";
  EXPECT_EQ(from_b().failure(0), OMPL_ERR_LINK);
  EXPECT_EQ(from_a().signal(1, {.offset = kFlag}).state, Post::State::failed);
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_EQ(b->flag(kFlag), 1U);
}

// The program has closed a descriptor that is not its own.
TEST_P(TcpEndpointTest, AClosedDescriptorIsABreak) {
  signal(from_a(), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  for (const int fd : sockets()) ::close(fd);
  const auto known = [&] { return from_a().failure(1) != OMPL_OK && from_b().failure(0) != OMPL_OK; };
  ASSERT_TRUE(until(known, [&] { step(); }));
  EXPECT_EQ(from_a().failure(1), OMPL_ERR_LINK);
}

// More links than are read without asking which of them has something.
TEST(TcpEndpoints, ManyRanksTalkToOne) {
  constexpr uint32_t kRanks = 12;
  constexpr uint32_t kRounds = 200;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Node*> all;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    nodes.push_back(make_node(rank, kRanks, 1, "127.0.0.1"));
    ASSERT_EQ(nodes.back()->opened, OMPL_OK) << error_detail();
    all.push_back(nodes.back().get());
  }
  ASSERT_NO_FATAL_FAILURE(introduce(all));
  const auto step = [&] {
    for (Node* const node : all) node->progress();
  };
  uint64_t wrong = 0;
  all[0]->sink.on_arrival = [&](const Arrival& arrival) {
    const auto* const words = all[0]->at<uint64_t>(kData + 4096 * arrival.source);
    wrong +=
        words[0] != arrival.source || words[511] < *all[0]->at<uint32_t>(kFlag + 8 * arrival.source);
  };
  std::vector<uint64_t> block(512);
  for (uint64_t round = 1; round <= kRounds; ++round) {
    for (uint32_t rank = 1; rank < kRanks; ++rank) {
      block[0] = rank;
      block[511] = round;
      bool signalled = false;
      const Signal record{.offset = kFlag + 8 * rank};
      const Post post = insist(
          [&] {
            return all[rank]->endpoints[0]->put_signal(0, block.data(), kData + 4096 * rank, 4096,
                                                       record, &signalled);
          },
          step);
      ASSERT_TRUE(signalled);
      ASSERT_TRUE(until([&] { return all[rank]->endpoints[0]->completed(0) >= post.ticket; }, step));
    }
  }
  ASSERT_TRUE(until([&] { return all[0]->sink.count == kRounds * (kRanks - 1); }, step));
  EXPECT_EQ(wrong, 0U);
  // Asleep it wakes for any of them.
  for (uint32_t rank = 1; rank < kRanks; ++rank) {
    Endpoint& sleeper = *all[0]->endpoints[0];
    ASSERT_TRUE(until([&] { return sleeper.arm(); }, step));
    pollfd fd{.fd = sleeper.descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&fd, 1, 0), 0) << "nothing has come";
    insist([&] { return all[rank]->endpoints[0]->signal(0, {.offset = kFlag}); }, [] {});
    ASSERT_EQ(poll(&fd, 1, 200'000), 1);
    ASSERT_TRUE(until([&] { return all[0]->flag(kFlag) == rank; }, [&] { all[0]->progress(); }));
  }
  EXPECT_LT(sizeof(TcpLink), std::size_t{16} << 10) << "memory of a connection";
}

// A sleeper whose socket was full wakes when there is room again.
TEST_P(TcpEndpointTest, ASleeperWakesForRoom) {
  const std::vector<std::byte> block(std::size_t{8} << 20, std::byte{7});
  put(from_a(), 1, block.data(), kData, 8);
  Post post;
  for (int i = 0; i < 100 && post.state != Post::State::pending; ++i)
    post = from_a().put(1, block.data(), kData, block.size());
  ASSERT_EQ(post.state, Post::State::pending);
  ASSERT_TRUE(until([&] { return from_a().arm(); }, [&] { a->progress(); }));
  std::jthread reader([&] {
    EXPECT_TRUE(until([&] { return from_a().completed(1) >= post.ticket; }, [&] { b->progress(); }));
  });
  ASSERT_TRUE(until([&] { return from_a().completed(1) >= post.ticket; },
                    [&] {
                      pollfd fd{.fd = from_a().descriptor(), .events = POLLIN, .revents = 0};
                      ASSERT_EQ(poll(&fd, 1, 200'000), 1) << "slept through it";
                      a->progress();
                      until([&] { return from_a().arm(); }, [&] { a->progress(); });
                    }));
}

// As many gets as may be under way, both ways at once, while puts fill the sockets: nobody waits for ever.
TEST_P(TcpEndpointTest, GetsAndPutsInBothDirectionsFlow) {
  constexpr std::size_t kLength = 100'000;
  constexpr int kRounds = 400;
  std::atomic<int> satisfied{0};
  const auto play = [&](Node& node, uint32_t rank) {
    Endpoint& endpoint = *node.endpoints[0];
    const auto step = [&] { node.progress(); };
    std::memset(node.at(kData), static_cast<int>(rank + 1), kLength);
    std::vector<std::byte> block(kLength, std::byte{9});
    std::vector<std::vector<std::byte>> got(8, std::vector<std::byte>(kLength));
    uint64_t last = 0;
    for (int i = 0; i < kRounds; ++i) {
      const Post put =
          insist([&] { return endpoint.put(1 - rank, block.data(), 8 * kData, kLength); }, step);
      const Post get = insist(
          [&] {
            return endpoint.get(1 - rank, got[static_cast<std::size_t>(i) % 8].data(), kData, kLength);
          },
          step);
      last = std::max({last, put.ticket, get.ticket});
      if (i % 8 == 7) {
        EXPECT_TRUE(until([&] { return endpoint.completed(1 - rank) >= last; }, step));
        if (i < 8) continue;  // the other side may not have written yet
        EXPECT_EQ(std::ranges::count(got[7], static_cast<std::byte>(2 - rank)),
                  std::ptrdiff_t{kLength});
      }
    }
    ++satisfied;
    EXPECT_TRUE(until([&] { return satisfied == 2; }, step));
  };
  std::jthread other(play, std::ref(*b), 1);
  play(*a, 0);
}

// As many descriptors as the process may have are taken for a moment: the other rank is not dead.
TEST_P(TcpEndpointTest, AConnectionWaitsForDescriptors) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (const std::size_t room : {0, 1}) {  // for no side, for one
    ASSERT_NO_FATAL_FAILURE(start(1, 1));
    const rlimit low{.rlim_cur = open_descriptors() - 1 + room, .rlim_max = limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    EXPECT_EQ(from_a().signal(1, {.offset = kFlag}).reason, Post::Reason::connecting);
    for (int i = 0; i < 1000; ++i) step();
    EXPECT_EQ(from_a().failure(1), OMPL_OK);
    setrlimit(RLIMIT_NOFILE, &limit);
    signal(from_a(), 1, {.offset = kFlag});
    ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  }
}

TEST_P(TcpEndpointTest, ConnectExplainsWhatItRefuses) {
  const std::string good = b->conduit->address();
  expect_addresses_refused({changed_in_the_middle(good)});
  EXPECT_LE(good.size(), 128U) << "kept short";
}

TEST_P(TcpEndpointTest, AnInterfaceThatIsNotThereIsNamed) {
  const auto node = make_node(0, 2, 1, "nothing0");
  EXPECT_EQ(node->opened, OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("nothing0"), std::string::npos) << error_detail();
}

}  // namespace
}  // namespace ompl::conduit::tcp::test
