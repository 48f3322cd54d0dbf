// SPDX-License-Identifier: BSD-3-Clause
// memory_wait_worker THREADS ROUNDS [AHEAD]: thread t of each rank and thread t of its partner (rank ^ 1) put the number of the
// round into each other's words, and wait for it as for memory: in turn, or both at once, AHEAD rounds behind what they have
// put. Prints how many waits of all ranks ended and how late the latest one did, by the times that the words carry. Exit code 0
// if no wait was in vain.
#include <omnipgas/ompl_memory.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "process/programs/ranks_worker.hpp"

namespace {

constexpr int64_t kPatience = int64_t{600} * 1'000'000'000;
constexpr uint64_t kLine = 64;

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// What a thread has seen.
struct Seen {
  uint64_t waits = 0;
  uint64_t latest = 0;  // end of a wait, in ns after its put
};

// A thread and its partner. Both have a word for the round at `words` of their segment, and behind it one for the time of each
// round that may be under way.
class Pair {
 public:
  Pair(uint64_t words, uint64_t ahead) : number_(words), times_(words + kLine), slots_(2 * ahead + 2) {}
  static uint64_t bytes(uint64_t ahead) { return kLine + (2 * ahead + 2) * 8 / kLine * kLine + kLine; }

  Seen in_turn(uint64_t rounds) {
    for (uint64_t i = 1; i <= rounds; ++i) {
      if (rank() % 2 == 0) send(i);
      receive(i);
      if (rank() % 2 == 1) send(i);
    }
    return seen_;
  }
  Seen at_once(uint64_t rounds, uint64_t ahead) {
    for (uint64_t i = 1; i <= rounds + ahead; ++i) {
      if (i <= rounds) send(i);
      if (i > ahead) receive(i - ahead);
    }
    return seen_;
  }

 private:
  [[nodiscard]] uint64_t time_of(uint64_t number) const { return times_ + number % slots_ * 8; }

  void send(uint64_t number) const {
    const uint64_t time = now_ns();
    ok(ompl_put(address(&time), partner_, time_of(number), sizeof time), "ompl_put");
    ok(ompl_ctx_fence(OMPL_CTX_DEFAULT, partner_, OMPL_FOREVER), "ompl_ctx_fence");
    ok(ompl_put(address(&number), partner_, number_, sizeof number), "ompl_put");
  }
  void receive(uint64_t number) {
    const ompl_condition there{
        .flag_addr = number_, .value = number, .comparison = OMPL_GE, .width = 64};
    ok(ompl_wait_memory(OMPL_CTX_DEFAULT, &there, kPatience), "ompl_wait_memory");
    const uint64_t sent = *static_cast<const uint64_t*>(ompl_ptr(rank(), time_of(number)));
    seen_.latest = std::max(seen_.latest, now_ns() - sent);
    ++seen_.waits;
  }

  const uint32_t partner_ = rank() ^ 1;
  const uint64_t number_;
  const uint64_t times_;
  const uint64_t slots_;
  Seen seen_;
};

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 3 || argc == 4, "usage: memory_wait_worker THREADS ROUNDS [AHEAD]");
  const auto threads = static_cast<uint32_t>(std::atoi(argv[1]));
  const uint64_t rounds = std::strtoull(argv[2], nullptr, 10);
  const uint64_t ahead = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  ok(ompl_init(), "ompl_init");
  expect(ompl_size() % 2 == 0, "an even number of ranks is needed");
  const uint64_t words = allocate(Pair::bytes(ahead) * threads);
  const uint64_t waits = allocate(8);  // of all ranks, at rank 0
  const uint64_t latest = allocate(8);
  std::vector<std::thread> team;
  for (uint32_t t = 0; t < threads; ++t) {
    team.emplace_back([=] {
      Pair pair(words + Pair::bytes(ahead) * t, ahead);
      const Seen seen = argc > 3 ? pair.at_once(rounds, ahead) : pair.in_turn(rounds);
      ok(ompl_ctx_atomic64(OMPL_CTX_DEFAULT, 0, waits, OMPL_ATOMIC_ADD, seen.waits, 0, nullptr,
                           OMPL_FOREVER),
         "the sum of the waits");
      ok(ompl_ctx_atomic64(OMPL_CTX_DEFAULT, 0, latest, OMPL_ATOMIC_UMAX, seen.latest, 0, nullptr,
                           OMPL_FOREVER),
         "the latest of the waits");
    });
  }
  for (std::thread& thread : team) thread.join();
  ok(ompl_process_quiet(), "ompl_process_quiet");
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() == 0) {
    const uint64_t all = *static_cast<uint64_t*>(ompl_ptr(0, waits));
    expect(all == rounds * threads * static_cast<uint32_t>(ompl_size()), "a wait is missing");
    std::printf("%llu waits, none lost; the latest ended %.3f ms after its put\n",
                static_cast<unsigned long long>(all),
                static_cast<double>(*static_cast<uint64_t*>(ompl_ptr(0, latest))) / 1e6);
  }
  ok(ompl_finalize(), "ompl_finalize");
  return 0;
}
