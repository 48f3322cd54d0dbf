// SPDX-License-Identifier: BSD-3-Clause
// A rank is killed while tasks wait for it: they end with an error, what does not depend on it runs, and the executor returns.
//   fault_worker threads=T openmp=0|1, two ranks or more; the last one dies
#include <atomic>
#include <csignal>

#include "worker.hpp"

namespace {

using omnipgas::tasklet::get;
using omnipgas::tasklet::in;
using omnipgas::tasklet::out;
using omnipgas::tasklet::put;
using omnipgas::tasklet::put_ready;

constexpr uint32_t kTags = 3000;
uint32_t g_last;
uint64_t g_data, g_flag;
std::atomic<int> g_independent, g_wrong, g_ended;

int waits_for_dead_rank() {
  const int code = ompl_tasklet_wait_flag(g_flag);
  if (code == OMPL_ERR_PEER || code == OMPL_ERR_LINK) ++g_ended;
  return code;
}

int survivor(void*) {
  static int cell;
  for (uint32_t tag = 0; tag < kTags; ++tag) {
    const auto wrong = [] {
      ++g_wrong;
      return 0;
    };
    const ompl_tasklet_dependence by_tag = tag % 3 == 0   ? put(g_last, tag)
                                           : tag % 3 == 1 ? get(g_last, tag)
                                                          : put_ready(g_last, tag);
    require(tag == 0 ? task(wrong, {by_tag, out(&cell)}) : task(wrong, {by_tag}), "create");
  }
  for (int i = 0; i < 100; ++i) require(task(waits_for_dead_rank), "create");
  require(task(
              [] {
                ++g_wrong;
                return 0;
              },
              {in(&cell)}),
          "create");
  for (int i = 0; i < 1000; ++i)
    require(task([] {
              ++g_independent;
              return 0;
            }),
            "create");
  require(ompl_put_word(g_last, g_flag), "put_word");  // it may die now
  const int code = ompl_tasklet_wait();
  EXPECT(code == OMPL_ERR_PEER || code == OMPL_ERR_LINK);
  EXPECT(g_independent == 1000 && g_wrong == 0 && g_ended == 100);
  EXPECT(ompl_tasklet_wait_all() < 0);
  return code;
}

int victim(void*) {
  for (uint32_t i = 0; i < g_last; ++i) require(ompl_tasklet_wait_flag(g_flag), "wait_flag");
  std::raise(SIGKILL);
  return 0;
}

int after(void*) {  // tasks go on once the death is known
  static int ran;
  ran = 0;
  for (int i = 0; i < 100; ++i)
    require(task(
                [] {
                  ++ran;
                  return 0;
                },
                {out(&ran)}),
            "create");
  require(ompl_tasklet_wait(), "wait");
  EXPECT(ran == 100);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  require(ompl_init(), "ompl_init");
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = static_cast<int32_t>(arguments.get("threads", 2));
  require(ompl_tasklet_init(&config), "ompl_tasklet_init");
  require(ompl_alloc(256, &g_data), "ompl_alloc");
  require(ompl_alloc(256, &g_flag), "ompl_alloc");
  const auto rank = static_cast<uint32_t>(ompl_rank());
  g_last = static_cast<uint32_t>(ompl_size()) - 1;
  const int code = run(arguments, rank == g_last ? victim : survivor, nullptr);
  EXPECT(code == OMPL_ERR_PEER || code == OMPL_ERR_LINK);
  require(run(arguments, after, nullptr), "tasks after the death");
  require(ompl_failure_ack(), "ompl_failure_ack");
  require(run(arguments, after, nullptr), "tasks after ompl_failure_ack");
  EXPECT(ompl_tasklet_finalize() < 0);
  EXPECT(ompl_finalize() < 0);
  std::printf("rank %u survived\n", rank);
  return 0;
}
