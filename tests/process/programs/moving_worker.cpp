// SPDX-License-Identifier: BSD-3-Clause
// The program that rules.py runs as two ranks: moving_worker FILE. Rank 0 runs a task as a tasking runtime does, on a stack of its
// own: whenever the yield hook is called the task goes on in the other one of two threads. Every kind of call that may block is
// made so, on implicit contexts. Rank 1 does its part of a call only after the task has moved in it, which FILE tells, shared
// memory of the two. Meanwhile the threads that the task has left use their own contexts. Exit code 0 if all data are right, each
// call has moved, and what it counts stands in the context of the thread that it came back in; else 1 with a line on stderr.
#include <fcntl.h>
#include <omnipgas/coll.h>
#include <omnipgas/ompl_inline.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "process/programs/ranks_worker.hpp"

namespace {

constexpr std::size_t kLong = std::size_t{24} << 20;  // more than sockets hold
constexpr std::size_t kStack = std::size_t{1} << 20;
constexpr int64_t kLimit_ns = 200'000'000'000;

// What the two ranks tell each other beside the layer: numbers of calls.
struct Board {
  std::atomic<int> connected;  // threads of rank 0
  std::atomic<int> outside;    // rank 1 has left the layer, and waits for this call
  std::atomic<int> moved;      // the task has moved in it, or it has returned
  std::atomic<int> done;
};
Board* g_board;

uint64_t g_data, g_flags, g_words, g_beside;
uint64_t flag(int number) { return g_flags + 4 * static_cast<uint64_t>(number); }

// --- The tasking runtime of rank 0: one task, two threads

ucontext_t g_task;
std::array<ucontext_t, 2> g_threads;
std::atomic<int> g_turn{0};  // of the thread that runs the task; -1: it has ended
thread_local int t_thread = 0;
thread_local bool t_has_task = false;
std::atomic<uint64_t> g_sent_beside{0};
int g_call = 0;  // the task's
int g_moves = 0;

// Never inlined: a thread-local variable's address is another one after a move.
[[gnu::noinline]] int this_thread() { return t_thread; }
[[gnu::noinline]] bool has_task() { return t_has_task; }
[[gnu::noinline]] void move() {
  ucontext_t* const here = &g_threads[static_cast<std::size_t>(this_thread())];
  ::swapcontext(&g_task, here);
}

int hook(void*) {
  if (!has_task()) return 1;  // a thread waits for its own call
  ++g_moves;
  g_board->moved = g_call;
  move();
  return g_moves % 4;  // now and then the thread may sleep
}

void send_beside(int number) {
  const uint64_t one = 1;
  ok(ompl_put(address(&one), 1, g_beside + 8 + 8 * static_cast<uint64_t>(number), 8), "a put beside");
  ok(ompl_put_word(1, g_beside), "a signal beside");
  ++g_sent_beside;
}

// Rank 1 answers to no new connection while it is outside the layer, and a thread that waits for one takes no turn.
void connect(int number) {
  send_beside(number);
  ok(ompl_quiet(), "ompl_quiet");
  ++g_board->connected;
  while (g_board->connected < 2) ::usleep(100);
}

// Runs the task while it is this thread's turn, else uses the thread's own context.
void run_thread(int number) {
  t_thread = number;
  connect(number);
  while (g_turn >= 0) {
    if (g_turn != number) {
      send_beside(number);
      for (int i = 0; i < 1000 && g_turn >= 0 && g_turn != number; ++i) ::usleep(100);
      continue;
    }
    t_has_task = true;
    ::swapcontext(&g_threads[static_cast<std::size_t>(number)], &g_task);
    t_has_task = false;
    if (g_turn >= 0) g_turn = 1 - number;  // its registers are saved: the other one may have it
  }
}

void* second_thread(void*) {
  run_thread(1);
  int before = PTHREAD_CANCEL_DISABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
  expect(before == PTHREAD_CANCEL_ENABLE, "a thread that was left may not be cancelled any more");
  return nullptr;
}

// --- The calls: what the task does, and what rank 1 does afterwards

struct Call {
  const char* name;
  bool through_memory;  // blocks there too
  std::function<void()> task;
  std::function<void()> partner;
};

std::vector<unsigned char> pattern(std::size_t length, int seed) {
  std::vector<unsigned char> bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<unsigned char>(i * 31 + i / 251 + static_cast<std::size_t>(seed));
  return bytes;
}
void* own(uint64_t offset) { return ompl_ptr(rank(), offset); }
void expect_data(const void* memory, std::size_t length, int seed, const char* what) {
  expect(std::memcmp(memory, pattern(length, seed).data(), length) == 0, what);
}

// The put of a task may have been posted in another thread's context than its next call: each flushes its own.
void flush_in_both_threads() {
  for (int i = 0; i < 2; ++i) {
    ok(ompl_flush(), "ompl_flush");
    move();
  }
}

uint64_t waits_of_this_thread() {
  ompl_statistics now = OMPL_STATISTICS_INIT;
  ok(ompl_ctx_statistics(OMPL_CTX_DEFAULT, &now), "ompl_ctx_statistics");
  return now.waits;
}

// Counts where it returns: in the thread that the task has now.
void wait_task() {
  uint64_t before[2];
  for (int i = 0; i < 2; ++i) {
    before[this_thread()] = waits_of_this_thread();
    move();
  }
  ok(ompl_wait(flag(0)), "ompl_wait");
  const int here = this_thread();
  expect(waits_of_this_thread() == before[here] + 1,
         "the wait is not counted in this thread's context");
  move();
  expect(waits_of_this_thread() == before[this_thread()],
         "the wait is counted in the thread that was left");
}

void handles_task() {
  const auto source = pattern(kLong, 3);
  std::vector<unsigned char> read(kLong);
  std::array<ompl_handle, 3> handles{};
  std::array<uint64_t, 1> before{77};
  const auto posted = [](auto post) {
    int code = post();
    while (code >= OMPL_RETRY_FULL) {
      expect(ompl_progress(OMPL_CTX_DEFAULT, 1'000'000) >= 0, "ompl_progress");
      code = post();
    }
    expect(code == OMPL_OK || code == OMPL_PENDING, "a nonblocking call");
  };
  posted([&] {
    return ompl_put_nb(OMPL_CTX_DEFAULT, address(source.data()), 1, g_data + 2 * kLong, kLong, nullptr,
                       0, handles.data());
  });
  posted([&] {
    return ompl_get_nb(OMPL_CTX_DEFAULT, address(read.data()), 1, g_data + kLong, kLong, &handles[1]);
  });
  posted([&] {
    return ompl_atomic64_nb(OMPL_CTX_DEFAULT, 1, g_words, OMPL_ATOMIC_ADD, 5, 0, before.data(),
                            &handles[2]);
  });
  std::size_t which = 9;
  ok(ompl_handle_wait_any(OMPL_CTX_DEFAULT, handles.data(), 3, &which, kLimit_ns),
     "ompl_handle_wait_any");
  ok(ompl_handle_wait(OMPL_CTX_DEFAULT, &handles[2], kLimit_ns), "ompl_handle_wait");
  ok(ompl_handle_wait_all(OMPL_CTX_DEFAULT, handles.data(), 3, kLimit_ns), "ompl_handle_wait_all");
  expect(before[0] == 40, "what an atomic found");
  expect_data(read.data(), kLong, 4, "what was got by a handle");
  ok(ompl_put_word(1, flag(1)), "ompl_put_word");
}

void reduce() {
  ompl_team* world = nullptr;
  ok(ompl_team_world(&world), "ompl_team_world");
  int64_t sum = 0;
  const int64_t mine = rank() + 1;
  ok(ompl_allreduce(world, &mine, &sum, 1, OMPL_INT64, OMPL_SUM, nullptr, nullptr), "ompl_allreduce");
  expect(sum == 3, "a sum");
}

void allocate_and_free() {
  const uint64_t offset = allocate(4096);
  ok(ompl_free(offset), "ompl_free");
}

std::vector<Call> calls() {
  const auto nothing = [] {};
  return {
      {"ompl_wait", true, wait_task, [] { ok(ompl_put_word(0, flag(0)), "a signal"); }},
      {"ompl_ctx_wait", true,
       [] { ok(ompl_ctx_wait(OMPL_CTX_DEFAULT, flag(0), kLimit_ns), "ompl_ctx_wait"); },
       [] { ok(ompl_put_word(0, flag(0)), "a signal"); }},
      {"ompl_ctx_wait_until", true,
       [] {
         const ompl_condition condition{
             .flag_addr = g_words + 8, .value = 7, .comparison = OMPL_EQ, .width = 64};
         ok(ompl_ctx_wait_until(OMPL_CTX_DEFAULT, &condition, kLimit_ns), "ompl_ctx_wait_until");
       },
       [] {
         const ompl_signal seven{.flag_addr = g_words + 8, .value = 7, .op = OMPL_SET64};
         ok(ompl_ctx_signal(OMPL_CTX_DEFAULT, 0, &seven, kLimit_ns), "ompl_ctx_signal");
       }},
      {"ompl_ctx_wait_any", true,
       [] {
         std::array<ompl_condition, 3> conditions{};
         for (int i = 0; i < 3; ++i)
           conditions[static_cast<std::size_t>(i)] = {
               .flag_addr = flag(i), .value = 0, .comparison = OMPL_TAKE, .width = 32};
         std::size_t which = 9;
         ok(ompl_ctx_wait_any(OMPL_CTX_DEFAULT, conditions.data(), 3, &which, kLimit_ns),
            "ompl_ctx_wait_any");
         expect(which == 2, "which flag");
       },
       [] { ok(ompl_put_word(0, flag(2)), "a signal"); }},
      {"ompl_put", false,
       [] {
         const auto source = pattern(kLong, 1);
         ok(ompl_put(address(source.data()), 1, g_data, kLong), "ompl_put");
         flush_in_both_threads();
         ok(ompl_put_word(1, flag(1)), "ompl_put_word");
       },
       [] {
         ok(ompl_wait(flag(1)), "the wait for the put");
         expect_data(own(g_data), kLong, 1, "what was put");
       }},
      {"ompl_get", false,
       [] {
         std::vector<unsigned char> read(kLong);
         ok(ompl_get(address(read.data()), 1, g_data, kLong), "ompl_get");
         expect_data(read.data(), kLong, 1, "what was got");
       },
       nothing},
      {"ompl_flush", false,
       [] {
         const uint64_t word = 11;
         ok(ompl_put(address(&word), 1, g_words + 16, 8), "ompl_put");
         ok(ompl_flush(), "ompl_flush");
         ok(ompl_put_word(1, flag(1)), "ompl_put_word");
       },
       [] {
         ok(ompl_wait(flag(1)), "the wait for the flush");
         expect(*static_cast<uint64_t*>(own(g_words + 16)) == 11, "what was flushed");
       }},
      {"ompl_quiet", false,
       [] {
         ok(ompl_put_word(1, flag(2)), "ompl_put_word");
         ok(ompl_quiet(), "ompl_quiet");
         ok(ompl_put_word(1, flag(1)), "ompl_put_word");
       },
       [] {
         ok(ompl_wait(flag(1)), "the wait behind the quiet");
         expect(ompl_poll(flag(2)) == 1, "a signal that was quieted is not there");
         ok(ompl_wait(flag(2)), "the wait for it");
       }},
      {"handles", false, handles_task,
       [] {
         ok(ompl_wait(flag(1)), "the wait for the handles");
         expect_data(own(g_data + 2 * kLong), kLong, 3, "what was put by a handle");
       }},
      {"ompl_fetch_add64", false,
       [] {
         uint64_t before = 0;
         ok(ompl_fetch_add64(1, g_words, 1, &before), "ompl_fetch_add64");
         expect(before == 45, "what a fetch found");
       },
       nothing},
      {"ompl_barrier", true, [] { ok(ompl_barrier(), "ompl_barrier"); },
       [] { ok(ompl_barrier(), "ompl_barrier"); }},
      {"ompl_alloc", true, allocate_and_free, allocate_and_free},
      {"ompl_allreduce", true, reduce, reduce},
  };
}

bool through_memory() { return ompl_node_size() == 2; }

void task() {
  for (const Call& call : calls()) {
    ++g_call;
    while (g_board->outside < g_call) ::usleep(100);
    const int before = g_moves;
    call.task();
    const bool moved = g_moves > before;
    expect(moved || (through_memory() && !call.through_memory),
           (std::string("the task did not move in ") + call.name).c_str());
    g_board->moved = g_call;
    g_board->done = g_call;
  }
  g_turn = -1;
  move();
}

// Outside the layer until the task has moved; then inside until its call has returned.
void be_partner() {
  while (g_board->connected < 2) expect(ompl_progress(OMPL_CTX_DEFAULT, 0) >= 0, "ompl_progress");
  int number = 0;
  for (const Call& call : calls()) {
    g_board->outside = ++number;
    while (g_board->moved < number) ::usleep(100);
    call.partner();
    while (g_board->done < number) expect(ompl_progress(OMPL_CTX_DEFAULT, 0) >= 0, "ompl_progress");
  }
}

void run_task() {
  static std::vector<std::byte> stack(kStack);
  ok(ompl_set_yield(hook, nullptr), "ompl_set_yield");
  ::getcontext(&g_task);
  g_task.uc_stack.ss_sp = stack.data();
  g_task.uc_stack.ss_size = stack.size();
  g_task.uc_link = nullptr;
  ::makecontext(&g_task, task, 0);
  pthread_t second{};
  expect(pthread_create(&second, nullptr, second_thread, nullptr) == 0, "no thread");
  run_thread(0);
  pthread_join(second, nullptr);
  ok(ompl_set_yield(nullptr, nullptr), "ompl_set_yield");
}

}  // namespace

int main(int argc, char** argv) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 77;
#endif
  expect(argc > 1, "which file?");
  const int file = ::open(argv[1], O_RDWR | O_CLOEXEC);
  void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  expect(file >= 0 && memory != MAP_FAILED, "the file cannot be mapped");
  g_board = static_cast<Board*>(memory);
  ok(ompl_init(), "ompl_init");
  g_data = allocate(3 * kLong);
  g_flags = allocate(256);
  g_words = allocate(256);
  g_beside = allocate(256);
  *static_cast<uint64_t*>(own(g_words)) = 40;
  std::memcpy(own(g_data + kLong), pattern(kLong, 4).data(), kLong);
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() == 0) {
    run_task();
    const uint64_t sent = g_sent_beside;
    ok(ompl_quiet(), "ompl_quiet");
    ok(ompl_put(address(&sent), 1, g_words + 32, 8), "ompl_put");
  } else {
    be_partner();
  }
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() == 1) {
    const uint64_t sent = *static_cast<uint64_t*>(own(g_words + 32));
    for (uint64_t i = 0; i < sent; ++i)
      ok(ompl_ctx_wait(OMPL_CTX_DEFAULT, g_beside, kLimit_ns), "a signal beside");
    expect(sent > 0 && ompl_poll(g_beside) == 0, "the number of signals beside");
  }
  ok(ompl_finalize(), "ompl_finalize");
  return 0;
}
