// SPDX-License-Identifier: BSD-3-Clause
// Requests and answers over the PMI-1 socket, each bounded by a time limit.
#pragma once

#include <chrono>
#include <string>

#include "bootstrap/pmi1_wire.hpp"

namespace ompl::bootstrap::pmi1 {

class Pmi1Connection {
 public:
  Pmi1Connection(int fd, std::chrono::milliseconds limit) : fd_(fd), limit_(limit) {}

  // Sends a line and waits for the answer, which must be the command `expected`. Any trouble is
  // OMPL_ERR_LAUNCH; an `rc` other than 0 in the answer is left to the caller.
  int request(const std::string& line, std::string_view expected, Pmi1Message* answer);

  // Sends a line to which there is no answer.
  int send(const std::string& line) const;

  // Waits until the launcher closes the socket, or the limit passes.
  void wait_for_end(std::chrono::milliseconds limit);

 private:
  int receive(std::chrono::milliseconds limit, std::string* line);

  int fd_;
  std::chrono::milliseconds limit_;
  LineBuffer buffer_;
};

}  // namespace ompl::bootstrap::pmi1
