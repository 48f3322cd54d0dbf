// SPDX-License-Identifier: BSD-3-Clause
// Signals as events: they are blocked, and read from a descriptor instead.
#pragma once

#include <csignal>
#include <optional>
#include <string>

#include "fd.hpp"

namespace omplrun {

class Signals {
 public:
  // Takes over SIGCHLD and the signals that are passed on to the ranks, but for those that are ignored
  // already (as SIGHUP under nohup).
  Signals();

  [[nodiscard]] int descriptor() const { return fd_.get(); }
  // The next signal that has come, if any.
  [[nodiscard]] std::optional<int> next() const;
  // The mask that programs are to be started with.
  [[nodiscard]] const sigset_t& original_mask() const { return original_; }

 private:
  sigset_t original_{};
  Fd fd_;
};

// "SIGSEGV (Segmentation fault)"
std::string signal_name(int signal);

}  // namespace omplrun
