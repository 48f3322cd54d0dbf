// SPDX-License-Identifier: BSD-3-Clause
// What workers that exchange halos are: ranks of the layer, led by the driver, each on a core of its own if there are enough.
// Main thread only.
#pragma once

#include <omnipgas/ompl.h>

#include <cstdint>

#include "harness/control.hpp"
#include "harness/must.hpp"
#include "harness/team.hpp"

namespace bench::halo {

// `World` is how the ranks came to be: meet() returns once all ranks have called it, and until then lets every library go
// on with what it may still owe another rank.
template <class World>
class Job {
 public:
  Job(int argc, char** argv) : world_(argc, argv) {
    must(ompl_init(), "ompl_init");
    must(ompl_alloc(1, &place_), "ompl_alloc");
  }
  ~Job() { ompl_finalize(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] Description describe() const {
    const auto last = static_cast<uint32_t>(ompl_size() - 1);
    const bool mapped = ompl_ptr(ompl_rank() == 0 ? last : 0, place_) != nullptr;
    return {ompl_version(), mapped ? "shared memory" : "network", std::nullopt, world_.details()};
  }

  // wrong(number) of as many numbers as the command says: what it finds ends the worker.
  template <class Wrong>
  static void verify(const Command& command, Control& control, const Wrong& wrong) {
    for (uint64_t i = 0; i < command.iterations; ++i)
      if (const auto what = wrong(command.sequence << 8U | i)) control.corrupt(*what);
    World::meet();
  }
  // As many times as the command says, `warm_up` more times before: the seconds, between two meetings.
  template <class Body>
  static double block(const Command& command, int warm_up, const Body& body) {
    World::meet();
    for (int i = 0; i < warm_up; ++i) body();
    const auto start = Clock::now();
    for (uint64_t i = 0; i < command.iterations; ++i) body();
    const double seconds = seconds_since(start);
    World::meet();
    return seconds;
  }

 private:
  World world_;
  uint64_t place_ = 0;  // one byte of the segment
};

// main() of these workers. `Work` has rank(), describe() and execute(command, control).
template <class Work>
int worker_main(int argc, char** argv) {
  return run_worker<Work>(argc, argv, [](Work& work, const Setup&, Control& control) {
    const auto all = cores();
    const auto size = static_cast<std::size_t>(ompl_size());
    bind_to({all[static_cast<std::size_t>(work.rank()) * all.size() / size]});
    while (const auto command = control.next()) control.report(work.execute(*command, control));
  });
}

}  // namespace bench::halo
