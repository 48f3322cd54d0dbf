// SPDX-License-Identifier: BSD-3-Clause
// memory_wait_worker THREADS ROUNDS: thread t of each rank and thread t of its partner (rank ^ 1) put the number of the round
// into each other's words in turn, and wait for it as for memory. Prints how many waits there were and how late the latest
// one ended, by the times that the words carry. Exit code 0 if no wait was in vain.
#include <omnipgas/ompl_memory.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "process/ranks_worker.hpp"

namespace {

constexpr int64_t kPatience = int64_t{600} * 1'000'000'000;
constexpr std::size_t kLine = 64;

// Of a thread's words at each rank: that of the round, and when it was put.
struct Places {
  uint64_t number;
  uint64_t time;
};

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// The latest end of a wait, in ns after its put.
uint64_t play(const Places& mine, uint64_t rounds) {
  const uint32_t partner = rank() ^ 1;
  uint64_t latest = 0;
  const auto send = [&](uint64_t number) {
    const uint64_t time = now_ns();
    ok(ompl_put(address(&time), partner, mine.time, sizeof time), "ompl_put");
    ok(ompl_ctx_fence(OMPL_CTX_DEFAULT, partner, OMPL_FOREVER), "ompl_ctx_fence");
    ok(ompl_put(address(&number), partner, mine.number, sizeof number), "ompl_put");
  };
  const auto receive = [&](uint64_t number) {
    const ompl_condition there{
        .flag_addr = mine.number, .value = number, .comparison = OMPL_GE, .width = 64};
    ok(ompl_wait_memory(OMPL_CTX_DEFAULT, &there, kPatience), "ompl_wait_memory");
    const uint64_t sent = *static_cast<const uint64_t*>(ompl_ptr(rank(), mine.time));
    latest = std::max(latest, now_ns() - sent);
  };
  for (uint64_t i = 1; i <= rounds; ++i) {
    if (rank() % 2 == 0) send(i);
    receive(i);
    if (rank() % 2 == 1) send(i);
  }
  return latest;
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 3, "usage: memory_wait_worker THREADS ROUNDS");
  const auto threads = static_cast<uint32_t>(std::atoi(argv[1]));
  const uint64_t rounds = std::strtoull(argv[2], nullptr, 10);
  ok(ompl_init(), "ompl_init");
  expect(ompl_size() % 2 == 0, "an even number of ranks is needed");
  const uint64_t words = allocate(2 * kLine * threads);
  std::vector<uint64_t> latest(threads);
  std::vector<std::thread> team;
  for (uint32_t t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      latest[t] =
          play({.number = words + 2 * kLine * t, .time = words + 2 * kLine * t + kLine}, rounds);
    });
  }
  for (std::thread& thread : team) thread.join();
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() == 0) {
    std::printf("%llu waits, none lost; the latest of this rank's ended %.3f ms after its put\n",
                static_cast<unsigned long long>(rounds) * threads * static_cast<unsigned>(ompl_size()),
                static_cast<double>(std::ranges::max(latest)) / 1e6);
  }
  ok(ompl_finalize(), "ompl_finalize");
  return 0;
}
