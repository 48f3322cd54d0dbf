// SPDX-License-Identifier: BSD-3-Clause
// What tasks cost, one line each; medians of several rounds, interleaved with what they are compared with. Two ranks. It checks no time.
//   times_worker threads=T rounds=R
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "worker.hpp"

namespace {

using omnipgas::tasklet::inout;
using omnipgas::tasklet::put;
using omnipgas::tasklet::put_ready;
using Clock = std::chrono::steady_clock;

uint32_t g_rank;
uint64_t g_data, g_flag, g_rounds;
constexpr int kMany = 20000, kFew = 2000, kTags = 2000;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double ns_each(int count, const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / count;
}

void make_and_run() {
  for (int i = 0; i < kMany; ++i) task([] { return 0; });
  ompl_tasklet_wait();
}
void chain() {
  static int cell;
  for (int i = 0; i < kMany; ++i) task([] { return 0; }, {inout(&cell)});
  ompl_tasklet_wait();
}
void satisfied_wait() {
  for (int i = 0; i < kMany; ++i) ompl_put_word(g_rank, g_flag + 256);
  for (int i = 0; i < kMany; ++i) ompl_tasklet_wait_flag(g_flag + 256);
}
void put_words() {
  for (int i = 0; i < kMany; ++i) ompl_put_word(g_rank, g_flag + 512);
}
void yields() {
  for (int i = 0; i < kMany; ++i) ompl_tasklet_yield();
}

// One way of a relay between the ranks: by flags alone, and by tasks with tags, of which each depends on the one before.
void flags_relay() {
  uint64_t value = 1;
  for (int i = 0; i < kFew; ++i) {
    const bool sends = (i % 2 == 0) == (g_rank == 0);
    if (sends) {
      ompl_put_signal(reinterpret_cast<uint64_t>(&value), 1 - g_rank, g_data, 8, g_flag);
    } else {
      ompl_wait(g_flag);
    }
  }
}
void tasks_relay() {
  static int order;
  static uint64_t value = 1;
  for (uint32_t i = 0; i < kFew; ++i) {
    const bool sends = (i % 2 == 0) == (g_rank == 0);
    if (sends) {
      task([] { return ompl_tasklet_put(reinterpret_cast<uint64_t>(&value), 1 - g_rank, g_data, 8); },
           {put(1 - g_rank, i % kTags), inout(&order)});
    } else {
      task([] { return 0; }, {put_ready(1 - g_rank, i % kTags), inout(&order)});
    }
  }
  ompl_tasklet_wait();
}

int first_task(void*) {
  struct Line {
    const char* what;
    int count;
    void (*work)();
    std::vector<double> times;
  };
  std::vector<Line> lines = {{"a task made and run", kMany, make_and_run, {}},
                             {"a task of a chain", kMany, chain, {}},
                             {"ompl_put_word to the own rank", kMany, put_words, {}},
                             {"that, and a wait that is satisfied", kMany, satisfied_wait, {}},
                             {"a yield: suspended and resumed", kMany, yields, {}},
                             {"put and flag to the other rank, one way", kFew, flags_relay, {}},
                             {"a dependence across ranks, one way", kFew, tasks_relay, {}}};
  for (uint64_t round = 0; round < g_rounds; ++round) {
    for (Line& line : lines) {
      require(ompl_tasklet_wait_all(), "wait_all");
      line.times.push_back(ns_each(line.count, line.work));
    }
  }
  if (g_rank == 0)
    for (const Line& line : lines)
      std::printf("%10.0f ns (%.0f to %.0f)  %s\n", median(line.times),
                  *std::min_element(line.times.begin(), line.times.end()),
                  *std::max_element(line.times.begin(), line.times.end()), line.what);
  return ompl_tasklet_wait_all();
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  require(ompl_init(), "ompl_init");
  g_rank = static_cast<uint32_t>(ompl_rank());
  g_rounds = arguments.get("rounds", 7);
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = static_cast<int32_t>(arguments.get("threads", 1));
  config.tags = kTags;
  require(ompl_tasklet_init(&config), "ompl_tasklet_init");
  require(ompl_alloc(1024, &g_data), "ompl_alloc");
  require(ompl_alloc(1024, &g_flag), "ompl_alloc");
  require(run(arguments, first_task, nullptr), "the tasks");
  require(ompl_tasklet_finalize(), "ompl_tasklet_finalize");
  require(ompl_finalize(), "ompl_finalize");
  return 0;
}
