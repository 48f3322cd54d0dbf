// SPDX-License-Identifier: BSD-3-Clause
// The work of puts with a flag over the stand-in device: `ompl_verbs_work CALLS [BYTES]` prints what was rung and posted, and
// runs the calls in functions of which callgrind counts the instructions (omni figures). Ranks are threads. Data of 8
// bytes come from anywhere, longer ones from the segment.
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "../conformance/conformance.hpp"
#include "conduit/self/conduit.hpp"
#include "conduit/verbs/conduit.hpp"
#include "stub_call.hpp"

namespace {

using ompl::conformance::Rank;

constexpr int kBatch = 256;

struct Places {
  uint64_t source, data, flag;
  std::size_t bytes;
};

}  // namespace

extern "C" {

// Their names are what callgrind is told to count.
[[gnu::noinline]] int verbs_put_and_flag(const Places* p, int calls) {
  int bad = 0;
  for (int i = 0; i < calls; ++i) {
    bad |= ompl_put(p->source, 1, p->data, p->bytes);
    bad |= ompl_put_word(1, p->flag);
  }
  return bad | ompl_flush();
}

[[gnu::noinline]] int verbs_put_signal(const Places* p, int calls) {
  int bad = 0;
  for (int i = 0; i < calls; ++i) bad |= ompl_put_signal(p->source, 1, p->data, p->bytes, p->flag);
  return bad | ompl_flush();
}

}  // extern "C"

namespace {

verbs_stub_counters counters() {
  verbs_stub_counters now{};
  if (auto* const count = STUB(verbs_stub_counts); count != nullptr) count(&now);
  return now;
}

template <class Measured>
bool measure(const char* what, Measured measured, const Places& places, int calls) {
  verbs_stub_counters sum{};
  for (int done = 0; done < calls; done += kBatch) {
    const verbs_stub_counters before = counters();
    if (measured(&places, kBatch) != 0) return false;
    const verbs_stub_counters after = counters();
    sum.doorbells += after.doorbells - before.doorbells;
    sum.requests += after.requests - before.requests;
    if (ompl_quiet() != OMPL_OK) return false;  // the other side has taken all: nothing stalls
  }
  fmt::print("{} calls {} doorbells {} requests {}\n", what, calls, sum.doorbells, sum.requests);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ompl::conformance;  // NOLINT(google-build-using-namespace)
  int calls = 0;
  std::size_t bytes = sizeof(uint64_t);
  const auto number = [argv](int i, auto* out) {
    return std::from_chars(argv[i], argv[i] + std::strlen(argv[i]), *out).ec == std::errc{};
  };
  if (argc < 2 || argc > 3 || !number(1, &calls) || calls < 1 ||
      (argc == 3 && (!number(2, &bytes) || bytes < sizeof(uint64_t)))) {
    fmt::print(stderr, "usage: ompl_verbs_work CALLS [BYTES]\n");
    return 2;
  }
  bool good = true;
  const auto fabric = every_rank(ompl::conduit::self::make, ompl::conduit::verbs::make);
  ThreadWorld world(fabric(2), {.ranks = 2, .endpoints = 1});
  const uint64_t data = world.allocate(bytes);
  const uint64_t own = world.allocate(bytes);
  const uint64_t flag = world.allocate(256);
  world.run([&](Rank& r) {
    if (r.rank == 1) {
      for (int i = 0; i < 2 * (calls + 1); ++i) good = r.wait(flag) == OMPL_OK && good;
      good = good && *reinterpret_cast<const uint64_t*>(r.own(data)) == 42;
      return;
    }
    const uint64_t small = 42;
    const void* source = &small;
    if (bytes > sizeof small) source = std::memcpy(r.own(own), &small, sizeof small);
    const Places places{address(source), data, flag, bytes};
    // Connects, and remembers both allocations, as any call but the first finds them.
    if (verbs_put_signal(&places, 1) != 0 || verbs_put_and_flag(&places, 1) != 0) good = false;
    good = good && measure("put+flag", verbs_put_and_flag, places, calls) &&
           measure("put_signal", verbs_put_signal, places, calls);
    if (ompl_quiet() != OMPL_OK) good = false;
  });
  return good ? 0 : 1;
}
