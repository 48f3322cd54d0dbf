// SPDX-License-Identifier: BSD-3-Clause
// What tasks promise, case by case, on any number of ranks: cases_worker threads=T openmp=0|1
#include <omnipgas/coll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "worker.hpp"

namespace {

using omnipgas::tasklet::get;
using omnipgas::tasklet::get_ready;
using omnipgas::tasklet::in;
using omnipgas::tasklet::inout;
using omnipgas::tasklet::out;
using omnipgas::tasklet::put;
using omnipgas::tasklet::put_ready;

constexpr uint32_t kTags = 4096;
uint32_t g_rank, g_ranks, g_right, g_left;
uint64_t g_data, g_flags;
uint64_t* g_own;      // data of this rank
uint32_t g_function;  // remote

// Readers after their writer, the next writer after all readers.
int memory_order() {
  static int cell, wrong;
  static std::atomic<int> reads;
  for (int round = 0; round < 50; ++round) {
    task(
        [round] {
          if (reads != 3 * round) wrong = 1;
          cell = round;
          return 0;
        },
        {out(&cell)});
    for (int i = 0; i < 3; ++i)
      task(
          [round] {
            if (cell != round) wrong = 1;
            ++reads;
            return 0;
          },
          {in(&cell)});
  }
  require(ompl_tasklet_wait(), "wait");
  EXPECT(wrong == 0 && reads == 150);
  return 0;
}

long fibonacci(int n) {
  if (n < 2) return n;
  std::array<long, 2> parts{};
  long* const result = parts.data();  // on the stack of a task that waits for them
  for (int i = 0; i < 2; ++i)
    task([n, i, result] {
      result[i] = fibonacci(n - 1 - i);
      return 0;
    });
  require(ompl_tasklet_wait(), "wait");
  return parts[0] + parts[1];
}
int nested() {
  EXPECT(fibonacci(15) == 610);
  return 0;
}

// A parent is over once its children are, without a wait of its own.
int parents_wait() {
  static std::atomic<int> done;
  static int after;
  task(
      [] {
        for (int i = 0; i < 20; ++i)
          task([] {
            ompl_tasklet_yield();
            ++done;
            return 0;
          });
        return 0;
      },
      {out(&after)});
  task(
      [] {
        after = done;
        return 0;
      },
      {inout(&after)});
  require(ompl_tasklet_wait(), "wait");
  EXPECT(after == 20);
  return 0;
}

// With one thread, what is ready runs by priority.
int priorities() {
  if (ompl_tasklet_threads() != 1) return 0;
  static std::vector<int> order;
  for (const int priority : {-3, 0, 5, 2, 7, -1})
    task(
        [priority] {
          order.push_back(priority);
          return 0;
        },
        {}, priority);
  require(ompl_tasklet_wait(), "wait");
  EXPECT((order == std::vector<int>{7, 5, 2, 0, -1, -3}));
  return 0;
}

int put_to_right() {
  static uint64_t value;
  value = 100 + g_rank;
  task([] { return ompl_tasklet_put(reinterpret_cast<uint64_t>(&value), g_right, g_data + 8, 8); },
       {put(g_right, 1)});
  static uint64_t seen;
  task(
      [] {
        seen = g_own[1];
        return 0;
      },
      {put_ready(g_left, 1)});
  require(ompl_tasklet_wait(), "wait");
  EXPECT(seen == 100 + g_left);
  return 0;
}

int get_from_right() {
  static uint64_t value;
  task(
      [] {
        g_own[2] = 200 + g_rank;
        return 0;
      },
      {out(&g_own[2]), get_ready(g_left, 2)});
  task(
      [] {
        g_own[2] = 0;
        return 0;
      },
      {out(&g_own[2])});  // only when it was read
  task([] { return ompl_tasklet_get(reinterpret_cast<uint64_t>(&value), g_right, g_data + 16, 8); },
       {get(g_right, 2)});
  require(ompl_tasklet_wait(), "wait");
  EXPECT(value == 200 + g_right && g_own[2] == 0);
  return 0;
}

int flags() {
  static std::atomic<int> taken;
  taken = 0;
  for (int i = 0; i < 100; ++i)
    task([] {
      ++taken;
      return ompl_tasklet_wait_flag(g_flags);
    });
  task(
      [] {
        for (int i = 0; i < 100; ++i) require(ompl_put_word(g_right, g_flags), "put_word");
        return 0;
      },
      {}, -7);
  require(ompl_tasklet_wait(), "wait");
  EXPECT(taken == 100);
  return 0;
}

int collectives() {
  static ompl_team* team;
  static std::array<uint64_t, 3> sums;
  require(ompl_team_world(&team), "ompl_team_world");
  for (uint32_t tag = 0; tag < 3; ++tag) {
    task([tag] {
      ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
      options.tag = tag;
      const uint64_t own = g_rank + tag;
      ompl_request* request = nullptr;
      require(ompl_allreduce(team, &own, &sums[tag], 1, OMPL_UINT64, OMPL_SUM, &options, &request),
              "allreduce");
      return ompl_tasklet_wait_request(&request);
    });
  }
  require(ompl_tasklet_wait(), "wait");
  for (uint32_t tag = 0; tag < 3; ++tag)
    EXPECT(sums[tag] == g_ranks * (g_ranks - 1) / 2 + g_ranks * tag);
  return 0;
}

int remote_calls() {
  for (uint64_t i = 0; i < 20; ++i) {
    task([i] {
      ompl_call_request request = OMPL_CALL_INIT;
      request.function = g_function;
      request.arguments = &i;
      request.length = sizeof i;
      uint64_t reply = 0;
      require(ompl_tasklet_call(g_right, &request, &reply), "call");
      EXPECT(reply == i + 1 + g_right);
      return 0;
    });
  }
  return ompl_tasklet_wait();
}

// An error of a task ends those that depend on it, here and at the other rank, and no other.
int errors() {
  static int cell, other;
  static bool ran, independent;
  task([] { return -77; }, {out(&cell)});
  task(
      [] {
        ran = true;
        return 0;
      },
      {inout(&cell)});
  task(
      [] {
        ran = true;
        return 0;
      },
      {in(&cell), put(g_right, 3)});
  task(
      [] {
        independent = true;
        return 0;
      },
      {out(&other)});
  task(
      [] {
        ran = true;
        return 0;
      },
      {put_ready(g_left, 3)});
  const int code = ompl_tasklet_wait();
  EXPECT((code == -77 || code == OMPL_TASKLET_ERR_FAILED) && !ran && independent);
  EXPECT(ompl_tasklet_wait() == OMPL_OK);
  return 0;
}

// The same, before anybody waits at the other side: put_ready that failed ends the put.
int errors_of_receivers() {
  static int cell;
  static bool ran;
  task([] { return -78; }, {out(&cell)});
  task(
      [] {
        ran = true;
        return 0;
      },
      {in(&cell), put_ready(g_left, 4)});
  task(
      [] {
        ran = true;
        return 0;
      },
      {put(g_right, 4)});
  EXPECT(ompl_tasklet_wait() < 0 && !ran);
  return 0;
}

int exceptions() {
  static int cell;
  static bool ran;
  task([]() -> int { throw std::runtime_error("on purpose"); }, {out(&cell)}, 0, "thrower");
  task(
      [] {
        ran = true;
        return 0;
      },
      {in(&cell)});
  EXPECT(ompl_tasklet_wait() == OMPL_TASKLET_ERR_EXCEPTION && !ran);
  // The state of an exception under way moves with the task.
  for (int i = 0; i < 50; ++i) {
    task([i] {
      try {
        throw i;
      } catch (int caught) {
        ompl_tasklet_yield();
        try {
          throw;
        } catch (int again) {
          return caught == i && again == i ? 0 : -1;
        }
      }
    });
  }
  return ompl_tasklet_wait();
}

int tags() {
  ompl_tasklet_dependence beyond = put(g_right, kTags);
  ompl_tasklet_spec spec = OMPL_TASKLET_SPEC_INIT;
  spec.function = [](void*) { return 0; };
  spec.dependences = &beyond;
  spec.dependence_count = 1;
  EXPECT(ompl_tasklet_create(&spec) == OMPL_TASKLET_ERR_TAG);
  beyond = put(g_ranks, 0);
  EXPECT(ompl_tasklet_create(&spec) == OMPL_ERR_RANK);
  spec.function = nullptr;
  EXPECT(ompl_tasklet_create(&spec) == OMPL_ERR_ARG);
  // Two at once: one of them gets the put, the other the error.
  static std::atomic<int> ran;
  for (int i = 0; i < 2; ++i)
    task(
        [] {
          ++ran;
          return 0;
        },
        {put_ready(g_left, 5)});
  static int later;
  task([] { return ompl_tasklet_wait_flag(g_flags + 4); }, {out(&later)});
  task([] { return 0; }, {in(&later), put(g_right, 5)});
  while (true) {  // until both have asked
    std::array<char, 4096> text{};
    ompl_tasklet_report(text.data(), text.size());
    if (std::string(text.data()).find("tag 5, put_ready") != std::string::npos) break;
    ompl_tasklet_yield();
  }
  require(ompl_put_word(g_left, g_flags + 4), "put_word");
  const int code = ompl_tasklet_wait();
  EXPECT(code == OMPL_TASKLET_ERR_TAG && ran == 1);
  return 0;
}

// Many that wait at their beginning hold no stack; many that wait within have one each.
int many_waiting() {
  static std::atomic<uint32_t> ran;
  for (uint32_t tag = 0; tag < kTags; ++tag)
    task(
        [] {
          ++ran;
          return 0;
        },
        {put_ready(g_left, tag)});
  for (int i = 0; i < 300; ++i)
    task([] {
      ++ran;
      return ompl_tasklet_wait_flag(g_flags + 8);
    });
  static int last;
  task(
      [] {
        for (int i = 0; i < 300; ++i) require(ompl_put_word(g_right, g_flags + 8), "put_word");
        for (uint32_t tag = 0; tag < kTags; ++tag)
          require(task([] { return 0; }, {put(g_right, tag)}), "create");
        return 0;
      },
      {out(&last)}, -7);
  require(ompl_tasklet_wait(), "wait");
  EXPECT(ran == kTags + 300);
  return 0;
}

// A system call that blocks takes one thread; the others go on.
int blocked_thread() {
  if (ompl_tasklet_threads() == 1) return 0;
  static std::atomic<bool> free;
  task([] {
    while (!free) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  });
  for (int i = 0; i < 100; ++i)
    task([] {
      ompl_tasklet_yield();
      return 0;
    });
  task(
      [] {
        free = true;
        return 0;
      },
      {}, -7);
  return ompl_tasklet_wait();
}

int resumed() {
  static int calls;
  static ompl_tasklet* parked;
  task([] {
    parked = ompl_tasklet_self();
    if (++calls == 1) task([] { return ompl_tasklet_resume(parked); });
    if (calls == 2) ompl_tasklet_resume(parked);  // before it returns
    return calls < 3 ? int{OMPL_TASKLET_AGAIN} : 0;
  });
  require(ompl_tasklet_wait(), "wait");
  EXPECT(calls == 3);
  return 0;
}

struct Case {
  const char* name;
  int (*code)();
};
constexpr std::array kCases = {Case{"memory order", memory_order},
                               Case{"nested", nested},
                               Case{"parents wait", parents_wait},
                               Case{"priorities", priorities},
                               Case{"put", put_to_right},
                               Case{"get", get_from_right},
                               Case{"flags", flags},
                               Case{"collectives", collectives},
                               Case{"remote calls", remote_calls},
                               Case{"errors", errors},
                               Case{"errors of receivers", errors_of_receivers},
                               Case{"exceptions", exceptions},
                               Case{"tags", tags},
                               Case{"many waiting", many_waiting},
                               Case{"blocked thread", blocked_thread},
                               Case{"resumed", resumed}};

int first_task(void*) {
  for (const Case& one : kCases) {
    if (g_rank == 0) std::printf("%s\n", one.name), std::fflush(stdout);
    require(one.code(), one.name);
    require(ompl_tasklet_wait_all(), "wait_all");
  }
  return 0;
}

uint64_t add_one(void*, const ompl_call_context* call) {
  return *static_cast<const uint64_t*>(call->arguments) + 1 + g_rank;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  EXPECT(ompl_tasklet_init(nullptr) == OMPL_ERR_STATE && ompl_tasklet_wait() == OMPL_ERR_STATE);
  require(ompl_init(), "ompl_init");
  g_rank = static_cast<uint32_t>(ompl_rank());
  g_ranks = static_cast<uint32_t>(ompl_size());
  g_right = (g_rank + 1) % g_ranks;
  g_left = (g_rank + g_ranks - 1) % g_ranks;
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = static_cast<int32_t>(arguments.get("threads", 2));
  config.tags = kTags;
  config.stacks = static_cast<uint32_t>(arguments.get("stacks", config.stacks));
  config.stack_bytes = 1;
  EXPECT(ompl_tasklet_init(&config) == OMPL_ERR_ARG);
  config.stack_bytes = 65536;
  require(ompl_tasklet_init(&config), "ompl_tasklet_init");
  require(ompl_alloc(256, &g_data), "ompl_alloc");
  require(ompl_alloc(256, &g_flags), "ompl_alloc");
  g_own = static_cast<uint64_t*>(ompl_ptr(g_rank, g_data));
  require(ompl_call_register("add_one", add_one, nullptr, &g_function), "ompl_call_register");
  require(run(arguments, first_task, nullptr), "the tasks");
  require(ompl_tasklet_finalize(), "ompl_tasklet_finalize");
  require(ompl_finalize(), "ompl_finalize");
  return 0;
}
