// SPDX-License-Identifier: BSD-3-Clause
// Progress mode node: what the node's progress thread carries out without any call of the members, what stays with the callers, and that either
// comes out right.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "api/process.hpp"
#include "arch/memory/process_memory.hpp"
#include "coll/engine.hpp"
#include "conformance/coll_job.hpp"
#include "conformance/conformance.hpp"
#include "omnipgas/coll.h"

namespace ompl::conformance {
namespace {

// What the calling rank has handed over on a tag, as the progress thread sees it.
class Watcher {
 public:
  Watcher(ompl_team* team, uint32_t tag) {
    const coll::Team& whole = *reinterpret_cast<coll::Team*>(team);
    has_thread_ = whole.progress_rank() != kNoRank;
    is_offloaded_ = whole.nodes().count() == 1 || whole.ranks()[whole.me()] == whole.progress_rank();
    queue_ = &whole.offload_queue(whole.me(), tag);
  }

  // Whether there is one, and the kernel lets it do what it needs.
  [[nodiscard]] bool has_thread() const {
    uint64_t from = 1;
    uint64_t to = 0;
    return has_thread_ &&
           arch::read_process(::getpid(), &to, reinterpret_cast<uintptr_t>(&from), sizeof to) == 0;
  }
  // Whether it gets also what leaves the node.
  [[nodiscard]] bool is_offloaded() const { return is_offloaded_ && has_thread(); }
  [[nodiscard]] uint32_t posted() const { return queue_->posted.load(); }
  // Looks until all that was posted is over; no call of the layer.
  [[nodiscard]] bool sees_the_end() const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(240);
    while (queue_->done.load() != posted() && std::chrono::steady_clock::now() < limit) ::sched_yield();
    return queue_->done.load() == posted();
  }

 private:
  bool has_thread_;
  bool is_offloaded_;
  coll::OffloadQueue* queue_;
};

// Every collective goes to its end while no member calls the layer; a barrier, which has no data, is not worth a progress thread. Here are few
// members on each node: on several nodes all algorithms are flat, and only the progress threads' own ranks are served.
TEST_P(Conformance, Coll_TheNodesProgressThreadNeedsNobody) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    const uint64_t memory = r.allocate(2 * CollJob::room(100'001, r.size));
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    EXPECT_EQ(ompl_team_progress(team), OMPL_PROGRESS_NODE);
    ok(r.barrier());
    const Watcher watcher(team, 0);
    const bool on_one_node = reinterpret_cast<coll::Team*>(team)->nodes().count() == 1;
    for_every_collective([&](int32_t collective) {
      // Elsewhere it is as mode none, which others test.
      if (!watcher.has_thread() && collective != OMPL_ALLREDUCE) return;
      for (const std::size_t length : {40'000U, 100'001U}) {
        for (std::byte* const buffers : {static_cast<std::byte*>(nullptr), r.own(memory)}) {
          const uint32_t before = watcher.posted();
          CollJob job({.collective = collective, .length = length});
          job.root = r.size - 1;
          job.memory = buffers;
          ok(job.start(team));
          const bool served = watcher.is_offloaded() && collective != OMPL_BARRIER;
          EXPECT_EQ(watcher.posted() - before, served ? 1U : 0U);
          if (served && on_one_node) {
            EXPECT_TRUE(watcher.sees_the_end());
            EXPECT_EQ(ompl_request_test(r.ctx(), &job.request), 1);
          }
          ok(ompl_request_wait(r.ctx(), &job.request, kCollLimit));
          job.check();
          ASSERT_FALSE(testing::Test::HasFailure()) << length << " bytes";
        }
      }
    });
  });
}

// Where every node has several members, leaders speak for all: then nobody needs to call on several nodes either.
TEST_P(Conformance, Coll_TheNodesProgressThreadsNeedNobody) {
  world({.ranks = 5})->run([](Rank& r) {
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    ok(r.barrier());
    const Watcher watcher(team, 0);
    if (!watcher.has_thread() || !reinterpret_cast<coll::Team*>(team)->nodes().clustered()) return;
    for (const int32_t collective : {OMPL_ALLREDUCE, OMPL_ALLGATHER, OMPL_REDUCE_SCATTER}) {
      for (uint32_t round = 0; round < rounds(3); ++round) {
        const uint32_t before = watcher.posted();
        CollJob job({.collective = collective, .length = 60'000});
        ok(job.start(team));
        EXPECT_EQ(watcher.posted() - before, 1U);
        EXPECT_TRUE(watcher.sees_the_end());
        EXPECT_EQ(ompl_request_test(r.ctx(), &job.request), 1);
        ok(ompl_request_wait(r.ctx(), &job.request, kCollLimit));
        job.check();
        ASSERT_FALSE(testing::Test::HasFailure()) << collective;
      }
    }
  });
}

// More than there are places, on several tags, some of them of the user's operations and some short; waited for in another order.
TEST_P(Conformance, Coll_ManyForTheNodesProgressThread) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    if (!Watcher(team, 0).has_thread()) return;
    for (uint32_t round = 0; round < rounds(3); ++round) {
      std::vector<std::unique_ptr<CollJob>> jobs;
      for (uint32_t i = 0; i < 24; ++i) {
        CollJob& job = *jobs.emplace_back(std::make_unique<CollJob>());
        job.collective = static_cast<int32_t>(i) % (OMPL_EXSCAN + 1);
        job.length = i % 3 == 0 ? 800 : 40'000 + 8 * i;
        job.tag = i % 2;
        ok(job.start(team));
      }
      for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
        ok(ompl_request_wait(r.ctx(), &(*job)->request, kCollLimit));
        (*job)->check();
      }
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  });
}

// Some members in another mode, the progress thread's too; then a blocking call, which nobody hands over.
TEST_P(Conformance, Coll_SomeMembersAreServed) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    if (!Watcher(team, 0).has_thread()) return;
    for (uint32_t other = 0; other < r.size; ++other) {
      SCOPED_TRACE(other);
      ok(ompl_team_set_progress(team, r.rank == other ? OMPL_PROGRESS_NONE : OMPL_PROGRESS_NODE));
      for (const int32_t collective : {OMPL_ALLREDUCE, OMPL_ALLTOALL, OMPL_BROADCAST}) {
        CollJob job({.collective = collective, .length = 60'000});
        ok(job.start(team));
        ok(ompl_request_wait(r.ctx(), &job.request, kCollLimit));
        job.check();
        const Watcher watcher(team, 0);
        const uint32_t before = watcher.posted();
        job.run(team);
        EXPECT_EQ(watcher.posted(), before);
      }
    }
  });
}

// The functions of the user are not the progress thread's.
TEST_P(Conformance, Coll_OperationsOfTheUserStayWithTheCaller) {
  world({.ranks = 2})->run([](Rank& r) {
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    ompl_op_config config = OMPL_OP_CONFIG_INIT;
    config.element = sizeof(uint64_t);
    config.function = [](const void* in, void* inout, size_t count, void*) {
      for (std::size_t i = 0; i < count; ++i)
        static_cast<uint64_t*>(inout)[i] += static_cast<const uint64_t*>(in)[i];
      return 0;
    };
    int32_t op = -1;
    ok(ompl_op_create(&config, &op));
    std::vector<uint64_t> sum(20'000, 1);
    ompl_request* request = nullptr;
    ok(ompl_allreduce(team, OMPL_IN_PLACE, sum.data(), sum.size(), OMPL_ELEMENT, op, nullptr,
                      &request));
    EXPECT_EQ(Watcher(team, 0).posted(), 0U);
    ok(ompl_request_wait(r.ctx(), &request, kCollLimit));
    EXPECT_EQ(std::ranges::count(sum, r.size), std::ssize(sum));
  });
}

// A team's memory is another team's when it has ended; the progress thread must not take what lies there for requests.
TEST_P(Conformance, Coll_TeamsOfTheNodesProgressThreadEnd) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const all = world_team();
    ok(ompl_team_set_progress(all, OMPL_PROGRESS_NODE));
    if (!Watcher(all, 0).has_thread()) return;
    for (uint32_t round = 0; round < rounds(6); ++round) {
      ompl_team* team = nullptr;
      const int32_t key = round % 2 == 0 ? static_cast<int32_t>(r.rank) : -static_cast<int32_t>(r.rank);
      ok(ompl_team_split(all, static_cast<int32_t>(r.rank % (1 + round % 2)), key, nullptr, &team));
      ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
      CollJob job({.collective = OMPL_ALLGATHER, .length = 50'000});
      job.persistent = true;
      ok(job.start(team));
      for (uint32_t i = 0; i < 3; ++i) {
        job.fill(team, i);
        ok(ompl_request_start(r.ctx(), job.request));
        ok(ompl_request_wait(r.ctx(), &job.request, kCollLimit));
        job.check(i);
      }
      ok(ompl_request_free(&job.request));
      ok(ompl_team_destroy(team));
    }
  });
}

// Requests that nobody waits for are complete when ompl_finalize() returns, whoever has them.
TEST_P(Conformance, Coll_ServedAndNeverWaitedFor) {
  std::vector<CollJob> jobs(3);  // of the ranks of this process
  world({.ranks = 3})->run([&](Rank& r) {
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    jobs[r.rank].collective = OMPL_ALLGATHER;
    jobs[r.rank].length = 300'000;
    ok(jobs[r.rank].start(team));
  });
  for (CollJob& job : jobs)
    if (job.request != nullptr) job.check();
}

// What one member alone has started, and its progress thread has begun, ends with the job, as in other modes.
TEST_P(Conformance, Coll_TheProgressThreadGivesBackAtTheEnd) {
  world({.ranks = 2, .ends_well = false})->run([](Rank& r) {
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_NODE));
    ok(r.barrier());
    const bool starts = r.rank + 1 == r.size && r.size > 1;
    CollJob job({.collective = OMPL_ALLREDUCE, .length = 80'000});
    if (starts) ok(job.start(team));
    Context& context = *api::t_context;
    EXPECT_EQ(context.runtime->finalize(context), starts ? OMPL_ERR_STATE : OMPL_OK);
  });
}

}  // namespace
}  // namespace ompl::conformance
