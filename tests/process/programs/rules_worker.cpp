// SPDX-License-Identifier: BSD-3-Clause
// The program that rules.py runs as ranks: rules_worker RULE. Each shows one rule of docs/reference/rules.md from within
// a process; exit code 0 if it holds, else 1 with a line on stderr.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omnipgas/coll.h>
#include <omnipgas/ompl_inline.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "process/programs/ranks_worker.hpp"

namespace {

uint32_t& own_word(uint64_t offset) { return *static_cast<uint32_t*>(ompl_ptr(rank(), offset)); }

// Runs `child` in a fork and returns its exit code.
int in_fork(const std::function<int()>& child) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(20);
    std::_Exit(child());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A fork of a rank is told that it is one, by every way into the library, and disturbs nothing.
void fork_rule() {
  const uint64_t data = allocate(64);
  const uint64_t flag = allocate(8);
  ompl_ctx* context = nullptr;
  ok(ompl_ctx_create(&context), "ompl_ctx_create");
  const uint64_t word = 5;
  ok(ompl_put(address(&word), next(), data, 8), "a put before the fork");  // opens the window
  ok(ompl_put_word(next(), flag), "a signal before the fork");
  ok(ompl_wait(flag), "the wait");
  const int code = in_fork([&] {
    const uint64_t other = 6;
    if (ompl_put(address(&other), next(), data, 8) != OMPL_ERR_STATE) return 2;
    if (std::strstr(ompl_error_detail(), "fork") == nullptr) return 3;
    if (ompl_put_word(next(), flag) != OMPL_ERR_STATE) return 4;
    if (ompl_ctx_put(context, address(&other), next(), data, 8, 0) != OMPL_ERR_STATE) return 5;
    if (ompl_wait(flag) != OMPL_ERR_STATE || ompl_rank() != OMPL_ERR_STATE) return 6;
    if (ompl_init() != OMPL_ERR_STATE || ompl_finalize() != OMPL_ERR_STATE) return 7;
    std::thread([] { ompl_barrier(); }).join();  // a thread of the child, and its end
    return 0;
  });
  expect(code == 0, ("the fork broke off with code " + std::to_string(code)).c_str());
  ok(ompl_barrier(), "the barrier after the fork");
  expect(*static_cast<uint64_t*>(ompl_ptr(rank(), data)) == 5, "the fork wrote into a segment");
  ok(ompl_put_word(next(), flag), "a signal after the fork");
  ok(ompl_wait(flag), "a wait after the fork");
  expect(std::system("exit 7") == 7 << 8, "another program could not be run");
  ok(ompl_ctx_destroy(context), "ompl_ctx_destroy");
}

// Threads come and go: what they sent arrives, and their contexts are used again.
void thread_exit_rule() {
  constexpr int kThreads = 300;
  const uint64_t data = allocate(8 * kThreads);
  const uint64_t flag = allocate(8);
  for (int i = 0; i < kThreads; ++i) {
    std::thread([&] {
      const uint64_t value = 1000 + static_cast<uint64_t>(i);
      ok(ompl_put(address(&value), next(), data + 8 * static_cast<uint64_t>(i), 8), "a thread's put");
      ok(ompl_put_word(next(), flag), "a thread's signal");
    }).join();  // no flush: the thread is gone
  }
  for (int i = 0; i < kThreads; ++i) ok(ompl_wait(flag), "the wait for a thread that is gone");
  for (uint64_t i = 0; i < kThreads; ++i)
    expect(static_cast<uint64_t*>(ompl_ptr(rank(), data))[i] == 1000 + i, "a put was lost");
}

// A thread-local object that is destroyed after the library's own may still use the library.
struct Late {
  uint64_t flag = 0;
  ~Late() {
    if (flag != 0) ok(ompl_put_word(next(), flag), "a signal at the very end of a thread");
  }
};
thread_local Late t_late;
void late_thread_rule() {
  const uint64_t flag = allocate(8);
  std::thread([&] {
    t_late.flag = flag;  // made before the implicit context, so destroyed after it
    ok(ompl_flush(), "ompl_flush");
  }).join();
  ok(ompl_wait(flag), "the wait");
}

// Signals of the system interrupt no call: 1,000 a second, without SA_RESTART.
std::atomic<uint32_t> g_alarms{0};
void signals_rule() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_alarms.fetch_add(1); };
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval often{.it_interval = {0, 1000}, .it_value = {0, 1000}};
  const uint64_t data = allocate(65536);
  const uint64_t flag = allocate(8);
  const std::vector<char> source(65536, 'x');
  ::setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 300; ++i) {
    ok(ompl_put_signal(address(source.data()), next(), data, source.size(), flag), "ompl_put_signal");
    ok(ompl_wait(flag), "ompl_wait");
    if (i % 20 == 0) {
      for (int k = 0; k < 15; ++k) ::usleep(1000);  // the other one falls asleep, and is interrupted
      ok(ompl_barrier(), "ompl_barrier");
    }
  }
  expect(own_word(flag) == 0, "a signal was counted twice");
  expect(g_alarms.load() > 50, "too few interruptions to show anything");
}

// Memory of a GPU is refused, by name; the driver is a stand-in (gpu/).
void gpu_rule() {
  const char* const library = std::getenv("RULES_GPU_LIBRARY");
  const uint64_t data = allocate(64);
  const uint64_t word = 5;
  ok(ompl_put(address(&word), next(), data, 8), "a put before the driver");
  void* driver = ::dlopen(library, RTLD_NOW);
  expect(driver != nullptr, ::dlerror());
  const auto device_memory = reinterpret_cast<uint64_t (*)()>(::dlsym(driver, "fake_device_memory"));
  const uint64_t device = device_memory();
  std::thread([&] {  // the first new context finds the driver
    expect(ompl_put(device, next(), data, 8) == OMPL_ERR_UNSUPPORTED,
           "a put from a GPU was not refused");
    expect(std::strstr(ompl_error_detail(), "GPU") != nullptr, "the error does not say why");
    expect(ompl_get(device + 64, next(), data, 8) == OMPL_ERR_UNSUPPORTED, "a get into a GPU");
    ok(ompl_put(address(&word), next(), data, 8), "a put from memory of the CPU");
  })
      .join();
  ompl_handle handle = OMPL_HANDLE_INIT;
  expect(ompl_put(device, next(), data, 8) == OMPL_ERR_UNSUPPORTED, "the old window was still open");
  expect(ompl_put_nb(OMPL_CTX_DEFAULT, device, next(), data, 8, nullptr, 0, &handle) ==
             OMPL_ERR_UNSUPPORTED,
         "a nonblocking put");
  expect(ompl_register(reinterpret_cast<void*>(device), 64) == OMPL_ERR_UNSUPPORTED, "ompl_register");
  ok(ompl_get(address(&word), next(), data, 8), "a get into memory of the CPU");
}

// Which signals have their default action; but SIGUSR1, which asks for a hang report.
std::vector<bool> defaults() {
  std::vector<bool> found;
  for (int number = 1; number < 32; ++number) {
    struct sigaction action {};
    if (number != SIGUSR1 && ::sigaction(number, nullptr, &action) == 0)
      found.push_back(action.sa_handler == SIG_DFL);
  }
  return found;
}

// Ends the whole job with the exit code, whatever the others do.
void abort_rule() {
  const uint64_t flag = allocate(8);
  const char* const code = std::getenv("RULES_ABORT_CODE");
  if (rank() == 1) ompl_abort(code != nullptr ? std::atoi(code) : 42, "as the rule says");
  ompl_wait(flag);
  broken("a rank went on after ompl_abort");
}

// Ends the whole job in order, whatever the others do.
void exit_rule() {
  const uint64_t flag = allocate(8);
  const int status = std::atoi(std::getenv("RULES_STATUS"));
  expect(ompl_job_exit(-1) == OMPL_ERR_ARG && ompl_job_exit(256) == OMPL_ERR_ARG,
         "a wrong status was taken");
  if (rank() == 1) ompl_job_exit(status);
  ompl_wait(flag);
  broken("a rank went on after ompl_job_exit");
}

// Joins the job, and allocates, under a timer's signals; the others may not look under /proc.
void start_under_signals() {
  ::prctl(PR_SET_DUMPABLE, 0);
  struct sigaction action {};
  action.sa_handler = [](int) { g_alarms.fetch_add(1); };
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval often{.it_interval = {0, 500}, .it_value = {0, 500}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
}
void start_rule() {
  expect(ompl_node_size() == ompl_size(), "a signal kept ranks of a node apart");
  const uint64_t data = allocate(std::size_t{48} << 20);
  ok(ompl_free(data), "ompl_free");
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
}

// A system without pidfd_open(), as some containers are.
void refuse_pidfd_open() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = 4, .filter = filter};
  expect(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
             ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
         "no filter for system calls");
}
void no_pidfd_rule() {
  const uint64_t flag = allocate(8);
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() == 1) ::kill(::getpid(), SIGKILL);
  expect(ompl_wait(flag) == OMPL_ERR_PEER, "a death went unnoticed");
  std::printf("noticed\n");
  std::fflush(stdout);
  std::_Exit(0);
}

// A rank ends without a word, and the others, which sleep, are told.
void survivors_rule() {
  const uint64_t flag = allocate(8);
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() == 1) std::_Exit(0);
  expect(ompl_wait(flag) == OMPL_ERR_PEER, "a death went unnoticed");
  std::printf("noticed\n");
  std::fflush(stdout);
  std::_Exit(0);
}

// A rank dies slowly: its connections are closed a good while before what it listens at.
void dying_rule() {
  constexpr useconds_t kWithoutItsCore = 200'000;
  const uint64_t flag = allocate(8);
  const uint64_t data = allocate(8);
  const uint64_t value = 1;
  ok(ompl_put(reinterpret_cast<uint64_t>(&value), next(), data, 8), "ompl_put");
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() == 1) {
    for (int fd = 3; fd < 1024; ++fd) {
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
          peer.ss_family != AF_UNIX)
        ::shutdown(fd, SHUT_RDWR);
    }
    ::usleep(kWithoutItsCore);
    std::_Exit(0);
  }
  expect(ompl_wait(flag) == OMPL_ERR_PEER, "a death went unnoticed");
  std::printf("noticed\n");
  std::fflush(stdout);
  std::_Exit(0);
}

// Two threads of each rank, or one where the system allows no more, pass a token each around, and sleep meanwhile (OMPL_SPIN=0, OMPL_YIELDS=0).
void sleepers_rule() {
  constexpr int kRounds = 20;
  const uint64_t flags = allocate(1024);
  ok(ompl_barrier(), "ompl_barrier");
  const auto pass = [](uint64_t flag) {
    for (int i = 0; i < kRounds; ++i) {
      if (rank() != 0) ok(ompl_wait(flag), "ompl_wait");
      ok(ompl_put_word(next(), flag), "ompl_put_word");
      if (rank() == 0) ok(ompl_wait(flag), "ompl_wait");
    }
  };
  std::thread other;
  try {
    other = std::thread(pass, flags + 512);
  } catch (const std::system_error&) {
    std::printf("no thread can be made here\n");
  }
  pass(flags);
  if (other.joinable()) other.join();
}

// Closes every descriptor, the layer's too, and opens files of its own under their numbers: nobody dies of that.
void closed_rule() {
  constexpr useconds_t kLongerThanBetweenLooks = 120'000;
  const uint64_t flag = allocate(8);
  ok(ompl_barrier(), "ompl_barrier");
  for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  for (int i = 0; i < 20; ++i) expect(::open("/dev/zero", O_RDONLY) >= 0, "no /dev/zero");
  for (int i = 0; i < 5; ++i) {
    if (rank() == 1) ::usleep(kLongerThanBetweenLooks);
    ok(ompl_put_word(next(), flag), "ompl_put_word");
    ok(ompl_wait(flag), "ompl_wait");
  }
  std::printf("alive\n");
  std::fflush(stdout);
  std::_Exit(0);  // the launcher's connection is closed, too
}

// Whether this descriptor is to be closed (RULES_CLOSED): all, the TCP connections, the sets of descriptors, or that number.
bool is_of_kind(int fd, std::string_view kind) {
  if (kind == "all") return true;
  if (kind.find_first_not_of("0123456789") == kind.npos) return std::to_string(fd) == kind;
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (kind == "connections")
    return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
           peer.ss_family != AF_UNIX;
  char target[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return ::readlink(link.c_str(), target, sizeof target - 1) > 0 &&
         target == std::string_view("anon_inode:[eventpoll]");
}

// Rank 0, or every rank (RULES_CLOSERS), closes descriptors of the network. Errors are fair, but every call returns.
void closed_network_rule() {
  const uint64_t flag = allocate(8);
  ok(ompl_barrier(), "ompl_barrier");
  const bool closes = rank() == 0 || std::getenv("RULES_CLOSERS") != nullptr;
  for (int fd = 3; fd < 1024 && closes; ++fd) {
    if (is_of_kind(fd, std::getenv("RULES_CLOSED"))) ::close(fd);
  }
  int code = OMPL_OK;
  for (int i = 0; i < 3 && code == OMPL_OK; ++i) {
    code = ompl_put_word(next(), flag);
    if (code == OMPL_OK) code = ompl_wait(flag);
  }
  const int end = ompl_finalize();
  std::printf("returned %s\n", code == OMPL_OK && end == OMPL_OK ? "in order" : "with an error");
  std::fflush(stdout);
  std::_Exit(0);
}

// Every rank puts its number into every other one and raises a flag there. Rank 0 tells what it has taken for that.
void everybody_rule() {
  const auto size = static_cast<uint32_t>(ompl_size());
  const uint64_t data = allocate(size * sizeof(uint64_t));
  const uint64_t flag = allocate(8);
  ok(ompl_barrier(), "ompl_barrier");
  const uint64_t word = rank() + 1;
  for (uint32_t i = 1; i < size; ++i) {
    const uint32_t to = (rank() + i) % size;
    ok(ompl_put(address(&word), to, data + rank() * sizeof word, sizeof word), "ompl_put");
    ok(ompl_put_word(to, flag), "ompl_put_word");
  }
  for (uint32_t i = 1; i < size; ++i) ok(ompl_wait(flag), "ompl_wait");
  const auto* const words = static_cast<const uint64_t*>(ompl_ptr(rank(), data));
  for (uint32_t i = 0; i < size; ++i) expect(i == rank() || words[i] == i + 1, "a word is wrong");
  if (rank() == 0) {
    int highest = 0;
    for (int fd = 0; fd < 65536; ++fd) highest = ::fcntl(fd, F_GETFD) >= 0 ? fd : highest;
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    std::printf("%u ranks: descriptors up to %d, %ld KiB at most\n", size, highest, used.ru_maxrss);
  }
}

// A rank crashes with a few pages of its segment in use.
void crash_rule() {
  const uint64_t flag = allocate(4096);
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() == 0) std::abort();
  expect(ompl_wait(flag) == OMPL_ERR_PEER, "a crash went unnoticed");
}

// Every rank asks for more memory than there is for all (RULES_MIB): none gets it, and nobody is killed.
void scarce_rule() {
  const char* const mib = std::getenv("RULES_MIB");
  uint64_t data = 0;
  const int code = ompl_alloc((mib != nullptr ? std::strtoull(mib, nullptr, 10) : 1) << 20, &data);
  expect(code == OMPL_ERR_MEMORY, "the memory was given, or the error is another one");
}

// All ranks share memory.
void node_rule() { expect(ompl_node_size() == ompl_size(), "ranks of the node do not share memory"); }

// Before ompl_init, every third rank has files no longer than its segment, and the one behind it hides its descriptors: neither can use
// the files in which ranks of a node keep their segments together.
void mix_ranks() {
  const char* const own = std::getenv("PMI_RANK");
  const int kind = own != nullptr ? std::atoi(own) % 3 : 0;
  const rlimit files{.rlim_cur = 64 << 20, .rlim_max = RLIM_INFINITY};
  if (kind == 1) expect(::setrlimit(RLIMIT_FSIZE, &files) == 0, "setrlimit");
  if (kind == 2) expect(::prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
}

// One offset has another place in each segment, as AMD's caches need, and in the own one the alignment of the offset.
void places_rule() {
  const uint64_t word = allocate(8);
  ok(ompl_barrier(), "ompl_barrier");
  std::set<uint64_t> places;
  for (int other = 0; other < ompl_size(); ++other)
    places.insert(reinterpret_cast<uint64_t>(ompl_ptr(static_cast<uint32_t>(other), word)) >> 21 & 127);
  expect(std::ssize(places) == ompl_size(), "two segments lie at one place");
  const auto own = reinterpret_cast<uint64_t>(ompl_ptr(static_cast<uint32_t>(rank()), word));
  expect((own - word) % (256U << 20) == 0, "the own segment is not aligned");
}

// The files of segments that this process has mapped (RULES_FILES), however many ranks there are.
void files_rule() {
  const uint64_t flag = allocate(8);
  ok(ompl_put_word(next(), flag), "ompl_put_word");
  ok(ompl_wait(flag), "ompl_wait");
  std::set<unsigned long> inodes;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long inode = 0;
    if (line.find("memfd:omnipgas-segment") != line.npos &&
        std::sscanf(line.c_str(), "%*s %*s %*s %*s %lu", &inode) == 1)
      inodes.insert(inode);
  }
  const char* const wanted = std::getenv("RULES_FILES");
  expect(wanted != nullptr && std::to_string(inodes.size()) == wanted, "so many files are mapped");
}

// The last of many ranks dies when all have left the barrier; half of the others have lowered their limit on descriptors
// meanwhile. Others may notice it first, and end.
void last_dies_rule() {
  const uint64_t flag = allocate(8);
  const auto last = static_cast<uint32_t>(ompl_size()) - 1;
  ok(ompl_barrier(), "ompl_barrier");
  if (rank() != last) ok(ompl_put_word(last, flag), "ompl_put_word");
  for (uint32_t others = last; rank() == last && others > 0; --others) ok(ompl_wait(flag), "ompl_wait");
  if (rank() == last) std::_Exit(0);
  const rlimit few{.rlim_cur = 8, .rlim_max = 8};
  if (rank() % 2 == 0) expect(::setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
  // One rank would be told by any other one that has noticed it.
  expect(ompl_wait(flag) == OMPL_ERR_PEER, "a death went unnoticed");
  std::vector<uint32_t> dead(static_cast<std::size_t>(ompl_size()));
  std::size_t count = 0;
  ok(ompl_failed_ranks(dead.data(), dead.size(), &count), "ompl_failed_ranks");
  expect(count > 0 && dead[count - 1] == last, "another rank is said to be dead");
  expect(::write(STDOUT_FILENO, "noticed\n", 8) == 8, "write");
  std::_Exit(0);
}

// Both stop; the end of the job, which the collectives have a part in, goes well.
void stop_rule() {
  ompl_team* world = nullptr;
  ok(ompl_team_world(&world), "ompl_team_world");
  ok(ompl_stop(), "ompl_stop");
}

// Writes a line at every level but off.
void logging_rule() {
  uint64_t word = 0;
  expect(ompl_put(address(&word), 99, 8192, 8) == OMPL_ERR_RANK, "an error was not found");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> rules{{"fork", fork_rule},
                                                           {"thread-exit", thread_exit_rule},
                                                           {"late-thread", late_thread_rule},
                                                           {"signals", signals_rule},
                                                           {"gpu", gpu_rule},
                                                           {"abort", abort_rule},
                                                           {"job-exit", exit_rule},
                                                           {"start", start_rule},
                                                           {"no-pidfd", no_pidfd_rule},
                                                           {"closed", closed_rule},
                                                           {"closed-network", closed_network_rule},
                                                           {"crash", crash_rule},
                                                           {"scarce", scarce_rule},
                                                           {"node", node_rule},
                                                           {"everybody", everybody_rule},
                                                           {"mixed", everybody_rule},
                                                           {"files", files_rule},
                                                           {"places", places_rule},
                                                           {"last-dies", last_dies_rule},
                                                           {"survivors", survivors_rule},
                                                           {"dying", dying_rule},
                                                           {"sleepers", sleepers_rule},
                                                           {"stop", stop_rule},
                                                           {"logging", logging_rule}};
  const auto rule = rules.find(argc > 1 ? argv[1] : "");
  expect(rule != rules.end(), "no such rule");
  std::signal(SIGHUP, SIG_IGN);
  if (rule->first == "start") start_under_signals();
  if (rule->first == "no-pidfd") refuse_pidfd_open();
  if (rule->first == "mixed") mix_ranks();
  const std::vector<bool> before = defaults();
  ok(ompl_init(), "ompl_init");
  expect(defaults() == before, "ompl_init changed what the program does on a signal");
  rule->second();
  ok(ompl_finalize(), "ompl_finalize");
  return 0;
}
