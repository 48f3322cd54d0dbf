// SPDX-License-Identifier: BSD-3-Clause
// Standard input goes to rank 0; the other ranks find an empty one.
#pragma once

#include "event_loop.hpp"

namespace omplrun {

class Input {
 public:
  explicit Input(EventLoop& loop);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // What `rank` is to have as its standard input. Valid until all_started().
  [[nodiscard]] int for_rank(uint32_t rank) const;
  // Every rank has its copy: from now on, what is typed is passed on.
  void all_started();

 private:
  void pass_on();
  void stop();

  EventLoop& loop_;
  Fd nothing_;
  // Only if standard input is a terminal. Rank 0 cannot read it itself, being in another process group.
  // Anything else rank 0 inherits, so that omplrun reads nothing that the ranks do not want.
  Fd typed_;    // what rank 0 reads
  Fd to_rank_;  // the other end
};

}  // namespace omplrun
