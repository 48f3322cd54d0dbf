// SPDX-License-Identifier: BSD-3-Clause
// The program that rules.py runs as ranks, for what threads do beside the library: thread_worker RULE. Threads end late, are
// cancelled, end inside a hook; callbacks throw; there is no memory. Exit code 0 if the rule holds, else 1 with a line on stderr.
#include <omnipgas/ompl_inline.h>
#include <pthread.h>

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "process/programs/ranks_worker.hpp"

namespace {

constexpr int64_t kLong_ns = 200'000'000'000;  // for what must happen at all

// Runs `body` in a thread whose stack and thread-local memory are unmapped when it has ended; its result.
void* in_thread(void* (*body)(void*), void* argument, const std::function<void(pthread_t)>& meanwhile) {
  pthread_attr_t large;
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, std::size_t{128} << 20);  // more than the C library keeps
  pthread_t thread{};
  expect(pthread_create(&thread, &large, body, argument) == 0, "no thread");
  pthread_attr_destroy(&large);
  meanwhile(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  return result;
}

// Both ranks signal each other and wait for it, several times.
void play(uint64_t flag) {
  for (int i = 0; i < 20; ++i) {
    ok(ompl_put_word(next(), flag), "a signal to the other rank");
    ok(ompl_ctx_wait(OMPL_CTX_DEFAULT, flag, kLong_ns), "the wait for the other rank");
  }
}

// --- The end of threads

struct Late {
  uint64_t data = 0;
  uint64_t flag = 0;
  ~Late() {
    if (flag == 0) return;
    const uint64_t word = 7;
    ok(ompl_put(address(&word), next(), data, 8), "a put at the very end of a thread");
    expect(ompl_put(address(&word), 99, data, 8) == OMPL_ERR_RANK,
           "an error at the very end of a thread");
    expect(std::strlen(ompl_error_detail()) > 30, "the detail of an error at the very end of a thread");
    ok(ompl_put_word(next(), flag), "a signal at the very end of a thread");
  }
};
thread_local Late t_late;

struct Places {
  uint64_t data;
  uint64_t flag;
};

// Thread-local objects made before the implicit context use the library last, through windows too; nothing of the thread is
// touched afterwards, as when windows are closed.
void late_rule() {
  Places places{.data = allocate(64), .flag = allocate(64)};
  for (const bool opens_windows : {false, true}) {
    const uint64_t other = allocate(64);
    in_thread(
        [](void* argument) -> void* {
          const auto& at = *static_cast<Places*>(argument);
          t_late.data = at.data;
          t_late.flag = at.flag;
          ok(ompl_flush(), "ompl_flush");
          return nullptr;
        },
        &places, [](pthread_t) {});
    if (opens_windows) {
      in_thread(
          [](void* argument) -> void* {
            const auto& at = *static_cast<Places*>(argument);
            t_late.data = at.data;
            t_late.flag = at.flag;
            const uint64_t word = 7;
            ok(ompl_put(address(&word), next(), at.data, 8), "a put that opens a window");
            ok(ompl_put_word(next(), at.flag), "a signal that opens a window");
            return nullptr;
          },
          &places, [](pthread_t) {});
    }
    for (int i = 0; i < (opens_windows ? 3 : 1); ++i)
      ok(ompl_ctx_wait(OMPL_CTX_DEFAULT, places.flag, kLong_ns), "the wait for an ended thread");
    ok(ompl_free(other), "ompl_free, which closes windows");
  }
}

// Destructors of thread-specific data run after those of thread-local objects, in rounds.
pthread_key_t g_key;
std::atomic<int> g_told{0};
void late_rule_of_data() {
  static Places places{.data = allocate(64), .flag = allocate(64)};
  pthread_key_create(&g_key, [](void* value) {
    const int code = ompl_put_word(next(), places.flag);
    expect(code == OMPL_OK ||
               (code == OMPL_ERR_STATE && std::strstr(ompl_error_detail(), "ended") != nullptr),
           "a signal of thread-specific data");
    if (code == OMPL_OK) ++g_told;
    pthread_setspecific(g_key, value);  // another round, as long as there are any
  });
  in_thread(
      [](void*) -> void* {
        pthread_setspecific(g_key, &g_key);
        ok(ompl_flush(), "ompl_flush");
        return nullptr;
      },
      nullptr, [](pthread_t) {});
  expect(g_told > 0, "thread-specific data could not use the library");
  uint64_t told = static_cast<uint64_t>(g_told);
  const uint64_t count = allocate(8);
  ok(ompl_put(address(&told), next(), count, 8), "ompl_put");
  ok(ompl_barrier(), "ompl_barrier");
  told = *static_cast<uint64_t*>(ompl_ptr(rank(), count));
  for (uint64_t i = 0; i < told; ++i)
    ok(ompl_ctx_wait(OMPL_CTX_DEFAULT, places.flag, kLong_ns), "the wait for an ended thread");
  ok(ompl_free(count), "ompl_free");
  pthread_key_delete(g_key);
}

// --- Cancellation: a wait is where it happens, and the rank goes on.
void cancel_rule() {
  static const uint64_t flag = allocate(256);
  const uint64_t never = flag + 64;
  static std::atomic<uint64_t> waits_for{0};
  waits_for = never;
  for (int i = 0; i < 20; ++i) {
    const bool timed = i % 2 == 0;
    void* const end = in_thread(
        [](void* argument) -> void* {
          const int64_t limit = argument != nullptr ? 1'000'000 : OMPL_FOREVER;
          const uint64_t word = 1;
          for (;;) {
            ompl_put(address(&word), next(), waits_for + 128 - 64, 8);
            ompl_quiet();
            ompl_ctx_wait(OMPL_CTX_DEFAULT, waits_for, limit);
          }
        },
        timed ? &waits_for : nullptr,
        [&](pthread_t thread) {
          if (i % 4 < 2) play(flag);  // meanwhile it falls asleep
          pthread_cancel(thread);
        });
    if (i % 4 >= 2) play(flag);
    expect(end == PTHREAD_CANCELED, "a waiting thread was not cancelled");
  }
  ok(ompl_barrier(), "the barrier");
  play(flag);
}

// --- A hook and a callback that end their thread
thread_local bool t_leaves = false;
void exit_rule() {
  static const uint64_t flag = allocate(256);
  const auto hook = [](void*) {
    if (t_leaves) pthread_exit(&t_leaves);
    return 0;
  };
  ok(ompl_set_yield(hook, nullptr), "ompl_set_yield");
  for (int i = 0; i < 3; ++i) {
    in_thread(
        [](void*) -> void* {
          t_leaves = true;
          ompl_wait(flag + 64);
          broken("a hook that ends its thread came back");
        },
        nullptr, [](pthread_t) {});
  }
  play(flag);
  ok(ompl_set_yield(nullptr, nullptr), "ompl_set_yield");

  static ompl_watch watches[3];
  static std::atomic<int> called{0};
  const auto leave = [](void*, int) {
    ++called;
    if (t_leaves) pthread_exit(nullptr);
  };
  for (ompl_watch& watch : watches) {
    const ompl_condition always{
        .flag_addr = flag + 128, .value = 0, .comparison = OMPL_EQ, .width = 32};
    ok(ompl_flag_then(&watch, &always, leave, nullptr), "ompl_flag_then");
  }
  in_thread(
      [](void*) -> void* {
        t_leaves = true;
        ompl_progress(OMPL_CTX_DEFAULT, kLong_ns);
        broken("a callback that ends its thread came back");
      },
      nullptr, [](pthread_t) {});
  while (called < 3) expect(ompl_progress(OMPL_CTX_DEFAULT, kLong_ns) >= 0, "ompl_progress");
  expect(called == 3, "a callback was called twice");
}

// --- Exceptions of a callback and of the hook
void throw_rule() {
  const uint64_t flag = allocate(256);
  static ompl_watch watches[3];
  static int called[3];
  static int numbers[3] = {0, 1, 2};
  const auto callback = [](void* argument, int) {
    const int number = *static_cast<int*>(argument);
    ++called[number];
    if (number == 1) throw std::runtime_error("the task failed");
    if (number == 2) throw 5;
  };
  for (int i = 0; i < 3; ++i) {
    const ompl_condition always{
        .flag_addr = flag + 128, .value = 0, .comparison = OMPL_EQ, .width = 32};
    ok(ompl_flag_then(&watches[i], &always, callback, &numbers[i]), "ompl_flag_then");
  }
  expect(ompl_progress(OMPL_CTX_DEFAULT, 0) == OMPL_ERR_SYSTEM,
         "an exception of a callback is an error");
  expect(std::strstr(ompl_error_detail(), "callback") != nullptr,
         "the error does not say where it comes from");
  expect(called[0] == 1 && called[1] == 1 && called[2] == 1, "a callback that was due was not called");
  ok(ompl_set_yield([](void*) -> int { throw std::runtime_error("of the hook"); }, nullptr),
     "ompl_set_yield");
  expect(ompl_wait(flag + 64) == OMPL_ERR_SYSTEM, "an exception of the hook is an error");
  ok(ompl_set_yield(nullptr, nullptr), "ompl_set_yield");
  play(flag);
}

// --- No memory
thread_local bool t_poor = false;
template <class Call>
auto without_memory(Call call) {
  t_poor = true;
  const auto result = call();
  t_poor = false;
  return result;
}

bool g_finalized = false;
void memory_rule() {
  static uint64_t data = allocate(64);
  static uint64_t word = 0;
  ok(ompl_put(address(&word), next(), data, 8), "ompl_put");
  std::thread([] {
    expect(without_memory([] { return ompl_rank(); }) == OMPL_ERR_MEMORY, "a thread's first call");
    expect(without_memory([] { return ompl_ptr(0, data); }) == nullptr, "a thread's first ompl_ptr");
    expect(without_memory([] { return ompl_put(address(&word), next(), data, 8); }) == OMPL_ERR_MEMORY,
           "a thread's first put");
    ok(ompl_put(address(&word), next(), data, 8), "the same with memory");
  }).join();
  for (int i = 0; i < 2; ++i) {  // one context is left by the thread
    ompl_ctx* context = nullptr;
    const int code = without_memory([&] { return ompl_ctx_create(&context); });
    expect(code == OMPL_OK || code == OMPL_ERR_MEMORY, "ompl_ctx_create");
    expect(i == 0 || code == OMPL_ERR_MEMORY, "the second ompl_ctx_create");
  }
  expect(without_memory([] { return ompl_put(address(&word), 99, data, 8); }) == OMPL_ERR_RANK,
         "an error without memory for its words");
  expect(std::strstr(ompl_error_detail(), "memory") != nullptr, "what is recorded then");

  // One rank has none: all are told, nobody waits for ever, and offsets stay the same everywhere.
  uint64_t offset = 0;
  const auto alloc = [&] { return ompl_alloc(1000, &offset); };
  for (uint32_t poor = 0; poor < static_cast<uint32_t>(ompl_size()); ++poor) {
    const int code = rank() == poor ? without_memory(alloc) : alloc();
    expect(code == OMPL_ERR_MEMORY, "ompl_alloc where one rank has no memory");
  }
  offset = allocate(1000);
  ok(ompl_put(address(&offset), next(), data, 8), "ompl_put");
  ok(ompl_barrier(), "ompl_barrier");
  expect(*static_cast<uint64_t*>(ompl_ptr(rank(), data)) == offset, "the ranks have different offsets");
  if (ompl_size() > 1) return;  // to take leave of a launcher needs memory
  ok(ompl_barrier(), "ompl_barrier");
  std::thread([] {
    ok(without_memory(ompl_finalize), "ompl_finalize of a thread that never called before");
  }).join();
  g_finalized = true;
}

// --- Operations compiled into the caller

// Two threads of each rank add to a number of the next rank, one by the operation that ompl_inline.h expands, one by the
// library's. Every value before is a multiple of what was added, and no addition is lost.
void additions_rule() {
  constexpr uint32_t kEach = 10'000;
  constexpr double kNumber = 0.25;
  const uint64_t sum = allocate(8);
  const auto bits = std::bit_cast<uint64_t>(kNumber);
  const auto add = [&](int op) {
    for (uint32_t i = 0; i < kEach; ++i) {
      uint64_t before = 0;
      ok(op == 0 ? ompl_ctx_atomic64(OMPL_CTX_DEFAULT, next(), sum, OMPL_ATOMIC_FADD, bits, 0, &before,
                                     OMPL_FOREVER)
                 : ompl_ctx_atomic64(OMPL_CTX_DEFAULT, next(), sum, op, bits, 0, &before, OMPL_FOREVER),
         "an addition of doubles");
      const auto steps = std::bit_cast<double>(before) / kNumber;
      expect(steps >= i && steps < 2 * kEach && steps == static_cast<uint32_t>(steps),
             "the value before an addition");
    }
  };
  std::thread other([&] { add(OMPL_ATOMIC_FADD); });
  add(0);
  other.join();
  ok(ompl_barrier(), "ompl_barrier");
  double total = 0;
  std::memcpy(&total, ompl_ptr(rank(), sum), sizeof total);
  expect(total == 2 * kEach * kNumber, "an addition was lost");
}

// What is put after a fence is seen after the words before it, by the fence that ompl_inline.h expands and by the library's.
// Wherever the quick case does not hold the library answers.
void fences_rule() {
  constexpr uint64_t kLast = 20'000;
  constexpr std::size_t kWords = 40;
  const uint64_t words = allocate(kWords * sizeof(uint64_t));
  const uint64_t number = allocate(sizeof number);
  const auto at = [](uint64_t offset) {
    return std::atomic_ref(*static_cast<uint64_t*>(ompl_ptr(rank(), offset)))
        .load(std::memory_order_acquire);
  };
  const auto library = &ompl_ctx_fence;
  uint64_t block[kWords];
  for (uint64_t i = 1; rank() % 2 == 0 && i <= kLast; ++i) {
    for (uint64_t& word : block) word = i;
    ok(ompl_put(address(block), next(), words, sizeof block), "ompl_put");
    ok(i % 2 == 0 ? library(OMPL_CTX_DEFAULT, next(), OMPL_FOREVER)
                  : ompl_ctx_fence(OMPL_CTX_DEFAULT, next(), OMPL_FOREVER),
       "a fence");
    ok(ompl_put(address(&i), next(), number, sizeof i), "ompl_put");
  }
  for (uint64_t seen = 0; rank() % 2 == 1 && seen < kLast; ompl_progress(OMPL_CTX_DEFAULT, 0)) {
    seen = at(number);
    for (std::size_t i = 0; i < kWords; ++i)
      expect(at(words + i * sizeof(uint64_t)) >= seen, "a number overtook the words before the fence");
  }
  ok(ompl_barrier(), "ompl_barrier");
  ok(ompl_free(number), "ompl_free");
  ok(ompl_ctx_fence(OMPL_CTX_DEFAULT, next(), OMPL_FOREVER), "a fence without a window");
  ok(ompl_ctx_fence(OMPL_CTX_DEFAULT, OMPL_ALL_RANKS, OMPL_FOREVER), "a fence of all ranks");
  expect(ompl_ctx_fence(OMPL_CTX_DEFAULT, 99, OMPL_FOREVER) == OMPL_ERR_RANK, "a fence of no rank");
  ok(ompl_put(address(block), next(), words, sizeof block), "ompl_put");  // opens a window
  ok(ompl_finalize(), "ompl_finalize");
  g_finalized = true;
  expect(ompl_ctx_fence(OMPL_CTX_DEFAULT, next(), OMPL_FOREVER) == OMPL_ERR_STATE,
         "a fence after ompl_finalize");
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = t_poor ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto line = static_cast<std::size_t>(alignment);
  void* const memory = t_poor ? nullptr : std::aligned_alloc(line, (bytes + line - 1) / line * line);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> rules{
      {"late", late_rule},           {"late-data", late_rule_of_data},
      {"cancel", cancel_rule},       {"exit", exit_rule},
      {"throw", throw_rule},         {"memory", memory_rule},
      {"additions", additions_rule}, {"fences", fences_rule}};
  const auto rule = rules.find(argc > 1 ? argv[1] : "");
  expect(rule != rules.end(), "no such rule");
  ok(ompl_init(), "ompl_init");
  rule->second();
  if (!g_finalized) ok(ompl_finalize(), "ompl_finalize");
  return 0;
}
