// SPDX-License-Identifier: BSD-3-Clause
// The ranks of node_progress.py: node_progress_worker TASK [VICTIM]. Their buffers lie in private memory, which only the kernel can copy for
// the node's progress thread. Exit code 0: done; 3: the victim's death was reported as documented; else there is a line on stderr.
#include <omnipgas/coll.h>
#include <omnipgas/ompl_ext.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kPeerDied = 3;
constexpr std::size_t kCount = 100'000;
constexpr std::size_t kMany = 2'000'000;  // long enough to die in
constexpr std::chrono::seconds kLimit{200};

uint32_t rank() { return static_cast<uint32_t>(ompl_rank()); }
uint32_t size() { return static_cast<uint32_t>(ompl_size()); }

void check(int code, const char* what) {
  if (code == OMPL_OK) return;
  std::fprintf(stderr, "rank %u: %s: %s; %s\n", rank(), what, ompl_strerror(code), ompl_error_detail());
  std::_Exit(1);
}

ompl_team* served_world() {
  ompl_team* team = nullptr;
  check(ompl_team_world(&team), "ompl_team_world");
  check(ompl_team_set_progress(team, OMPL_PROGRESS_NODE), "ompl_team_set_progress");
  check(ompl_barrier(), "ompl_barrier");  // the progress thread is there
  return team;
}

// A sum that the members of a team have started: they come to `total` everywhere.
class Sum {
 public:
  Sum(ompl_team* team, std::size_t count) : mine_(count, 1.0 + ompl_team_rank(team)), sum_(count) {
    const double members = ompl_team_size(team);
    total_ = members * (members + 1) / 2;
    code_ = ompl_allreduce(team, mine_.data(), sum_.data(), count, OMPL_DOUBLE, OMPL_SUM, nullptr,
                           &request_);
  }
  int wait() {
    if (code_ == OMPL_OK) code_ = ompl_request_wait(OMPL_CTX_DEFAULT, &request_, OMPL_FOREVER);
    return code_;
  }
  int wait_again() { return ompl_request_wait(OMPL_CTX_DEFAULT, &request_, OMPL_FOREVER); }
  [[nodiscard]] bool is_right() const {
    return std::ranges::all_of(sum_, [this](const volatile double& value) { return value == total_; });
  }
  // Looks at the result until it is there, without any call of the library.
  [[nodiscard]] bool comes_by_itself() const {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (!is_right() && std::chrono::steady_clock::now() < end) ::usleep(1000);
    return is_right();
  }
  [[nodiscard]] bool is_over() const { return request_ == nullptr; }

 private:
  std::vector<double> mine_, sum_;
  double total_ = 0;
  int code_ = OMPL_OK;
  ompl_request* request_ = nullptr;
};

int say(bool right, const char* what) {
  std::printf("rank %u %s%s\n", rank(), right ? "" : "not: ", what);
  std::fflush(stdout);
  return right ? 0 : 1;
}

bool is_served(ompl_team* team) {
  Sum sum(team, kCount);
  const bool came = sum.comes_by_itself();
  check(sum.wait(), "ompl_request_wait");
  return came && sum.is_right();
}

int serve(ompl_team* team, uint32_t /*victim*/) {
  bool right = true;
  for (int i = 0; i < 5; ++i) right = is_served(team) && right;
  return say(right, "was served");
}

// The victim, if there is one, hides its memory; everybody calls.
int hide(ompl_team* team, uint32_t victim) {
  if (rank() == victim) ::prctl(PR_SET_DUMPABLE, 0);
  check(ompl_barrier(), "ompl_barrier");
  bool right = true;
  for (int i = 0; i < 5; ++i) {
    Sum sum(team, kCount);
    ::usleep(100'000);  // who waits takes back what the progress thread has not begun
    check(sum.wait(), "ompl_request_wait");
    right = right && sum.is_right();
  }
  return say(right, "has the sums");
}

// How often threads of this name have gone to sleep.
long sleeps_of_progress_threads() {
  long sleeps = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string line;
    if (!std::getline(std::ifstream(task.path() / "comm"), line) || line != "ompl-progress") continue;
    std::ifstream status(task.path() / "status");
    while (std::getline(status, line))
      if (line.starts_with("voluntary_ctxt_switches:")) sleeps += 1 + std::stol(line.substr(24));
  }
  return sleeps;
}

// With nothing outstanding the progress thread falls asleep sooner or later, and then nothing wakes it: a second passes.
int idle(ompl_team* team, uint32_t /*victim*/) {
  const bool served = is_served(team);
  check(ompl_barrier(), "ompl_barrier");
  const auto end = std::chrono::steady_clock::now() + kLimit;
  long before = 0;
  bool woken = true;
  while (woken && std::chrono::steady_clock::now() < end) {
    before = sleeps_of_progress_threads();
    ::sleep(1);
    woken = sleeps_of_progress_threads() != before;
  }
  check(ompl_barrier(), "ompl_barrier");
  return say(served && (before > 0) == (ompl_node_rank() == 0) && !woken,
             "lets its progress thread sleep");
}

void die() { ::kill(::getpid(), SIGKILL); }

// A call that hands a sum over ends with the victim's death, and nobody has its buffers any more.
int learn(ompl_team* team, ompl_team* survivors) {
  int code = OMPL_OK;
  bool over = true;
  while (code == OMPL_OK) {
    Sum sum(team, kMany);
    code = sum.wait();
    for (int again = 0; !sum.is_over() && code == OMPL_ERR_PEER && again < 10; ++again)
      code = sum.wait_again();
    over = sum.is_over();
  }
  bool right = code == OMPL_ERR_PEER && over;
  if (!right)
    std::fprintf(stderr, "rank %u: %s; %s\n", rank(), ompl_strerror(code), ompl_error_detail());
  if (survivors != nullptr) {
    static_cast<void>(ompl_failure_ack());
    right = is_served(survivors) && right;
  }
  say(right, "has learnt of it");
  std::_Exit(right ? kPeerDied : 1);  // finalize needs all ranks
}

// A team without the victim, if its progress thread lives.
ompl_team* without(uint32_t victim) {
  ompl_team* team = nullptr;
  if (victim == 0) return nullptr;
  std::vector<uint32_t> ranks;
  for (uint32_t other = 0; other < size(); ++other)
    if (other != victim) ranks.push_back(other);
  if (rank() == victim) return nullptr;
  check(ompl_team_create(ranks.data(), ranks.size(), nullptr, &team), "ompl_team_create");
  check(ompl_team_set_progress(team, OMPL_PROGRESS_NODE), "ompl_team_set_progress");
  return team;
}

// The victim dies at any moment.
int killed(ompl_team* team, uint32_t victim) {
  ompl_team* const survivors = without(victim);
  check(ompl_barrier(), "ompl_barrier");
  if (rank() == victim) {
    std::thread([] {
      ::usleep(std::random_device{}() % 100'000);
      die();
    }).detach();
  }
  return learn(team, survivors);
}

// The victim dies without having started what the others have handed over.
int absent(ompl_team* team, uint32_t victim) {
  ompl_team* const survivors = without(victim);
  check(ompl_barrier(), "ompl_barrier");
  if (rank() == victim) {
    ::usleep(200'000);
    die();
  }
  return learn(team, survivors);
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(240);  // nothing may hang
  const std::map<std::string, std::function<int(ompl_team*, uint32_t)>> tasks{
      {"serve", serve}, {"hide", hide}, {"idle", idle}, {"kill", killed}, {"absent", absent}};
  const auto task = tasks.find(argc > 1 ? argv[1] : "");
  if (task == tasks.end()) return 2;
  check(ompl_init(), "ompl_init");
  const std::string victim = argc > 2 ? argv[2] : "none";
  const int result = task->second(
      served_world(), victim == "none" ? UINT32_MAX : static_cast<uint32_t>(std::stoul(victim)));
  check(ompl_finalize(), "ompl_finalize");
  return result;
}
