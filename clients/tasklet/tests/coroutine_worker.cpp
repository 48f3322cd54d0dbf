// SPDX-License-Identifier: BSD-3-Clause
// Tasks that are coroutines: flags, handles, puts, gets, remote calls, parts, errors; many that wait hold no stack.
//   coroutine_worker threads=T openmp=0|1
#include <array>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "worker.hpp"

namespace {

namespace tl = omnipgas::tasklet;
using tl::Coroutine;

uint32_t g_rank, g_ranks, g_right, g_function;
uint64_t g_data, g_flags;
uint64_t* g_own;
std::atomic<int> g_alive;

struct Counted {
  Counted() { ++g_alive; }
  ~Counted() { --g_alive; }
  Counted(const Counted&) = delete;
};

constexpr int kRounds = 50;

Coroutine token(bool first) {  // goes round the ranks
  const Counted counted;
  for (int round = 0; round < kRounds; ++round) {
    if (!first || round != 0) co_await tl::flag(g_flags);
    const uint64_t value = round + 1;
    co_await tl::put(reinterpret_cast<uint64_t>(&value), g_right, g_data, 8);
    omnipgas::check(ompl_ctx_put_word(ompl_tasklet_context(), g_right, g_flags, OMPL_FOREVER));
  }
  if (first) co_await tl::flag(g_flags);
  co_return 0;
}

Coroutine part(uint64_t* sum, uint64_t value) {
  const Counted counted;
  uint64_t seen = 0;
  co_await tl::get(reinterpret_cast<uint64_t>(&seen), g_right, g_data + 8, 8);
  EXPECT(seen == 1000 + g_right);
  *sum += value;
  co_return 7;
}

Coroutine whole(uint64_t* sum) {
  for (uint64_t i = 0; i < 10; ++i) EXPECT(co_await part(sum, i) == 7);
  ompl_handle handle = OMPL_HANDLE_INIT;
  static std::vector<char> data(1 << 20);
  const int code = ompl_put_nb(ompl_tasklet_context(), reinterpret_cast<uint64_t>(data.data()), g_right,
                               g_data + 256, data.size(), nullptr, 0, &handle);
  EXPECT(code >= 0);
  if (code == OMPL_PENDING) co_await tl::handle(handle);
  co_return 0;
}

Coroutine calls() {
  for (uint64_t i = 0; i < 10; ++i) {
    ompl_call_request request = OMPL_CALL_INIT;
    request.function = g_function;
    request.arguments = &i;
    request.length = sizeof i;
    uint64_t reply = 0;
    co_await tl::call(g_right, request, &reply);
    EXPECT(reply == i + 1);
  }
  co_return 0;
}

Coroutine thrower() {
  const Counted counted;
  co_await tl::flag(g_flags + 8);
  throw std::runtime_error("on purpose");
}

Coroutine caught_from_part() {
  try {
    co_await thrower();
  } catch (const std::runtime_error&) {
    co_return -55;
  }
  co_return 0;
}

Coroutine bad_flag() {
  co_await tl::flag(1);  // not aligned
  co_return 0;
}

Coroutine waits_for(uint64_t flag) {
  const Counted counted;
  co_await tl::flag(flag);
  co_return 0;
}

int errors() {
  static int cell;
  require(tl::create(bad_flag()), "create");
  const int code = ompl_tasklet_wait();
  EXPECT(code == OMPL_ERR_ALIGN || code == OMPL_ERR_OFFSET);
  for (const bool catches : {false, true}) {
    const std::array writes = {tl::out(&cell)};
    require(tl::create(catches ? caught_from_part() : thrower(), writes), "create");
    require(tl::create(waits_for(g_flags + 12), writes), "create");  // never runs, and is destroyed
    require(ompl_put_word(g_rank, g_flags + 8), "put_word");
    EXPECT(ompl_tasklet_wait() == (catches ? -55 : int{OMPL_TASKLET_ERR_EXCEPTION}));
  }
  return 0;
}

int many() {
  constexpr int kMany = 20000;
  for (int i = 0; i < kMany; ++i) require(tl::create(waits_for(g_flags + 16)), "create");
  require(task(
              [] {
                for (int i = 0; i < kMany; ++i)
                  require(ompl_put_word(g_right, g_flags + 16), "put_word");
                return 0;
              },
              {}, -7),
          "create");
  return ompl_tasklet_wait();
}

int first_task(void*) {
  static uint64_t sum;
  g_own[1] = 1000 + g_rank;
  require(ompl_tasklet_wait_all(), "wait_all");
  require(tl::create(token(g_rank == 0)), "create");
  require(tl::create(whole(&sum)), "create");
  require(tl::create(calls()), "create");
  std::vector<int> numbers(100, 3);  // a callable that is not trivial
  static std::atomic<int> total;
  require(tl::create([numbers] {
            for (const int n : numbers) total += n;
            return 0;
          }),
          "create");
  require(ompl_tasklet_wait(), "coroutines");
  EXPECT(sum == 45 && total == 300 && g_own[0] == kRounds);
  require(ompl_tasklet_wait_all(), "wait_all");
  require(errors(), "errors");
  require(many(), "many");
  EXPECT(g_alive == 0);
  return ompl_tasklet_wait_all();
}

uint64_t add_one(void*, const ompl_call_context* call) {
  return *static_cast<const uint64_t*>(call->arguments) + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  require(ompl_init(), "ompl_init");
  g_rank = static_cast<uint32_t>(ompl_rank());
  g_ranks = static_cast<uint32_t>(ompl_size());
  g_right = (g_rank + 1) % g_ranks;
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = static_cast<int32_t>(arguments.get("threads", 2));
  config.stacks = 1;  // as many as the threads need
  require(ompl_tasklet_init(&config), "ompl_tasklet_init");
  require(ompl_alloc(2 << 20, &g_data), "ompl_alloc");
  require(ompl_alloc(256, &g_flags), "ompl_alloc");
  g_own = static_cast<uint64_t*>(ompl_ptr(g_rank, g_data));
  require(ompl_call_register("add_one", add_one, nullptr, &g_function), "ompl_call_register");
  require(run(arguments, first_task, nullptr), "the tasks");
  require(ompl_tasklet_finalize(), "ompl_tasklet_finalize");
  require(ompl_finalize(), "ompl_finalize");
  return 0;
}
