// SPDX-License-Identifier: BSD-3-Clause
#include "streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace omplrun {

Sink::Sink(EventLoop& loop, int fd, std::function<void(int)> broken)
    : loop_(loop), fd_(fd), broken_(std::move(broken)) {}

bool Sink::write_some(std::size_t limit) {
  const auto rest = std::string_view(queue_).substr(written_, limit);
  const ssize_t count = ::write(fd_, rest.data(), rest.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  written_ += static_cast<std::size_t>(count);
  if (written_ == queue_.size()) {
    queue_.clear();
    written_ = 0;
  }
  return true;
}

void Sink::write(std::string_view bytes) {
  if (is_broken_ || bytes.empty()) return;
  const bool was_empty = queue_.empty();
  queue_ += bytes;
  if (was_empty && !loop_.watch(fd_, EPOLLOUT, [this] { on_writable(); })) {
    // A regular file, or the like: writing to it does not wait for anybody.
    while (!queue_.empty()) {
      if (!write_some(queue_.size())) return give_up();
    }
  }
}

void Sink::give_up() {
  const int error = errno;
  is_broken_ = true;
  queue_.clear();
  broken_(error);
}

void Sink::on_writable() {
  // A pipe that is ready takes this much without blocking, although it is not set to nonblocking mode,
  // which would be felt by every process that shares it.
  if (!write_some(PIPE_BUF)) give_up();
  if (!queue_.empty()) return;
  loop_.forget(fd_);
  for (const auto& resume : std::exchange(waiting_, {})) resume();
}

std::string Lines::add(std::string_view bytes) {
  std::string whole;
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    whole += prefix_;
    whole += std::exchange(partial_, {});
    whole += bytes.substr(0, end + 1);
    bytes.remove_prefix(end + 1);
  }
  partial_ += bytes;
  if (partial_.size() > kLongest) whole += finish();
  return whole;
}

std::string Lines::finish() {
  if (partial_.empty()) return {};
  return prefix_ + std::exchange(partial_, {}) + (prefix_.empty() ? "" : "\n");
}

RankStream::RankStream(EventLoop& loop, Fd pipe, std::string prefix, Sink& sink)
    : loop_(loop), pipe_(std::move(pipe)), lines_(std::move(prefix)), sink_(sink) {
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  watch();
}

void RankStream::watch() {
  if (pipe_) loop_.watch(pipe_.get(), EPOLLIN, [this] { on_readable(); });
}

void RankStream::on_readable() {
  if (sink_.full()) {
    loop_.forget(pipe_.get());
    sink_.when_empty([this] { watch(); });
  } else {
    read_some();
  }
}

bool RankStream::read_some() {
  std::array<char, 65536> bytes;
  const ssize_t count = read(pipe_.get(), bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count > 0) {
    sink_.write(lines_.add({bytes.data(), static_cast<std::size_t>(count)}));
    return true;
  }
  sink_.write(lines_.finish());
  loop_.forget(pipe_.get());
  pipe_.reset();
  return false;
}

void RankStream::drain() {
  while (pipe_ && read_some()) {
  }
}

void RankStream::finish() {
  drain();
  if (!pipe_) return;
  sink_.write(lines_.finish());
  loop_.forget(pipe_.get());
  pipe_.reset();
}

namespace {
// Something to read that is at its end: without /dev a pipe that nobody writes to.
Fd open_nothing() {
  Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null) return null;
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) give_up("pipe2");
  close(ends[1]);
  return Fd(ends[0]);
}
}  // namespace

Input::Input(EventLoop& loop) : loop_(loop), nothing_(open_nothing()) {
  if (isatty(STDIN_FILENO) == 0) return;
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  typed_ = Fd(ends[0]);
  if (tcgetpgrp(STDIN_FILENO) == getpgrp())
    to_rank_ = Fd(ends[1]);
  else
    close(ends[1]);  // in the background nobody types for us
}

Input::~Input() { stop(); }

int Input::for_rank(uint32_t rank) const {
  if (rank != 0) return nothing_.get();
  return typed_ ? typed_.get() : STDIN_FILENO;
}

void Input::all_started() {
  typed_.reset();
  await_typing();
}

// In the background what is typed is for others, and reading it would stop omplrun.
void Input::await_typing() {
  if (to_rank_ && tcgetpgrp(STDIN_FILENO) == getpgrp())
    loop_.watch(STDIN_FILENO, EPOLLIN, [this] { pass_on(); });
}

// No write blocks: the pipe first has to take as much again.
void Input::await_room() {
  loop_.forget(STDIN_FILENO);
  loop_.watch(to_rank_.get(), EPOLLOUT, [this] {
    loop_.forget(to_rank_.get());
    await_typing();
  });
}

void Input::continued() {
  if (!to_rank_ || typed_) return;  // typed_: not all ranks are there
  loop_.forget(to_rank_.get());
  await_room();
}

void Input::pass_on() {
  if (tcgetpgrp(STDIN_FILENO) != getpgrp()) return loop_.forget(STDIN_FILENO);
  std::array<char, PIPE_BUF> bytes;
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count <= 0 || write(to_rank_.get(), bytes.data(), static_cast<std::size_t>(count)) < 0)
    return stop();
  await_room();
}

void Input::stop() {
  if (!to_rank_) return;
  loop_.forget(STDIN_FILENO);
  loop_.forget(to_rank_.get());
  to_rank_.reset();
}

}  // namespace omplrun
