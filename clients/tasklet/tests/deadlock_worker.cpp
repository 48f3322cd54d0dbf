// SPDX-License-Identifier: BSD-3-Clause
// Waits that nobody will satisfy, in checked mode; and one that takes long, which is none.
//   deadlock_worker case=0 (a put is missing) | 1 (a cycle over two ranks) | 2 (the other rank computes) | 3 (hangs: for reports)
#include <chrono>

#include "worker.hpp"

namespace {

using omnipgas::tasklet::in;
using omnipgas::tasklet::out;
using omnipgas::tasklet::put;
using omnipgas::tasklet::put_ready;

uint32_t g_rank;
bool g_ran;

int nothing() {
  g_ran = true;
  return 0;
}

int missing() {
  if (g_rank == 0) require(task(nothing, {put_ready(1, 7)}, 0, "receiver"), "create");
  const int code = ompl_tasklet_wait();
  EXPECT(!g_ran && code == (g_rank == 0 ? int{OMPL_TASKLET_ERR_DEADLOCK} : int{OMPL_OK}));
  return 0;
}

int cycle() {
  static int cell;
  const uint32_t other = 1 - g_rank;
  require(task(nothing, {out(&cell), put_ready(other, g_rank)}, 0, "takes first"), "create");
  require(task(nothing, {in(&cell), put(other, other)}, 0, "gives then"), "create");
  const int code = ompl_tasklet_wait();
  EXPECT(!g_ran && (code == OMPL_TASKLET_ERR_DEADLOCK || code == OMPL_TASKLET_ERR_FAILED));
  return 0;
}

int computes() {
  const auto begin = std::chrono::steady_clock::now();
  if (g_rank == 0) require(task(nothing, {put_ready(1, 7)}), "create");
  if (g_rank == 1) {
    const auto compute = [begin] {
      while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(3)) {
      }
      return 0;
    };
    require(task(compute, {put(0, 7)}), "create");
  }
  require(ompl_tasklet_wait(), "a put that comes late");
  EXPECT(g_ran == (g_rank == 0));
  return 0;
}

int hangs() {
  static uint64_t flag;
  require(ompl_alloc(4, &flag), "ompl_alloc");
  require(task(nothing, {put_ready(1 - g_rank, 9)}, 0, "waits for ever"), "create");
  require(task([] { return ompl_tasklet_wait_flag(flag); }, {}, 0, "listens"), "create");
  return ompl_tasklet_wait();
}

int first_task(void* which) {
  switch (*static_cast<const uint64_t*>(which)) {
    case 0:
      return missing();
    case 1:
      return cycle();
    case 2:
      return computes();
    default:
      return hangs();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  require(ompl_init(), "ompl_init");
  g_rank = static_cast<uint32_t>(ompl_rank());
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = static_cast<int32_t>(arguments.get("threads", 2));
  uint64_t which = arguments.get("case", 0);
  config.checked = which != 3;
  require(ompl_tasklet_init(&config), "ompl_tasklet_init");
  require(run(arguments, first_task, &which), "the tasks");
  require(ompl_tasklet_finalize(), "ompl_tasklet_finalize");
  require(ompl_finalize(), "ompl_finalize");
  return 0;
}
