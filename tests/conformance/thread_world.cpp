// SPDX-License-Identifier: BSD-3-Clause
#include "thread_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "api/process.hpp"
#include "bootstrap/thread_bootstrap.hpp"
#include "util/status.hpp"

namespace ompl::conformance {
namespace {

// Nothing in these tests takes six seconds on an idle machine; a sweep, or what ThreadSanitizer watches, can take a
// minute, and both together ten if other programs have most of the processor.
std::chrono::seconds limit() {
  const bool sweep = std::getenv("OMPL_TEST_SWEEP") != nullptr;
#ifdef __SANITIZE_THREAD__
  return std::chrono::minutes(sweep ? 40 : 10);
#else
  return std::chrono::minutes(sweep ? 10 : 5);
#endif
}

// While it lives, the calling thread is one of the runtime's: the C API acts on an implicit context of it.
class ThreadOf {
 public:
  explicit ThreadOf(Runtime& runtime) : runtime_(runtime) {
    api::t_context = runtime.contexts.open(&ompl_thread_windows);
  }
  // Like the end of a thread, which completes nothing.
  ~ThreadOf() {
    runtime_.contexts.abandon(api::t_context);
    api::t_context = nullptr;
    ompl_thread_windows = {};
  }
  ThreadOf(const ThreadOf&) = delete;
  ThreadOf& operator=(const ThreadOf&) = delete;

 private:
  Runtime& runtime_;
};

}  // namespace

ThreadWorld::ThreadWorld(std::unique_ptr<Fabric> fabric, const Shape& shape)
    : fabric_(std::move(fabric)), shape_(shape), end_rank_(shape.ranks), runtimes_(shape.ranks) {
  const bootstrap::ThreadJob job(shape.ranks);
  std::unique_ptr<bootstrap::Bootstrap> process = fabric_->join();
  if (process != nullptr) {
    first_rank_ = process->rank();
    end_rank_ = first_rank_ + 1;
  }
  std::vector<std::vector<std::unique_ptr<conduit::Conduit>>> conduits(shape.ranks);
  for (uint32_t rank = first_rank_; rank < end_rank_; ++rank) conduits[rank] = fabric_->conduits(rank);
  in_every_thread(1, [&](uint32_t rank, unsigned) {
    Settings settings;
    settings.segment_size = std::size_t{64} << 20;
    settings.coll_memory = std::size_t{4} << 20;
    settings.endpoints = shape.endpoints;
    if (shape.statistics) settings.statistics = "1";
    if (shape.credits != 0) settings.credits = shape.credits;
    if (shape.checks) settings.coll_check = "1";
    if (shape.tunes) settings.tuner = "1";
    if (shape.modes) settings.coll_progress = "auto";
    settings.pack = shape.pack;
    if (shape.call_memory != 0) settings.call_memory = shape.call_memory;
    settings.tuner_table = "none";
    if (shape.served || std::getenv("OMPL_TEST_SERVED") != nullptr) settings.progress = "thread";
    fabric_->tune(rank, &settings);
    const int code = Runtime::create(settings, process != nullptr ? std::move(process) : job.join(rank),
                                     std::move(conduits[rank]), &runtimes_[rank]);
    ASSERT_EQ(code, OMPL_OK) << error_detail();
    runtimes_[rank]->remote_calls.set_exchange(api::exchange_context);
    const ThreadOf thread(*runtimes_[rank]);
    Rank self({.rank = rank, .size = shape_.ranks, .thread = 0, .threads = 1});
    const uint64_t scratch = self.allocate(sizeof(uint32_t));
    if (rank == first_rank_) scratch_ = scratch;
  });
}

ThreadWorld::~ThreadWorld() {
  if (!shape_.ends_well) return;
  in_every_thread(1, [this](uint32_t rank, unsigned) {
    Context* const context = runtimes_[rank]->contexts.open();
    EXPECT_EQ(runtimes_[rank]->finalize(*context), OMPL_OK) << error_detail();
  });
}

void ThreadWorld::run(const Body& body, unsigned threads) {
  std::vector<std::atomic<unsigned>> running(shape_.ranks);
  for (auto& count : running) count = threads;
  in_every_thread(threads, [&](uint32_t rank, unsigned thread) {
    const ThreadOf in_this_thread(*runtimes_[rank]);
    Rank self({.rank = rank, .size = shape_.ranks, .thread = thread, .threads = threads});
    body(self);
    running[rank].fetch_sub(1);
    if (thread == 0 && shape_.ends_well) finish(self, running[rank]);
  });
}

// Other ranks may still need this one's progress. Where ranks have stopped the body has seen to that, and there are no barriers.
void ThreadWorld::finish(Rank& rank, std::atomic<unsigned>& running) {
  std::size_t stopped = 0;
  if (ompl_stopped_ranks(nullptr, 0, &stopped) == OMPL_OK && stopped > 0) return;
  while (running.load() > 0) {
    EXPECT_EQ(rank.poll(scratch_), 0);
    ::sched_yield();
  }
  EXPECT_EQ(rank.barrier(), OMPL_OK) << error_detail();
}

void ThreadWorld::in_every_thread(unsigned threads, const Work& work) {
  std::mutex mutex;
  std::condition_variable done;
  unsigned running = (end_rank_ - first_rank_) * threads;
  std::vector<std::jthread> pool;
  for (uint32_t rank = first_rank_; rank < end_rank_; ++rank) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      pool.emplace_back([&, rank, thread] {
        work(rank, thread);
        const std::lock_guard lock(mutex);
        if (--running == 0) done.notify_one();
      });
    }
  }
  std::unique_lock lock(mutex);
  if (!done.wait_for(lock, limit(), [&] { return running == 0; })) give_up();
}

void ThreadWorld::give_up() {
  fmt::print(stderr, "conformance: no end after {} s\n{}\n", limit().count(), fabric_->describe());
  for (const auto& runtime : runtimes_)
    if (runtime != nullptr) fmt::print(stderr, "{}", hang_report(*runtime));
  std::abort();
}

}  // namespace ompl::conformance
