// SPDX-License-Identifier: BSD-3-Clause
// The work of puts with a flag over a stand-in for a network: `PROGRAM CALLS [BYTES]` prints what was posted, and runs the
// calls in functions of which callgrind counts the instructions (omni figures). Ranks are threads. Data of 8 bytes come
// from anywhere, longer ones from the segment. The main program of each network is one call of run_work().
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "conformance.hpp"

namespace ompl::conformance {

struct Places {
  uint64_t source, data, flag;
  std::size_t bytes;
};

// What the stand-in has counted.
struct Posted {
  uint64_t doorbells, requests;
};

}  // namespace ompl::conformance

extern "C" {

// Their names are what callgrind is told to count.
[[gnu::noinline]] inline int work_put_and_flag(const ompl::conformance::Places* p, int calls) {
  int bad = 0;
  for (int i = 0; i < calls; ++i) {
    bad |= ompl_put(p->source, 1, p->data, p->bytes);
    bad |= ompl_put_word(1, p->flag);
  }
  return bad | ompl_flush();
}

[[gnu::noinline]] inline int work_put_signal(const ompl::conformance::Places* p, int calls) {
  int bad = 0;
  for (int i = 0; i < calls; ++i) bad |= ompl_put_signal(p->source, 1, p->data, p->bytes, p->flag);
  return bad | ompl_flush();
}

}  // extern "C"

namespace ompl::conformance {

class Work {
 public:
  Work(std::unique_ptr<Fabric> fabric, Posted (*posted)(), int calls, std::size_t bytes, int batch)
      : world_(std::move(fabric), {.ranks = 2, .endpoints = 1}),
        posted_(posted),
        calls_(calls),
        bytes_(bytes),
        batch_(batch) {}

  // Whether all went well.
  bool run() {
    bool good = true;
    const uint64_t data = world_.allocate(bytes_);
    const uint64_t own = world_.allocate(bytes_);
    const uint64_t flag = world_.allocate(256);
    world_.run([&](Rank& r) {
      if (r.rank == 1) {
        for (int i = 0; i < 2 * (calls_ + 1); ++i) good = r.wait(flag) == OMPL_OK && good;
        good = good && *reinterpret_cast<const uint64_t*>(r.own(data)) == 42;
        return;
      }
      const uint64_t small = 42;
      const void* source = &small;
      if (bytes_ > sizeof small) source = std::memcpy(r.own(own), &small, sizeof small);
      const Places places{address(source), data, flag, bytes_};
      // Connects, and remembers both allocations, as any call but the first finds them.
      if (work_put_signal(&places, 1) != 0 || work_put_and_flag(&places, 1) != 0) good = false;
      good = good && measure("put+flag", work_put_and_flag, places) &&
             measure("put_signal", work_put_signal, places);
      if (ompl_quiet() != OMPL_OK) good = false;
    });
    return good;
  }

 private:
  template <class Measured>
  bool measure(const char* what, Measured measured, const Places& places) {
    Posted sum{};
    for (int done = 0; done < calls_; done += batch_) {
      const Posted before = posted_();
      if (measured(&places, batch_) != 0) return false;
      const Posted after = posted_();
      sum.doorbells += after.doorbells - before.doorbells;
      sum.requests += after.requests - before.requests;
      if (ompl_quiet() != OMPL_OK) return false;  // the other side has taken all: nothing stalls
    }
    fmt::print("{} calls {} doorbells {} requests {}\n", what, calls_, sum.doorbells, sum.requests);
    return true;
  }

  ThreadWorld world_;
  Posted (*const posted_)();
  const int calls_;
  const std::size_t bytes_;
  const int batch_;  // calls before the other side is waited for
};

inline int run_work(int argc, char** argv, std::unique_ptr<Fabric> fabric, Posted (*posted)(),
                    int batch) {
  int calls = 0;
  std::size_t bytes = sizeof(uint64_t);
  const auto number = [argv](int i, auto* out) {
    return std::from_chars(argv[i], argv[i] + std::strlen(argv[i]), *out).ec == std::errc{};
  };
  if (argc < 2 || argc > 3 || !number(1, &calls) || calls < 1 || calls % batch != 0 ||
      (argc == 3 && (!number(2, &bytes) || bytes < sizeof(uint64_t)))) {
    fmt::print(stderr, "usage: {} CALLS [BYTES]; CALLS is a multiple of {}\n", argv[0], batch);
    return 2;
  }
  return Work(std::move(fabric), posted, calls, bytes, batch).run() ? 0 : 1;
}

}  // namespace ompl::conformance
