// SPDX-License-Identifier: BSD-3-Clause
// The inside of the collectives where no call alone leads: channels that are very old, tag queues with more than what a thread waits for,
// and a node's progress thread that dies. The ranks share a node. A death cannot be had of a thread: it is written where it would be seen.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "coll/engine.hpp"
#include "coll/request.hpp"
#include "coll_job.hpp"
#include "conduit/mock/tests/fabric.hpp"

namespace ompl::conformance {
namespace {

constexpr std::size_t kLong = 200'000;  // bytes, worth a progress thread

std::unique_ptr<Fabric> on_one_node(uint32_t ranks) {
  return std::make_unique<NodesFabric>(ranks, [](uint32_t) { return std::string("a"); });
}

coll::Team& inside(ompl_team* team) { return *reinterpret_cast<coll::Team*>(team); }

// Looks without any call of the layer.
bool comes(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(240);
  while (!condition() && std::chrono::steady_clock::now() < limit) ::sched_yield();
  return condition();
}
bool ends(ompl_request* request) {
  return comes([=] { return !reinterpret_cast<coll::CollectiveRequest*>(request)->runs(); });
}

void seems_dead(coll::Team& team, uint32_t rank) {
  const_cast<PeerState&>(team.runtime().failures.peer(rank)).failure.store(OMPL_ERR_PEER);
}

// What a member of two keeps of the other one.
struct Ends {
  Ends(coll::Team& team, uint32_t tag)
      : base(static_cast<std::byte*>(
            team.runtime().memory.pointer(team.runtime().rank(), team.memory()))),
        words(*reinterpret_cast<coll::Words*>(base + team.layout().words(tag, 1 - team.me()))),
        counters(
            *reinterpret_cast<coll::Counters*>(base + team.layout().counters(tag, 1 - team.me()))) {
    for (uint32_t i = 0; i < cells.size(); ++i)
      cells[i] = reinterpret_cast<coll::Cell*>(base + team.layout().cells(tag, 1 - team.me()) +
                                               std::size_t{i} * team.layout().stride);
  }
  // As after `messages` in each direction, of which the last `untold` ones alone told how many had been taken.
  void grow_old(uint32_t messages, uint32_t untold) {
    counters.sent = counters.freed = counters.told = messages;
    counters.taken = messages;
    words.taken = counters.acknowledged = messages - untold;
    for (coll::Cell* const cell : cells) cell->arrived = messages / coll::TeamLayout::kCells;
  }
  std::byte* base;
  coll::Words& words;
  coll::Counters& counters;
  std::array<coll::Cell*, coll::TeamLayout::kCells> cells{};
};

TEST(CollChannel, FillsAndIsFreeAgainAfterAnyNumberOfMessages) {
  constexpr std::size_t kCalls = 20;  // more than a channel has cells
  for (const uint32_t messages : {0U, (1U << 31) + 8, (1U << 31) - 16, UINT32_MAX - 7}) {
    SCOPED_TRACE(messages);
    const uint32_t untold = std::min(messages, (1U << 31) + 8);
    ThreadWorld world(on_one_node(2), {.ranks = 2});
    std::atomic<bool> started{false};
    world.run([&](Rank& r) {
      ompl_team* const team = world_team();
      Ends(inside(team), 0).grow_old(messages, untold);
      ok(r.barrier());
      std::array<uint64_t, kCalls> values{};
      std::array<ompl_request*, kCalls> requests{};
      while (r.rank == 1 && !started) ::sched_yield();
      for (std::size_t i = 0; i < kCalls; ++i) {
        if (r.rank == 0) values[i] = i + 1;
        ok(ompl_broadcast(team, &values[i], sizeof values[i], 0, nullptr, &requests[i]));
      }
      started = true;
      ok(ompl_request_wait_all(r.ctx(), requests.data(), kCalls, kCollLimit / 4));
      for (std::size_t i = 0; i < kCalls; ++i) EXPECT_EQ(values[i], i + 1);
    });
  }
}

// Exchanges tell how many messages were taken as they go; the word that tells it too must not fall far behind.
TEST(CollChannel, KeepsTheWordOfWhatWasTakenNear) {
  constexpr uint32_t kOld = (1U << 30) - 8;
  ThreadWorld world(on_one_node(2), {.ranks = 2});
  world.run([&](Rank& r) {
    ompl_team* const team = world_team();
    Ends ends(inside(team), 0);
    ends.grow_old(kOld, kOld);
    ok(r.barrier());
    for (int i = 0; i < 100; ++i) {
      uint64_t sum = 1;
      ok(ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, nullptr, nullptr));
    }
    ok(r.barrier());
    EXPECT_GT(ends.words.taken, kOld);
    EXPECT_GT(ends.counters.acknowledged, kOld);
  });
}

// Rank 1 starts the second collective only when rank 0 waits no more.
TEST(CollLane, TheProgressThreadIsWokenForWhatAWaitLeavesBehind) {
  ThreadWorld world(on_one_node(2), {.ranks = 2});
  std::atomic<bool> waited{false};
  world.run([&](Rank& r) {
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_SHARED));
    ok(r.barrier());
    CollJob first({.collective = OMPL_ALLREDUCE, .length = coll::kWorthSharing});
    CollJob second({.collective = OMPL_ALLREDUCE, .length = coll::kWorthSharing});
    if (r.rank == 0) {
      ok(first.start(team));
      ok(second.start(team));
      ok(ompl_request_wait(r.ctx(), &first.request, kCollLimit));
      waited = true;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that rank 0 waits
      ok(first.start(team));
      ok(ompl_request_wait(r.ctx(), &first.request, kCollLimit));
      while (!waited) ::sched_yield();
      ok(second.start(team));
    }
    EXPECT_TRUE(ends(second.request));
    ok(ompl_request_wait(r.ctx(), &second.request, kCollLimit));
    first.check();
    second.check();
  });
}

// The hook of a rank that waits.
int says_that_it_waits(void* waits) {
  *static_cast<std::atomic<bool>*>(waits) = true;
  ::sched_yield();
  return 1;
}

// The first is too short for it, so the second is handed over only when the wait for that is about to end.
TEST(CollLane, TheNodesProgressThreadKeepsWhatNobodyWaitsFor) {
  ThreadWorld world(on_one_node(2), {.ranks = 2});
  std::atomic<bool> waits{false};
  std::atomic<bool> waited{false};
  world.run([&](Rank& r) {
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    ok(r.barrier());
    CollJob first({.collective = OMPL_ALLREDUCE, .length = 8});
    CollJob second({.collective = OMPL_ALLREDUCE, .length = kLong});
    coll::OffloadQueue& queue = inside(team).offload_queue(inside(team).me(), 0);
    if (r.rank == 0)
      while (!waits) ::sched_yield();
    ok(first.start(team));
    if (r.rank == 1) {
      ok(second.start(team));
      r.set_yield(says_that_it_waits, &waits);
    }
    ok(ompl_request_wait(r.ctx(), &first.request, kCollLimit));
    if (r.rank == 1) {
      r.set_yield(nullptr, nullptr);
      EXPECT_EQ(queue.posted, 1U);
      EXPECT_FALSE(queue.request(0).is_of(0, coll::OffloadRequest::Owner::member));
      waited = true;
    } else {
      while (!waited) ::sched_yield();
      ok(second.start(team));
    }
    ok(ompl_request_wait(r.ctx(), &second.request, kCollLimit));
    first.check();
    second.check();
  });
}

// It had the first of two, and nobody had the second.
TEST(CollLane, NothingEndsWellThatADeadProgressThreadLeavesBehind) {
  ThreadWorld world(on_one_node(2), {.ranks = 2, .ends_well = false});
  std::atomic<bool> done{false};
  world.run([&](Rank& r) {
    ompl_team* const team = world_team();
    coll::Team& whole = inside(team);
    if (r.rank == 0) whole.close_service();  // it takes nothing by itself
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    ok(r.barrier());
    if (r.rank == 0) {
      while (!done) ::sched_yield();
      return;
    }
    std::array<CollJob, 2> jobs;
    for (CollJob& job : jobs) {
      job.collective = OMPL_ALLREDUCE;
      job.length = kLong;
      ok(job.start(team));
    }
    coll::OffloadQueue& queue = whole.offload_queue(whole.me(), 0);
    ASSERT_EQ(queue.posted, 2U);
    ASSERT_TRUE(queue.request(0).take(0, coll::OffloadRequest::Owner::proxy));
    whole.engine().node_endpoint(0).open = 0;
    seems_dead(whole, 0);
    whole.break_up(OMPL_ERR_PEER, "rank 0, of the team, died");
    for (CollJob& job : jobs)
      EXPECT_EQ(ompl_request_wait(r.ctx(), &job.request, kCollLimit), OMPL_ERR_PEER);
    done = true;
  });
}

// A member has died, so the team's end fails; what the progress thread has of another one goes back to that.
TEST(CollLane, TheProgressThreadGivesBackWhenItsTeamCannotEndInOrder) {
  const std::array<uint32_t, 3> everybody{0, 1, 2};
  ThreadWorld world(on_one_node(3), {.ranks = 3, .ends_well = false});
  std::atomic<bool> taken{false};
  std::atomic<bool> done{false};
  world.run([&](Rank& r) {
    world_team();
    ompl_team* team = nullptr;
    ok(ompl_team_create(everybody.data(), everybody.size(), nullptr, &team));
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    ok(r.barrier());
    if (r.rank == 1) {
      CollJob job({.collective = OMPL_ALLREDUCE, .length = kLong});
      ok(job.start(team));
      coll::OffloadQueue& queue = inside(team).offload_queue(1, 0);
      ASSERT_TRUE(comes([&] { return queue.request(0).is_of(0, coll::OffloadRequest::Owner::proxy); }));
      taken = true;
      EXPECT_TRUE(comes([&] { return queue.done == 1U; }));
      done = true;
      EXPECT_EQ(ompl_request_wait(r.ctx(), &job.request, kCollLimit), OMPL_ERR_STATE);
      return;
    }
    if (r.rank == 0) {
      ASSERT_TRUE(comes([&] { return taken.load(); }));
      seems_dead(inside(team), 2);
      EXPECT_EQ(ompl_team_destroy(team), OMPL_ERR_PEER);
    }
    while (!done) ::sched_yield();
  });
}

}  // namespace
}  // namespace ompl::conformance
