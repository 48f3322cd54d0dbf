// SPDX-License-Identifier: BSD-3-Clause
// The program that progress.py runs as ranks, with OMPL_PROGRESS=thread: progress_worker TASK. Exit code 0: done; 3: a rank's death was
// reported as documented; other codes as a task says; 1: a failure, with a line on stderr.
#include <omnipgas/ompl_calls.h>
#include <omnipgas/ompl_ext.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ranks_worker.hpp"

namespace {

constexpr int kPeerDied = 3;
constexpr int kExits = 5;
constexpr std::size_t kLong = std::size_t{1} << 20;

struct Job {
  uint64_t data, words, done;
  uint32_t function;
  std::vector<unsigned char> pattern;
} g_job;

// Outside the library until the word in the own memory is not 0.
void compute_until_told() {
  const auto* const word = static_cast<const uint32_t*>(ompl_ptr(rank(), g_job.done));
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) ::sched_yield();
}

uint64_t twice(void* /*user*/, const ompl_call_context* call) {
  uint64_t value = 0;
  std::memcpy(&value, call->arguments, sizeof value);
  if (value == kExits)
    std::exit(kExits);  // NOLINT(concurrency-mt-unsafe): the thread that does so is what is tested
  return 2 * value;
}

uint64_t call(uint32_t target, uint64_t value) {
  ompl_call_request request = OMPL_CALL_INIT;
  request.function = g_job.function;
  request.arguments = &value;
  request.length = sizeof value;
  uint64_t reply = 0;
  const int code = ompl_call(OMPL_CTX_DEFAULT, target, &request, &reply, OMPL_FOREVER);
  if (code == OMPL_ERR_PEER) std::_Exit(kPeerDied);
  ok(code, "ompl_call");
  return reply;
}

void act(uint32_t target, uint64_t round) {
  ok(ompl_put(address(g_job.pattern.data()), target, g_job.data, kLong), "ompl_put");
  ok(ompl_ctx_quiet_rank(OMPL_CTX_DEFAULT, target, OMPL_FOREVER), "ompl_ctx_quiet_rank");
  std::vector<unsigned char> back(kLong);
  ok(ompl_get(address(back.data()), target, g_job.data, kLong), "ompl_get");
  expect(back == g_job.pattern, "what was put did not come back");
  uint64_t before = 0;
  ok(ompl_fetch_add64(target, g_job.words, 1, &before), "ompl_fetch_add64");
  expect(before == round, "an addition was lost");
  ok(ompl_put_word(target, g_job.words + 8), "ompl_put_word");
  expect(call(target, round) == 2 * round || round == kExits, "a call has another reply");
}

void tell_all() {
  for (uint32_t target = 1; target < static_cast<uint32_t>(ompl_size()); ++target)
    ok(ompl_put_word(target, g_job.done), "ompl_put_word");
  ok(ompl_quiet(), "ompl_quiet");
}

// serve: everything that a rank can be asked for, while it computes.
void serve() {
  constexpr uint64_t kRounds = 5;
  if (rank() == 0) {
    for (uint64_t round = 0; round < kRounds; ++round)
      for (uint32_t target = 1; target < static_cast<uint32_t>(ompl_size()); ++target)
        act(target, round);
    tell_all();
    return;
  }
  compute_until_told();
  const auto* const word = static_cast<const uint32_t*>(ompl_ptr(rank(), g_job.words + 8));
  expect(__atomic_load_n(word, __ATOMIC_ACQUIRE) == kRounds, "a signal was lost");
}

// death: rank 2 dies; rank 0 is told, and goes on with rank 1, which computes.
void death() {
  if (rank() == 2) std::raise(SIGKILL);
  if (rank() == 1) return compute_until_told();
  for (std::size_t failed = 0; failed == 0;) {
    ompl_progress(OMPL_CTX_DEFAULT, 1'000'000);
    ok(ompl_failed_ranks(nullptr, 0, &failed), "ompl_failed_ranks");
  }
  ompl_failure_ack();
  act(1, 0);
  ok(ompl_put_word(1, g_job.done), "ompl_put_word");
}

// exit: rank 1 ends by exit() while it is asked for things.
void exit_early() {
  if (rank() == 1) {
    const auto* const word = static_cast<const uint32_t*>(ompl_ptr(1, g_job.words + 8));
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < 3) ::sched_yield();
    std::exit(kExits);
  }
  for (uint64_t value = 100;; ++value) {
    const int code = ompl_put_word(1, g_job.words + 8);
    if (code == OMPL_ERR_PEER || code == OMPL_ERR_LINK) std::_Exit(kPeerDied);
    ok(code, "ompl_put_word");
    call(1, value);
  }
}

// exit-in-function: the same by the progress thread.
void exit_in_function() {
  if (rank() == 1) return compute_until_told();
  call(1, kExits);
}

// fork: the child has no progress thread, and may end by exit().
void fork_meanwhile() {
  if (rank() == 0) {
    for (uint64_t round = 0; round < 5; ++round) act(1, round);
    return tell_all();
  }
  const pid_t child = ::fork();
  if (child == 0) {
    uint64_t value = 0;
    std::exit(ompl_fetch64(0, g_job.words, &value) == OMPL_ERR_STATE &&
                      ompl_progress_thread() == OMPL_ERR_STATE
                  ? 0
                  : 1);
  }
  int status = -1;
  expect(::waitpid(child, &status, 0) == child && status == 0, "the child of the fork ended badly");
  compute_until_told();
}

// job-exit: one rank ends the job in order while the others compute.
void job_exit() {
  if (rank() == 0) {
    act(1, 0);
    ok(ompl_job_exit(0), "ompl_job_exit");
  }
  compute_until_told();
}

struct Task {
  const char* name;
  void (*run)();
};
constexpr Task kTasks[] = {{"serve", serve},         {"death", death},
                           {"exit", exit_early},     {"exit-in-function", exit_in_function},
                           {"fork", fork_meanwhile}, {"job-exit", job_exit}};

}  // namespace

int main(int argc, char** argv) {
  ok(ompl_init(), "ompl_init");
  expect(ompl_progress_thread() == 1, "OMPL_PROGRESS=thread has started no thread");
  g_job = {allocate(kLong), allocate(64), allocate(4), 0, {}};
  g_job.pattern.resize(kLong);
  for (std::size_t i = 0; i < kLong; ++i)
    g_job.pattern[i] = static_cast<unsigned char>(i * 31 + i / 256);
  ok(ompl_call_register("twice", twice, nullptr, &g_job.function), "ompl_call_register");
  ok(ompl_barrier(), "ompl_barrier");
  for (const Task& task : kTasks) {
    if (argc != 2 || std::strcmp(task.name, argv[1]) != 0) continue;
    task.run();
    const int code = ompl_finalize();
    if (code == OMPL_ERR_PEER) return kPeerDied;
    ok(code, "ompl_finalize");
    return 0;
  }
  broken("unknown task");
}
