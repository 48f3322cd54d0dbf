// SPDX-License-Identifier: BSD-3-Clause
// What the progress thread does and costs (omni figures): `answers SECONDS`, how long a get from, and a fetch-add at, a rank takes that
// computes so long outside the library, with the thread; `absent SECONDS`, the same of one fetch-add without it; `idle ROUNDS`,
// the time of a computation beside a thread that has nothing to do, in rounds with and without. One JSON object a line, by rank 0.
// Two ranks. Where the process has MPI (preloaded) it is initialised first, for the conduit that goes over it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omnipgas/ompl_ext.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using InitMpi = int (*)(int*, char***, int required, int* provided);
using EndMpi = int (*)();

constexpr int kMultiple = 3;  // MPI_THREAD_MULTIPLE, the same number in every MPI
constexpr auto kPause = std::chrono::milliseconds(5);
constexpr double kBlock = 0.15;  // seconds of a computation, about

void check(int code, const char* what) {
  if (code >= OMPL_OK) return;
  fmt::print(stderr, "{}: {}\n", what, ompl_error_detail());
  std::_Exit(1);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Multiplications that depend on each other: neither memory nor another core changes how long they take.
void compute(uint64_t steps) {
  uint64_t value = 1;
  for (uint64_t i = 0; i < steps; ++i) value = value * 6364136223846793005U + i;
  asm volatile("" : : "r"(value));  // is wanted
}

void compute_for(double seconds) {
  const Clock::time_point start = Clock::now();
  while (seconds_since(start) < seconds) compute(100'000);
}

uint64_t allocate(size_t bytes) {
  uint64_t offset = 0;
  check(ompl_alloc(bytes, &offset), "ompl_alloc");
  return offset;
}

template <class Operation>
void print_times(const char* name, double seconds, Operation operation) {
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  do {
    const timespec pause{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kPause).count()};
    ::nanosleep(&pause, nullptr);
    const Clock::time_point start = Clock::now();
    operation();
    times.push_back(seconds_since(start) * 1e6);
  } while (seconds_since(begin) < seconds);
  fmt::print("{{\"op\": \"{}\", \"us\": [{:.1f}]}}\n", name, fmt::join(times, ", "));
}

void fetch_add(uint64_t word) {
  uint64_t before = 0;
  check(ompl_fetch_add64(1, word, 1, &before), "ompl_fetch_add64");
}

void answers(double seconds, bool served) {
  const uint64_t data = allocate(4096);
  const uint64_t word = allocate(8);
  if (served) check(ompl_set_progress_thread(1), "ompl_set_progress_thread");
  uint64_t into = 0;
  if (ompl_rank() == 0) {  // connects
    check(ompl_get(reinterpret_cast<uint64_t>(&into), 1, data, sizeof into), "ompl_get");
    fetch_add(word);
  }
  check(ompl_barrier(), "ompl_barrier");
  if (ompl_rank() == 1) {
    compute_for(seconds);
  } else if (served) {
    print_times("get", 0.45 * seconds, [&] {
      check(ompl_get(reinterpret_cast<uint64_t>(&into), 1, data, sizeof into), "ompl_get");
    });
    print_times("fetch_add", 0.45 * seconds, [&] { fetch_add(word); });
  } else {
    print_times("absent", 1e-9, [&] { fetch_add(word); });
  }
  check(ompl_barrier(), "ompl_barrier");
}

// Rank 0 sleeps meanwhile.
void idle(int rounds) {
  const uint64_t result = allocate(4096);
  const uint64_t flag = allocate(8);
  if (ompl_rank() == 0) {
    check(ompl_wait(flag), "ompl_wait");
    fmt::print("{}\n", static_cast<const char*>(ompl_ptr(0, result)));
    return;
  }
  uint64_t steps = 1'000'000;
  for (double took = 0; took < kBlock; steps *= 2) {
    const Clock::time_point start = Clock::now();
    compute(2 * steps);
    took = seconds_since(start);
  }
  std::vector<double> times[2];
  for (int round = 0; round < rounds; ++round) {
    for (const int turn : {0, 1}) {
      const int on = turn ^ (round % 2);
      if (on == 1) check(ompl_set_progress_thread(1), "ompl_set_progress_thread");
      const Clock::time_point start = Clock::now();
      compute(steps);
      times[on].push_back(seconds_since(start));
      if (on == 1) check(ompl_set_progress_thread(0), "ompl_set_progress_thread");
    }
  }
  const std::string text =
      fmt::format("{{\"op\": \"idle\", \"without_s\": [{:.6f}], \"with_s\": [{:.6f}]}}",
                  fmt::join(times[0], ", "), fmt::join(times[1], ", "));
  check(ompl_put_signal(reinterpret_cast<uint64_t>(text.c_str()), 0, result, text.size() + 1, flag),
        "ompl_put_signal");
  check(ompl_quiet(), "ompl_quiet");
}

bool read(const char* text, double* out) {
  const std::string_view all = text;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), *out);
  return error == std::errc{} && end == all.data() + all.size() && *out > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view task = argc == 3 ? argv[1] : "";
  double amount = 0;
  if ((task != "answers" && task != "absent" && task != "idle") || !read(argv[2], &amount)) {
    fmt::print(stderr, "usage: {} answers|absent SECONDS, {} idle ROUNDS\n", argv[0], argv[0]);
    return 2;
  }
  int level = 0;
  const auto init_mpi = reinterpret_cast<InitMpi>(::dlsym(RTLD_DEFAULT, "MPI_Init_thread"));
  const auto end_mpi = reinterpret_cast<EndMpi>(::dlsym(RTLD_DEFAULT, "MPI_Finalize"));
  if (init_mpi != nullptr) init_mpi(&argc, &argv, kMultiple, &level);
  check(ompl_init(), "ompl_init");
  if (ompl_size() < 2) {
    fmt::print(stderr, "run two ranks\n");
    return 2;
  }
  if (task == "idle") {
    idle(static_cast<int>(amount));
  } else {
    answers(amount, task == "answers");
  }
  check(ompl_finalize(), "ompl_finalize");
  if (end_mpi != nullptr) end_mpi();
  return 0;
}
