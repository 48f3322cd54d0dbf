// SPDX-License-Identifier: BSD-3-Clause
// Tasks that wait for other ranks, all at once, hold no stack: waiting_worker tasks=N threads=T openmp=0|1
// Each rank makes N tasks with put_ready before anybody makes one with put; the report tells that all of them wait.
#include <sys/resource.h>

#include <atomic>
#include <string>
#include <vector>

#include "worker.hpp"

namespace {

using omnipgas::tasklet::put;
using omnipgas::tasklet::put_ready;

uint32_t g_tasks, g_rank, g_right, g_left;
std::atomic<uint32_t> g_ran;

long resident_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

uint64_t waiting_tasks() {
  std::vector<char> text(65536);
  ompl_tasklet_report(text.data(), text.size());
  const std::string report = text.data();
  const std::size_t more = report.find("and ");
  return more == std::string::npos ? 0 : 64 + std::strtoull(report.c_str() + more + 4, nullptr, 10);
}

int first_task(void*) {
  const long before = resident_kib();
  for (uint32_t tag = 0; tag < g_tasks; ++tag)
    require(task(
                [] {
                  ++g_ran;
                  return 0;
                },
                {put_ready(g_left, tag)}),
            "create");
  while (waiting_tasks() < g_tasks) ompl_tasklet_yield();
  EXPECT(g_ran == 0);
  const long each = (resident_kib() - before) * 1024 / static_cast<long>(g_tasks);
  ompl_team* world = nullptr;
  ompl_request* request = nullptr;
  require(ompl_team_world(&world), "ompl_team_world");
  require(ompl_team_barrier(world, nullptr, &request), "ompl_team_barrier");
  require(ompl_tasklet_wait_request(&request), "wait_request");
  for (uint32_t tag = 0; tag < g_tasks; ++tag)
    require(task([] { return 0; }, {put(g_right, tag)}), "create");
  require(ompl_tasklet_wait(), "wait");
  EXPECT(g_ran == g_tasks);
  if (g_rank == 0) std::printf("%u tasks waited at once, %ld bytes each\n", g_tasks, each);
  EXPECT(each < 4096);
  return ompl_tasklet_wait_all();
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  require(ompl_init(), "ompl_init");
  g_rank = static_cast<uint32_t>(ompl_rank());
  const auto ranks = static_cast<uint32_t>(ompl_size());
  g_right = (g_rank + 1) % ranks;
  g_left = (g_rank + ranks - 1) % ranks;
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = static_cast<int32_t>(arguments.get("threads", 2));
  config.tags = g_tasks = static_cast<uint32_t>(arguments.get("tasks", 100000));
  require(ompl_tasklet_init(&config), "ompl_tasklet_init");
  require(run(arguments, first_task, nullptr), "the tasks");
  require(ompl_tasklet_finalize(), "ompl_tasklet_finalize");
  require(ompl_finalize(), "ompl_finalize");
  return 0;
}
