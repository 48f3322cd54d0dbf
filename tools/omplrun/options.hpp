// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace omplrun {

struct Options {
  enum class Bind { automatic, none, core };

  uint32_t ranks = 1;
  std::vector<std::string> command;  // the program and its arguments
  bool prefix = true;
  bool keep_going = false;  // when a rank dies
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds grace{3000};  // from a signal of the user's until ranks are killed
  Bind bind = Bind::automatic;
  std::vector<std::string> environment;  // NAME=VALUE
  std::string directory;                 // to start in; empty: the current one
  std::vector<uint32_t> nodes;           // pretended node of each rank; empty: all on one
};

// Reads the command line into *out. Returns nothing, or the exit code when the program is to end at once:
// after --help and --version, or after it told what is wrong.
std::optional<int> parse_options(int argc, char** argv, Options* out);

}  // namespace omplrun
