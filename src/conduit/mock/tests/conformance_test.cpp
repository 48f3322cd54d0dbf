// SPDX-License-Identifier: BSD-3-Clause
// The core over the mock in several hostilities. `--gtest_random_seed=N` gives other seeds.
#include <sched.h>

#include <atomic>

#include "coll/engine.hpp"
#include "conformance/coll_job.hpp"
#include "conformance/conformance.hpp"
#include "fabric.hpp"

namespace ompl::conformance {
namespace {

using conduit::mock::Hostility;

Case hostile(std::string name, const Hostility& hostility, const std::vector<unsigned>& pools = {}) {
  return {std::move(name), [hostility, pools](uint32_t ranks) {
            return std::make_unique<MockFabric>(ranks, hostility, pools);
          }};
}

// Late and out of order, in what the contract's capabilities allow, one after the other.
INSTANTIATE_TEST_SUITE_P(
    mock, Conformance,
    ::testing::Values(
        hostile("late", {}),
        hostile("tiny_queues", {.send_depth = 2, .inline_limit = 8, .spurious_retry = 3}),
        hostile("small_messages", {.max_message = 1000, .send_depth = 4, .inline_limit = 0}),
        hostile("striped", {.segment = 500, .stripes = 3, .send_depth = 6, .inline_limit = 0}),
        hostile("local_completion", {.remote_completion = false, .delivery_delay = 12}),
        hostile("local_completion_tiny",
                {.remote_completion = false, .send_depth = 2, .completion_delay = 0}),
        hostile("ordered_puts", {.ordered_puts = true, .delivery_delay = 12}),
        hostile("unordered_signals", {.ordered_signals = false, .delivery_delay = 12}),
        hostile("stalling", {.passive_target = true, .stalls_sender = true, .receive_depth = 2}),
        hostile("fused", {.max_fused_put = 4000, .inline_limit = 16}),
        hostile("fused_local_completion",
                {.remote_completion = false, .max_fused_put = 4000, .completion_delay = 3}),
        hostile("joined", {.stalls_sender = true, .max_fused_put = 64, .immediate_puts = true}),
        hostile("passive", {.passive_target = true}), hostile("few_endpoints", {.max_endpoints = 1}),
        hostile("unequal_pools", {.send_depth = 8}, {3, 1, 2}),
        hostile("no_descriptor", {.descriptor = false})),
    name_of);

// In the long set only.
INSTANTIATE_TEST_SUITE_P(slow, Conformance,
                         ::testing::Values(hostile("very_late", {.delivery_delay = 60,
                                                                 .completion_delay = 60,
                                                                 .connect_delay = 60})),
                         name_of);

// Two and three ranks of five share a node: side by side, and in turn.
std::string of_neighbors(uint32_t rank) { return std::to_string(rank * 2 / 5); }
std::string in_turn(uint32_t rank) { return std::to_string(rank % 2); }

Case nodes(std::string name, NodesFabric::NodeOf node_of, const std::string& scheduler = "lock-free") {
  return {std::move(name), [node_of, scheduler](uint32_t ranks) {
            return std::make_unique<NodesFabric>(ranks, node_of, scheduler);
          }};
}

INSTANTIATE_TEST_SUITE_P(nodes, Conformance,
                         ::testing::Values(nodes("of_neighbors", of_neighbors),
                                           nodes("in_turn", in_turn)),
                         name_of);

// Collectives only; through memory and over the mock.
INSTANTIATE_TEST_SUITE_P(locked_queue, Conformance,
                         ::testing::Values(nodes("of_neighbors", of_neighbors, "locked-queue"),
                                           nodes("in_turn", in_turn, "locked-queue")),
                         name_of);

TEST(MockLockedQueue, IsThereOnlyWhereItIsAskedFor) {
  for (const bool asked : {false, true}) {
    auto fabric = std::make_unique<NodesFabric>(2, in_turn, asked ? "locked-queue" : "lock-free");
    ThreadWorld world(std::move(fabric), {.ranks = 2});
    world.run([](Rank&) { world_team(); });
    EXPECT_EQ(coll::Engine::of(world.runtime(0))->world().locked_queue() != nullptr, asked);
  }
}

TEST(MockNodes, AreKnownToEveryRank) {
  ThreadWorld world(std::make_unique<NodesFabric>(5, in_turn), {.ranks = 5});
  world.run([](Rank&) { world_team(); });
  for (uint32_t rank = 0; rank < 5; ++rank) {
    const coll::Nodes& nodes = coll::Engine::of(world.runtime(rank))->world().nodes();
    ASSERT_EQ(nodes.count(), 2U);
    EXPECT_EQ(nodes.members(0), (std::vector<uint32_t>{0, 2, 4}));
    EXPECT_EQ(nodes.members(1), (std::vector<uint32_t>{1, 3}));
  }
}

// The wire counts how often its target looks: a call that has no time looks once, and leaves patience to those that wait.
TEST(MockPatience, ACallWithoutTimeLooksOnce) {
  constexpr unsigned kLate = 2000;  // looks at most, half of them on average
  constexpr int kSignals = 30;
  ThreadWorld world(std::make_unique<MockFabric>(2, Hostility{.delivery_delay = kLate}),
                    {.ranks = 2, .endpoints = 1});
  std::atomic<int> taken{0};
  world.run([&](Rank& r) {
    const uint64_t flag = r.allocate(4);
    ok(r.barrier());
    if (r.rank == 0) {
      for (int sent = 0; sent < kSignals; ++sent) {
        while (taken < sent) ::sched_yield();  // outside the layer
        ok(r.signal(1, flag));
      }
      while (taken < kSignals) ::sched_yield();
      return;
    }
    uint64_t calls = 0;
    while (taken < kSignals) {
      const int code = r.wait(flag, 0);
      ++calls;
      if (code == OMPL_OK) {
        ++taken;
      } else {
        ASSERT_EQ(code, OMPL_ERR_TIMEOUT);
        ::sched_yield();
      }
    }
    EXPECT_GT(calls, kSignals * kLate / 6);
  });
}

// Three ranks: an endpoint has two connections of 1,000 bytes.
TEST(MockPool, FitsIntoTheMemoryAllowed) {
  const std::pair<std::size_t, uint64_t> pools[] = {{0, 4}, {100'000, 4}, {7999, 3}, {2000, 1}, {1, 1}};
  for (const auto& [allowed, endpoints] : pools) {
    SCOPED_TRACE(allowed);
    conduit::mock::Wire wire(3, {.connection_bytes = 1000});
    const Tune tune = [allowed = allowed](uint32_t /*rank*/, Settings* settings) {
      settings->endpoint_memory = allowed;
    };
    auto fabric = fabric_of(tune, conduit::self::make, [&wire] { return conduit::mock::make(wire); });
    ThreadWorld world(std::move(fabric), {.ranks = 3, .endpoints = 4});
    world.run([](Rank& r) { EXPECT_EQ(r.barrier(), OMPL_OK); });
    EXPECT_EQ(wire.counts().endpoints, 3 * endpoints);
  }
}

// Two contexts that poll in turn have an endpoint each, and neither looks at the other's until it stands still.
TEST(MockPool, AnEndpointThatIsProgressedIsLeftAlone) {
  auto fabric = std::make_unique<MockFabric>(2, Hostility{});
  conduit::mock::Counts& counts = fabric->wire().counts();
  ThreadWorld world(std::move(fabric), {.ranks = 2, .endpoints = 2});
  std::atomic<bool> done{false};
  world.run([&](Rank& r) {
    const uint64_t flag = r.allocate(4);
    ok(r.barrier());
    const auto other = r.context();
    while (r.rank == 1 && !done) ::sched_yield();  // outside the layer
    if (r.rank == 1) return;
    const auto looks = [&](const std::vector<Rank*>& who) {
      constexpr int kPolls = 4000;
      const uint64_t before = counts.progressed;
      for (int i = 0; i < kPolls; ++i)
        for (Rank* const each : who) EXPECT_EQ(each->wait(flag, 0), OMPL_ERR_TIMEOUT);
      return static_cast<double>(counts.progressed - before) / kPolls;
    };
    EXPECT_NEAR(looks({&r, other.get()}), 2, 0.01);
    const double alone = looks({&r});
    EXPECT_GT(alone, 1.1) << "the endpoint of the other is looked at";
    EXPECT_LT(alone, 1.3);
    done = true;
  });
}

// Credits are the target's: what it says, not what its senders have been told of themselves.
TEST(MockCredits, MayDifferFromRankToRank) {
  class Uneven final : public MockFabric {
   public:
    using MockFabric::MockFabric;
    void tune(uint32_t rank, Settings* settings) const override {
      settings->credits = rank == 0 ? 2 : 64;
    }
  };
  ThreadWorld world(std::make_unique<Uneven>(2, Hostility{.receive_depth = 64}),
                    {.ranks = 2, .endpoints = 1});
  world.run([](Rank& r) {
    constexpr int64_t kLimit = 240'000'000'000;  // ns
    const uint64_t flag = r.allocate(4);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(r.signal(1 - r.rank, flag, kLimit), OMPL_OK);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(r.wait(flag, kLimit), OMPL_OK);
  });
}

// What a thread finds on its own last look before it sleeps, nobody else will tell it of.
TEST(MockSleep, NobodySleepsOnAPostThatWouldBeTaken) {
  class Sleepy final : public MockFabric {
   public:
    using MockFabric::MockFabric;
    void tune(uint32_t /*rank*/, Settings* settings) const override {
      settings->spin = settings->yields = 0;
    }
  };
  auto fabric = std::make_unique<Sleepy>(2, Hostility{.send_depth = 1, .spurious_retry = 0});
  conduit::mock::Wire& wire = fabric->wire();
  ThreadWorld world(std::move(fabric), {.ranks = 2, .endpoints = 1});
  std::atomic<uint64_t> flag{0};
  world.run([&](Rank& r) { flag = r.allocate(4); });
  world.run([&](Rank& r) {
    for (int i = 0; i < 500; ++i) EXPECT_EQ(r.signal(1 - r.rank, flag), OMPL_OK);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(r.wait(flag), OMPL_OK);
  });
  EXPECT_GT(wire.counts().retried, 0U);
  EXPECT_EQ(wire.counts().overslept, 0U);
}

}  // namespace
}  // namespace ompl::conformance
