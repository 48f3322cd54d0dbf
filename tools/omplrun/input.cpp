// SPDX-License-Identifier: BSD-3-Clause
#include "input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>

namespace omplrun {

Input::Input(EventLoop& loop) : loop_(loop), nothing_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
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
  if (to_rank_) loop_.watch(STDIN_FILENO, EPOLLIN, [this] { pass_on(); });
}

void Input::pass_on() {
  std::array<char, PIPE_BUF> bytes;
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count <= 0 || write(to_rank_.get(), bytes.data(), static_cast<std::size_t>(count)) < 0)
    return stop();
  // The next read waits until the pipe takes as much again, so that no write blocks.
  loop_.forget(STDIN_FILENO);
  loop_.watch(to_rank_.get(), EPOLLOUT, [this] {
    loop_.forget(to_rank_.get());
    loop_.watch(STDIN_FILENO, EPOLLIN, [this] { pass_on(); });
  });
}

void Input::stop() {
  if (!to_rank_) return;
  loop_.forget(STDIN_FILENO);
  loop_.forget(to_rank_.get());
  to_rank_.reset();
}

}  // namespace omplrun
