// SPDX-License-Identifier: BSD-3-Clause
#include "event_loop.hpp"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "util/status.hpp"

namespace omplrun {

void give_up(const char* call) { throw std::runtime_error(ompl::call_text(call, errno)); }

// watch() cannot tell a refused call from a descriptor of the wrong kind, so the calls are tried here.
EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) give_up("epoll_create1");
  const Fd other(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, other.get(), &event) != 0 ||
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, other.get(), nullptr) != 0)
    give_up("epoll_ctl");
}

bool EventLoop::watch(int fd, uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
  handlers_[fd] = std::make_shared<Handler>(std::move(handler));
  return true;
}

void EventLoop::forget(int fd) {
  if (handlers_.erase(fd) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::run_once(std::chrono::milliseconds limit) {
  std::array<epoll_event, 64> events;
  const int ready = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               static_cast<int>(limit.count()));
  if (ready < 0 && errno != EINTR) give_up("epoll_wait");
  for (int i = 0; i < ready; ++i) {
    // Looked up now, since an earlier handler may have forgotten it, and held, since it may forget itself.
    const auto found = handlers_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == handlers_.end()) continue;
    const auto handler = found->second;
    (*handler)();
  }
}

Signals::Signals() {
  // Whoever starts omplrun may ignore SIGCHLD: then no child of ours could be waited for, and ranks inherit it.
  signal(SIGCHLD, SIG_DFL);
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&taken, number);
  }
  if (sigprocmask(SIG_BLOCK, &taken, &original_) != 0) give_up("rt_sigprocmask");
  signal(SIGPIPE, SIG_IGN);
  fd_ = Fd(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) give_up("signalfd4");
}

std::optional<int> Signals::next() const {
  signalfd_siginfo info{};
  if (read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

// By the action that the signal has by default: the system stops nobody whom no shell would continue.
void Signals::stop_like_others() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* meaning = sigdescr_np(signal);
  if (name == nullptr || meaning == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{} ({})", name, meaning);
}

}  // namespace omplrun
