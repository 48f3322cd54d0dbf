// SPDX-License-Identifier: BSD-3-Clause
#include "thread_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "bootstrap/thread_bootstrap.hpp"
#include "util/status.hpp"

namespace ompl::conformance {
namespace {

// Nothing in these tests takes a tenth of this on an idle machine.
constexpr std::chrono::seconds kLimit{60};

class ThreadRank final : public Rank {
 public:
  ThreadRank(Runtime& runtime, unsigned my_thread, unsigned of_threads, bool is_explicit)
      : Rank({runtime.rank(), runtime.size(), my_thread, of_threads}),
        runtime_(runtime),
        context_(runtime.open_context()),
        explicit_(is_explicit) {}
  // An implicit context ends with its thread, which completes nothing; an explicit one is completed.
  ~ThreadRank() override {
    if (explicit_) {
      EXPECT_EQ(runtime_.close_context(context_), OMPL_OK) << error_detail();
    } else {
      runtime_.abandon_context(context_);
    }
  }
  ThreadRank(const ThreadRank&) = delete;
  ThreadRank& operator=(const ThreadRank&) = delete;

  int put(const void* source, uint32_t target, uint64_t offset, std::size_t length,
          int64_t timeout_ns) override {
    return runtime_.put(*context_, source, target, offset, length, Deadline::in(timeout_ns));
  }
  int get(void* into, uint32_t target, uint64_t offset, std::size_t length,
          int64_t timeout_ns) override {
    return runtime_.get(*context_, into, target, offset, length, Deadline::in(timeout_ns));
  }
  int signal(uint32_t target, uint64_t flag, int64_t timeout_ns) override {
    return runtime_.signal(*context_, target, flag, Deadline::in(timeout_ns));
  }
  int put_signal(const void* source, uint32_t target, uint64_t offset, std::size_t length,
                 uint64_t flag, int64_t timeout_ns) override {
    return runtime_.put_signal(*context_, source, target, offset, length, flag,
                               Deadline::in(timeout_ns));
  }
  int wait(uint64_t flag, int64_t timeout_ns) override {
    if (Runtime::await_mapped(*context_, flag)) return OMPL_OK;
    return runtime_.wait(*context_, flag, Deadline::in(timeout_ns));
  }
  int poll(uint64_t flag) override { return runtime_.poll(*context_, flag); }
  int flush(int64_t timeout_ns) override { return runtime_.flush(*context_, Deadline::in(timeout_ns)); }
  int quiet(int64_t timeout_ns) override { return runtime_.quiet(*context_, Deadline::in(timeout_ns)); }
  int barrier(int64_t timeout_ns) override {
    return runtime_.barrier(*context_, Deadline::in(timeout_ns));
  }
  int alloc(std::size_t bytes, uint64_t* offset) override {
    return runtime_.alloc(*context_, bytes, offset);
  }
  int free(uint64_t offset) override { return runtime_.free(*context_, offset); }
  void* pointer(uint32_t target, uint64_t offset) override { return runtime_.pointer(target, offset); }
  void set_yield(ompl_yield_fn hook, void* argument) override { runtime_.set_yield(hook, argument); }
  int failure_ack() override { return static_cast<int>(runtime_.acknowledge_failures()); }
  std::unique_ptr<Rank> context() override {
    return std::make_unique<ThreadRank>(runtime_, thread, threads, true);
  }
  uint32_t sleepers() override;

 private:
  Runtime& runtime_;
  Context* const context_;
  const bool explicit_;
};

}  // namespace

ThreadWorld::ThreadWorld(std::unique_ptr<Fabric> fabric, const Shape& shape)
    : fabric_(std::move(fabric)), shape_(shape), runtimes_(shape.ranks) {
  const bootstrap::ThreadJob job(shape.ranks);
  std::vector<std::vector<std::unique_ptr<conduit::Conduit>>> conduits(shape.ranks);
  for (uint32_t rank = 0; rank < shape.ranks; ++rank) conduits[rank] = fabric_->conduits(rank);
  in_every_thread(1, [&](uint32_t rank, unsigned) {
    Settings settings;
    settings.segment_size = std::size_t{64} << 20;
    settings.endpoints = shape.endpoints;
    if (shape.credits != 0) settings.credits = shape.credits;
    fabric_->tune(rank, &settings);
    const int code =
        Runtime::create(settings, job.join(rank), std::move(conduits[rank]), &runtimes_[rank]);
    ASSERT_EQ(code, OMPL_OK) << error_detail();
    ThreadRank self(*runtimes_[rank], 0, 1, false);
    const uint64_t scratch = self.allocate(sizeof(uint32_t));
    if (rank == 0) scratch_ = scratch;
  });
}

ThreadWorld::~ThreadWorld() {
  if (!shape_.ends_well) return;
  in_every_thread(1, [this](uint32_t rank, unsigned) {
    Context* const context = runtimes_[rank]->open_context();
    EXPECT_EQ(runtimes_[rank]->finalize(*context), OMPL_OK) << error_detail();
  });
}

void ThreadWorld::run(const Body& body, unsigned threads) {
  std::vector<std::atomic<unsigned>> running(shape_.ranks);
  for (auto& count : running) count = threads;
  in_every_thread(threads, [&](uint32_t rank, unsigned thread) {
    ThreadRank self(*runtimes_[rank], thread, threads, false);
    body(self);
    running[rank].fetch_sub(1);
    if (thread == 0 && shape_.ends_well) finish(self, running[rank]);
  });
}

// Other ranks may still need this one's progress.
void ThreadWorld::finish(Rank& rank, std::atomic<unsigned>& running) {
  while (running.load() > 0) {
    EXPECT_EQ(rank.poll(scratch_), 0);
    ::sched_yield();
  }
  EXPECT_EQ(rank.barrier(), OMPL_OK) << error_detail();
}

void ThreadWorld::in_every_thread(unsigned threads, const Work& work) {
  std::mutex mutex;
  std::condition_variable done;
  unsigned running = shape_.ranks * threads;
  std::vector<std::jthread> pool;
  for (uint32_t rank = 0; rank < shape_.ranks; ++rank) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      pool.emplace_back([&, rank, thread] {
        work(rank, thread);
        const std::lock_guard lock(mutex);
        if (--running == 0) done.notify_one();
      });
    }
  }
  std::unique_lock lock(mutex);
  if (!done.wait_for(lock, kLimit, [&] { return running == 0; })) give_up();
}

void ThreadWorld::give_up() {
  fmt::print(stderr, "conformance: no end after {} s\n{}\n", kLimit.count(), fabric_->describe());
  for (const auto& runtime : runtimes_)
    if (runtime != nullptr) fmt::print(stderr, "{}", runtime->hang_report());
  std::abort();
}

uint32_t ThreadRank::sleepers() {
  // The world's first allocation stands at kFirstOffset, the segment's header before it.
  auto* const first = static_cast<std::byte*>(runtime_.pointer(rank, kFirstOffset));
  const SegmentHeader& header = header_of(first - kFirstOffset);
  uint32_t count = header.any.sleepers.load();
  for (const Bucket& bucket : header.buckets) count += bucket.sleepers.load();
  return count;
}

}  // namespace ompl::conformance
