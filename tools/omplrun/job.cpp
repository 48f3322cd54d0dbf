// SPDX-License-Identifier: BSD-3-Clause
#include "job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "util/printable.hpp"
#include "util/status.hpp"

namespace omplrun {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 500ms;  // from SIGTERM to SIGKILL
constexpr auto kPatience =
    5s;                      // from SIGKILL until we no longer wait: for ranks, for readers of output
constexpr auto kDying = 5s;  // for a rank that dies by a signal, until the ends of others are told
constexpr int kTimeoutCode = 124;   // as of timeout(1)
constexpr int kNotFoundCode = 127;  // as of the shell
constexpr int kNotRunnableCode = 126;

std::array<Fd, 2> make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) give_up("pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

std::array<Fd, 2> make_socket_pair() {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) give_up("socketpair");
  return {Fd(ends[0]), Fd(ends[1])};
}

// Its status. From now on others can have its pid.
int bury(pid_t pid) {
  remove_names_of(pid);
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace

Job::Job(const Options& options)
    : options_(options),
      mark_(random_mark()),
      elders_(ended_child() < 0 ? std::set<pid_t>{} : children()),
      guard_(mark_),
      binding_(options.bind, options.ranks),
      out_(loop_, STDOUT_FILENO, [this](int error) { on_broken("output", error); }),
      err_(loop_, STDERR_FILENO, [this](int error) { on_broken("error", error); }),
      input_(loop_),
      server_(mark_, options.nodes.empty() ? std::vector<uint32_t>(options.ranks) : options.nodes),
      ranks_(options.ranks) {
  // What ranks leave behind when they end becomes our child, so that sweep() can wait for it.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  limit_descriptors();
  try_waitpid();
}

// Each rank takes three descriptors here, or two.
void Job::limit_descriptors() {
  constexpr rlim_t kForItself = 64;
  const rlim_t ranks = ranks_.size();
  rlimit before{};
  if (getrlimit(RLIMIT_NOFILE, &before) != 0)
    return;  // refused: then nobody knows, and nothing is changed
  descriptors_ = before;
  rlimit now{before.rlim_max, before.rlim_max};
  if (now.rlim_cur < 3 * ranks + kForItself) now = {3 * ranks + kForItself, 3 * ranks + kForItself};
  if (setrlimit(RLIMIT_NOFILE, &now) == 0) return;  // above the hard limit only with privileges
  now = {before.rlim_max, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &now);
  if (now.rlim_cur < 2 * ranks + kForItself) {
    throw std::runtime_error(fmt::format(
        "{} ranks take {} descriptors, and no more than {} are allowed: raise the hard limit "
        "(ulimit -Hn), or start fewer ranks",
        ranks, 2 * ranks + kForItself, now.rlim_cur));
  }
  joined_streams_ = true;
  report(
      fmt::format("warning: {} descriptors are too few for {} ranks with two streams each: the ranks' "
                  "standard error goes with their standard output (raise the hard limit, ulimit -Hn)",
                  now.rlim_cur, ranks));
}

int Job::run() {
  loop_.watch(signals_.descriptor(), EPOLLIN, [this] { on_signals(); });
  if (options_.timeout) deadline_ = Clock::now() + *options_.timeout;
  if (start()) input_.all_started();
  while (!over()) {
    loop_.run_once(time_left());
    if (abort_ || !ended_.empty()) on_children();
    look_at_helpers();
    on_time();
  }
  guard_.dismiss();
  sweep();
  return exit_code_.value_or(0);
}

// --- start ----------------------------------------------------------------------------------------

bool Job::start() {
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!start_rank(rank)) return false;
  }
  return true;
}

bool Job::start_rank(uint32_t rank) {
  auto pmi = make_socket_pair();
  auto output = make_pipe();
  auto errors = joined_streams_ ? std::array<Fd, 2>{} : make_pipe();
  ProcessPlan plan;
  plan.command = options_.command;
  plan.environment = environment_of(rank, pmi[1].get());
  plan.directory = options_.directory;
  plan.standard_input = input_.for_rank(rank);
  plan.standard_output = output[1].get();
  plan.standard_error = (joined_streams_ ? output : errors)[1].get();
  plan.pmi = pmi[1].get();
  plan.signal_mask = signals_.original_mask();
  plan.prepare = [this, rank] {
    binding_.apply(rank);
    if (descriptors_) setrlimit(RLIMIT_NOFILE, &*descriptors_);
  };
  std::string why;
  const pid_t pid = spawn(plan, &why);
  if (pid < 0) {
    end(pid == -ENOENT ? kNotFoundCode : kNotRunnableCode,
        fmt::format("cannot start \"{}\": {}", options_.command.front(), why));
    return false;
  }
  const std::string prefix = options_.prefix ? fmt::format("[{}] ", rank) : "";
  auto& slot = ranks_[rank];
  slot.pid = pid;
  guard_.begun(pid);
  slot.pmi = std::move(pmi[0]);
  slot.output = std::make_unique<RankStream>(loop_, std::move(output[0]), prefix, out_);
  if (!joined_streams_)
    slot.errors = std::make_unique<RankStream>(loop_, std::move(errors[0]), prefix, err_);
  loop_.watch(slot.pmi.get(), EPOLLIN, [this, rank] { on_pmi(rank); });
  ++running_;
  return true;
}

std::vector<std::string> Job::environment_of(uint32_t rank, int pmi) const {
  std::vector<std::string> environment{fmt::format("PMI_FD={}", pmi), fmt::format("PMI_RANK={}", rank),
                                       fmt::format("PMI_SIZE={}", ranks_.size()),
                                       fmt::format("{}={}", mark_, rank)};
  if (!options_.nodes.empty()) {
    environment.push_back(fmt::format("OMPL_NODE_ID=node{}", options_.nodes[rank]));
  }
  environment.insert(environment.end(), options_.environment.begin(), options_.environment.end());
  return environment;
}

// --- events ---------------------------------------------------------------------------------------

void Job::on_signals() {
  while (const auto signal = signals_.next()) {
    if (*signal == SIGCHLD) {
      on_children();
      on_stops();
    } else if (*signal == SIGTSTP) {
      suspend();
    } else {
      on_user_signal(*signal);
    }
  }
}

void Job::on_user_signal(int signal) {
  if (signal == SIGINT && passed_on_ == SIGINT) {
    report("second SIGINT: killing all ranks");
    exit_code_ = exit_code_.value_or(128 + SIGINT);
    return kill_ranks();
  }
  passed_on_ = signal;
  signal_ranks(signal);
  const bool ends_programs = signal != SIGUSR1 && signal != SIGUSR2;
  if (ends_programs) signal_ranks(SIGCONT);  // a stopped process, too, shall see it
  if (ends_programs && !mercy_) mercy_ = Clock::now() + options_.grace;
  if (running_ == 0 && ends_programs) {  // all that is left is output that nobody takes
    exit_code_ = exit_code_.value_or(128 + signal);
    deadline_ = Clock::now();
    phase_ = Phase::killing;
  }
}

// ^Z: the terminal stops omplrun only, the ranks being in groups of their own.
void Job::suspend() {
  const auto stopped_at = Clock::now();
  signal_ranks(SIGTSTP);
  Signals::stop_like_others();
  signal_ranks(SIGCONT);
  input_.continued();
  const auto stopped_for = Clock::now() - stopped_at;
  if (deadline_) *deadline_ += stopped_for;
  if (mercy_) *mercy_ += stopped_for;
}

// A rank that uses the terminal is stopped by it, as any process in the background.
void Job::on_stops() {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
    const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&info](const Rank& candidate) {
      return candidate.pid == info.si_pid;
    });
    const bool by_terminal = info.si_status == SIGTTIN || info.si_status == SIGTTOU;
    if (found == ranks_.end() || !by_terminal) continue;
    report(fmt::format(
        "rank {} is stopped by {}: it uses the terminal (/dev/tty), which is not a rank's to "
        "use; what is typed comes to rank 0 on its standard input",
        found - ranks_.begin(), signal_name(info.si_status)));
    info = {};
  }
}

void Job::on_children() {
  reap();
  tell_ends();
}

void Job::reap() {
  for (pid_t pid = 0; (pid = ended_child()) > 0;) {
    const auto found = std::find_if(ranks_.begin(), ranks_.end(),
                                    [pid](const Rank& candidate) { return candidate.pid == pid; });
    const int status = bury(pid);
    elders_.erase(pid);
    if (found == ranks_.end()) continue;
    found->pid = -1;
    guard_.ended(pid);
    ended_.push_back({static_cast<uint32_t>(found - ranks_.begin()), pid, status});
  }
}

// The kernel names children in no order of death. A rank killed by a signal comes first, also one that is still closing its
// files: the others may have ended because of it.
void Job::tell_ends() {
  if (ended_.empty() && !abort_) return;
  const auto now = Clock::now();
  if (!tell_by_) tell_by_ = now + kDying;
  const bool waits = now < *tell_by_ && std::ranges::any_of(ranks_, [](const Rank& rank) {
                       return rank.pid > 0 && dies_by_signal(rank.pid);
                     });
  if (waits) return;
  tell_by_.reset();
  const auto ended = std::exchange(ended_, {});
  const auto by_signal = [](const Ended& end) { return WIFSIGNALED(end.status); };
  for (const Ended& end : ended) {
    if (by_signal(end)) on_rank_end(end);
  }
  tell_abort();
  for (const Ended& end : ended) {
    if (!by_signal(end)) on_rank_end(end);
  }
}

void Job::tell_abort() {
  if (const auto told = std::exchange(abort_, std::nullopt)) end(told->first, told->second);
}

void Job::on_rank_end(const Ended& end) {
  const auto [rank, pid, status] = end;
  auto& slot = ranks_[rank];
  slot.group = pid;
  --running_;
  if (slot.pmi) on_pmi(rank);  // its last words
  tell_abort();
  slot.output->drain();
  if (slot.errors) slot.errors->drain();
  slot.helped_until = Clock::now() + options_.grace;
  ++helped_;
  const auto session = server_.session(rank);
  server_.rank_ended(rank);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    rank_failed(128 + signal, fmt::format("rank {} was killed by {}{}{}", rank, signal_name(signal),
                                          WCOREDUMP(status) ? ", core dumped" : "",
                                          signal == passed_on_ ? ", which omplrun passed on" : ""));
  } else if (WEXITSTATUS(status) != 0) {
    rank_failed(WEXITSTATUS(status),
                fmt::format("rank {} exited with code {}", rank, WEXITSTATUS(status)));
  } else if (session == PmiServer::Session::open) {
    rank_failed(1,
                fmt::format("rank {} died: it exited with code 0, but without leaving the job", rank));
  }
  check_barrier();
}

// What a rank has started may take some time after its end, as the `tee` does that keeps its log.
void Job::look_at_helpers() {
  for (uint32_t rank = 0; rank < ranks_.size() && helped_ > 0; ++rank) {
    auto& slot = ranks_[rank];
    if (slot.group < 0) continue;
    const bool holds_output = slot.output->open() || (slot.errors && slot.errors->open());
    if (!holds_output && !has_children_in(slot.group)) {
      slot.group = -1;
      --helped_;
    } else if (phase_ == Phase::killing) {
      end_helpers(rank);
    } else if (Clock::now() >= slot.helped_until) {
      report(
          fmt::format("processes that rank {} started are still there {} s after its end: killing them",
                      rank, std::chrono::duration<double>(options_.grace).count()));
      end_helpers(rank);
    }
  }
}

// The ranks end together, unless the user wants to see what the survivors make of it.
void Job::rank_failed(int exit_code, const std::string& why) {
  if (!options_.keep_going) return end(exit_code, why);
  exit_code_ = exit_code_.value_or(exit_code);
  report(why);
}

void Job::on_pmi(uint32_t rank) {
  auto& slot = ranks_[rank];
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t count = recv(slot.pmi.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) break;
    if (!slot.lines.append({bytes.data(), static_cast<std::size_t>(count)})) {
      end(1, fmt::format("rank {} broke the PMI protocol: it sent an endless line", rank));
      break;
    }
    while (const auto line = slot.lines.next()) handle_pmi_line(rank, *line);
  }
  loop_.forget(slot.pmi.get());
  slot.pmi.reset();
}

void Job::handle_pmi_line(uint32_t rank, std::string_view line) {
  const auto result = server_.handle(rank, line);
  for (const auto& reply : result.replies) send(reply);
  if (!result.violation.empty()) {
    end(1, fmt::format("rank {} broke the PMI protocol: it {}", rank, result.violation));
  }
  if (result.abort_code) {
    const int code = *result.abort_code;
    abort_.emplace(code,
                   code != 0 ? fmt::format("rank {} aborted the job with code {}", rank, code) : "");
  }
  check_barrier();
}

void Job::send(const PmiServer::Reply& reply) {
  const auto& slot = ranks_[reply.rank];
  if (!slot.pmi) return;
  const ssize_t sent =
      ::send(slot.pmi.get(), reply.line.data(), reply.line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno == EPIPE) return;  // the rank has just ended; SIGCHLD tells how
  if (sent != static_cast<ssize_t>(reply.line.size())) {
    end(1, fmt::format("rank {} broke the PMI protocol: it does not read the answers", reply.rank));
  }
}

void Job::check_barrier() {
  if (const auto rank = server_.missing_from_barrier()) {
    end(exit_code_.value_or(1),
        fmt::format("rank {} left the job while others wait for it in a PMI barrier", *rank));
  }
}

void Job::on_broken(std::string_view stream, int error) {
  end(error == EPIPE ? 128 + SIGPIPE : 1,
      fmt::format("cannot write standard {}: {}", stream, std::strerror(error)));
}

void Job::on_time() {
  const auto now = Clock::now();
  if (mercy_ && now >= *mercy_ && phase_ != Phase::killing && running_ > 0) kill_for_user();
  if (!deadline_ || now < *deadline_) return;
  if (phase_ == Phase::running) {
    end(kTimeoutCode, fmt::format("the job did not end within --timeout {} s",
                                  std::chrono::duration<double>(*options_.timeout).count()));
  } else if (phase_ == Phase::ending) {
    kill_ranks();
  }
}

// --- end ------------------------------------------------------------------------------------------

void Job::end(int exit_code, const std::string& why) {
  if (phase_ != Phase::running) return;
  phase_ = Phase::ending;
  exit_code_ = exit_code;
  deadline_ = Clock::now() + kGrace;
  if (!why.empty()) {  // else the job asked for its end in order
    report(running_ == 0
               ? why
               : fmt::format("{}; ending {} rank{}", why, running_, running_ == 1 ? "" : "s"));
  }
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);  // a stopped process, too, shall see it
}

// A rank may hold on to life for a reason of its own, or hang in what a library does on the signal.
void Job::kill_for_user() {
  report(fmt::format("{} rank{} still there {} s after {}: killing {}", running_,
                     running_ == 1 ? " is" : "s are",
                     std::chrono::duration<double>(options_.grace).count(), signal_name(passed_on_),
                     running_ == 1 ? "it" : "them"));
  exit_code_ = exit_code_.value_or(128 + passed_on_);
  kill_ranks();
}

void Job::kill_ranks() {
  phase_ = Phase::killing;
  deadline_ = Clock::now() + kPatience;
  signal_ranks(SIGKILL);
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) end_helpers(rank);
}

void Job::signal_ranks(int signal) const {
  for (const auto& rank : ranks_) {
    if (rank.pid > 0) kill(-rank.pid, signal);
  }
}

// Kills what a rank has left behind, if anything, and closes its streams.
void Job::end_helpers(uint32_t rank) {
  auto& slot = ranks_[rank];
  if (slot.group < 0) return;
  // While a child of ours is in the group, the group's number is nobody else's.
  if (has_children_in(slot.group)) kill(-slot.group, SIGKILL);
  kill_marked(fmt::format("{}={}", mark_, rank) + '\0');
  slot.output->finish();
  if (slot.errors) slot.errors->finish();
  slot.group = -1;
  --helped_;
}

// Ends what left the ranks' process groups. Having become its parent, we know when there is nothing more.
void Job::sweep() {
  const auto give_up = Clock::now() + kPatience;
  for (pid_t pid = 0; (pid = ended_child()) >= 0 && Clock::now() < give_up;) {
    if (pid > 0) {
      bury(pid);
      elders_.erase(pid);
    }
    bool found = pid > 0;
    for (const pid_t child : children()) {
      if (elders_.contains(child)) continue;
      kill(child, SIGKILL);
      found = true;
    }
    if (kill_marked(mark_).empty() && !found) break;  // all that is left was here before the job
    usleep(1000);
  }
  if (exit_code_) remove_unused_names(begun_);  // a rank may have ended anywhere
}

bool Job::over() const {
  if (running_ == 0 && helped_ == 0 && out_.empty() && err_.empty()) return true;
  return phase_ == Phase::killing && Clock::now() >= *deadline_;
}

std::chrono::milliseconds Job::time_left() const {
  auto next = Clock::now() + 1h;
  if (deadline_) next = std::min(next, *deadline_);
  if (tell_by_) next = std::min(next, *tell_by_);
  if (mercy_ && phase_ != Phase::killing && running_ > 0) next = std::min(next, *mercy_);
  for (uint32_t rank = 0; rank < ranks_.size() && helped_ > 0; ++rank) {
    if (ranks_[rank].group >= 0) next = std::min(next, ranks_[rank].helped_until);
  }
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()), 0ms);
}

void Job::report(std::string_view text) {
  err_.write(fmt::format("omplrun: {}\n", ompl::printable(text)));
}

}  // namespace omplrun
