// SPDX-License-Identifier: BSD-3-Clause
// The program that the fault tests run as ranks: fault_worker TASK [ARGUMENT]. Exit code 0: done; 3: a rank's
// death was reported as documented; anything else: a failure, with a line on stderr.
#include <omnipgas/ompl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kPeerDied = 3;
constexpr int kThreads = 2;
constexpr std::size_t kBlock = 1 << 16;

uint32_t rank() { return static_cast<uint32_t>(ompl_rank()); }
uint32_t size() { return static_cast<uint32_t>(ompl_size()); }

void check(int code, const char* what) {
  if (code >= 0) return;
  std::fprintf(stderr, "fault_worker: %s: %s; %s\n", what, ompl_strerror(code), ompl_error_detail());
  // The launcher may end us at once; the other threads must not keep the process.
  std::_Exit(code == OMPL_ERR_PEER ? kPeerDied : 1);
}

uint64_t allocate(std::size_t bytes) {
  uint64_t offset = 0;
  check(ompl_alloc(bytes, &offset), "ompl_alloc");
  return offset;
}

// Puts, signals and waits around the ring for ever, in every thread.
void churn_thread(uint64_t data, uint64_t flags, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<char> source(kBlock, 'x');
  const uint32_t next = (rank() + 1) % size();
  for (;;) {
    const std::size_t length = 1 + random() % kBlock;
    check(ompl_put(reinterpret_cast<uint64_t>(source.data()), next, data, length), "ompl_put");
    check(ompl_put_word(next, flags), "ompl_put_word");
    check(ompl_wait(flags), "ompl_wait");
    if (random() % 1000 == 0)
      ::usleep(static_cast<useconds_t>(random() % 5000));  // let the waiters fall asleep
  }
}

int churn(const char* /*argument*/) {
  const uint64_t data = allocate(kThreads * kBlock);
  const uint64_t flags = allocate(kThreads * 256);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back(churn_thread, data + i * kBlock, flags + i * 256, rank() * kThreads + i);
  }
  for (std::thread& thread : threads) thread.join();
  return 1;  // not reached
}

// Rank 0 dies by SIGKILL once nobody is in the barrier any more, mostly when the others sleep in their next call.
void die_after_the_barrier() {
  const uint64_t left = allocate(256);
  check(ompl_barrier(), "ompl_barrier");
  if (rank() != 0) return check(ompl_put_word(0, left), "ompl_put_word");
  for (uint32_t other = 1; other < size(); ++other) check(ompl_wait(left), "ompl_wait");
  ::usleep(300'000);
  ::kill(::getpid(), SIGKILL);
}

// Rank 0 dies while every other rank sits in the named blocking call.
int die_during(const char* argument) {
  const std::string call = argument;
  const uint64_t flag = allocate(256);
  die_after_the_barrier();
  if (call == "wait") check(ompl_wait(flag), "ompl_wait");
  if (call == "short-waits") {
    int code = OMPL_ERR_TIMEOUT;
    while (code == OMPL_ERR_TIMEOUT) code = ompl_ctx_wait(OMPL_CTX_DEFAULT, flag, 1000);
    check(code, "ompl_ctx_wait");
  }
  if (call == "polls") {
    int code = 0;
    while (code == 0) code = ompl_poll(flag);
    check(code, "ompl_poll");
  }
  if (call == "barrier") check(ompl_barrier(), "ompl_barrier");
  if (call == "alloc") allocate(4096);
  if (call == "finalize") check(ompl_finalize(), "ompl_finalize");
  std::fprintf(stderr, "fault_worker: %s returned although rank 0 is dead\n", argument);
  return 1;
}

// After the death is acknowledged, the survivors signal each other and wait as before.
int survive(const char* /*argument*/) {
  const uint64_t never = allocate(256);
  const uint64_t flag = allocate(256);
  die_after_the_barrier();
  if (const int code = ompl_wait(never); code != OMPL_ERR_PEER) return 1;
  if (ompl_failure_ack() != 1) return 1;
  const uint32_t other = 3 - rank();  // 1 and 2
  check(ompl_put_word(other, flag), "ompl_put_word");
  check(ompl_wait(flag), "ompl_wait after ompl_failure_ack");
  std::printf("survived\n");
  std::fflush(stdout);
  std::_Exit(kPeerDied);  // finalize needs all ranks
}

// Allocates, fills and verifies the bytes given.
int fill(const char* argument) {
  const std::size_t bytes = std::strtoull(argument, nullptr, 10);
  const uint64_t data = allocate(bytes);
  auto* memory = static_cast<char*>(ompl_ptr(rank(), data));
  std::memset(memory, 'a' + static_cast<int>(rank()), bytes);
  check(ompl_barrier(), "ompl_barrier");
  const uint32_t next = (rank() + 1) % size();
  std::vector<char> read(bytes);
  check(ompl_get(reinterpret_cast<uint64_t>(read.data()), next, data, bytes), "ompl_get");
  const bool right = read == std::vector<char>(bytes, static_cast<char>('a' + static_cast<int>(next)));
  check(ompl_finalize(), "ompl_finalize");
  std::printf("filled %zu\n", bytes);
  return right ? 0 : 1;
}

// Says who it is, with `ranks` barriers, then ends properly.
int hello(const char* /*argument*/) {
  for (int i = 0; i < 3; ++i) check(ompl_barrier(), "ompl_barrier");
  std::printf("hello from %u of %u, %d on this node\n", rank(), size(), ompl_node_size());
  check(ompl_finalize(), "ompl_finalize");
  return 0;
}

// Prints its process identifier and blocks in a wait that nobody ends.
int block(const char* /*argument*/) {
  const uint64_t flag = allocate(256);
  std::printf("pid %d flag %#llx\n", static_cast<int>(::getpid()),
              static_cast<unsigned long long>(flag));
  std::fflush(stdout);
  check(ompl_wait(flag), "ompl_wait");
  return 1;
}

// Rank 0 stays outside of the library while the others call that.
int block_in(const char* argument) {
  const std::string call = argument;
  uint64_t offset = allocate(256);
  check(ompl_barrier(), "ompl_barrier");
  if (rank() == 0) {
    for (;;) ::pause();
  }
  if (call == "barrier") return ompl_barrier();
  if (call == "alloc") return ompl_alloc(64, &offset);
  if (call == "free") return ompl_free(offset);
  return ompl_finalize();
}

// Rank 0 dies; the others leave, each with an error, at different moments.
int leave_one_by_one(const char* /*argument*/) {
  const uint64_t never = allocate(256);
  die_after_the_barrier();
  if (const int code = ompl_wait(never); code != OMPL_ERR_PEER) return 1;
  ompl_failure_ack();
  ::usleep((rank() - 1) * 20'000);  // no order is needed: each comes to its end in any case
  check(ompl_finalize(), "ompl_finalize");
  return 1;
}

// Rank 1 is stopped for so many seconds while rank 0 puts to it and waits for its answer.
int stop(const char* argument) {
  constexpr std::size_t kLong = std::size_t{4} << 20;
  const uint64_t data = allocate(kLong);
  const uint64_t flag = allocate(256);
  std::vector<char> source(kLong, 'a');
  check(ompl_barrier(), "ompl_barrier");
  if (rank() == 1) {
    sigevent resume{};
    resume.sigev_notify = SIGEV_SIGNAL;
    resume.sigev_signo = SIGCONT;
    timer_t timer = nullptr;
    const itimerspec due{.it_interval = {}, .it_value = {.tv_sec = std::atol(argument), .tv_nsec = 0}};
    if (::timer_create(CLOCK_MONOTONIC, &resume, &timer) != 0 ||
        ::timer_settime(timer, 0, &due, nullptr) != 0 || std::raise(SIGSTOP) != 0)
      return 1;
    check(ompl_wait(flag), "ompl_wait");
    const auto* here = static_cast<const char*>(ompl_ptr(rank(), data));
    if (!std::equal(source.begin(), source.end(), here)) return 1;
    check(ompl_put_word(0, flag), "ompl_put_word");
  } else if (rank() == 0) {
    check(ompl_put_signal(reinterpret_cast<uint64_t>(source.data()), 1, data, kLong, flag),
          "ompl_put_signal");
    check(ompl_wait(flag), "ompl_wait");
    std::printf("answered\n");
  }
  check(ompl_finalize(), "ompl_finalize");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(240);  // nothing may hang
  const std::map<std::string, std::function<int(const char*)>> tasks{
      {"churn", churn}, {"die-during", die_during}, {"survive", survive},
      {"fill", fill},   {"hello", hello},           {"block", block},
      {"stop", stop},   {"block-in", block_in},     {"leave-one-by-one", leave_one_by_one}};
  const auto task = argc > 1 ? tasks.find(argv[1]) : tasks.end();
  if (task == tasks.end()) {
    std::fprintf(stderr, "fault_worker: which task?\n");
    return 2;
  }
  check(ompl_init(), "ompl_init");
  return task->second(argc > 2 ? argv[2] : "");
}
