// SPDX-License-Identifier: BSD-3-Clause
// Which conduits a rank can open here.
#pragma once

#include <string>
#include <vector>

#include "conduit/registry.hpp"
#include "util/settings.hpp"

namespace ompl::check {

struct ConduitState {
  conduit::Entry entry;
  bool wanted = false;    // OMPL_CONDUITS names it
  bool direct = false;    // through memory
  std::string why_not{};  // it cannot be used, or is not wanted; "": it is usable
};

// Opens each conduit of this build alone, as a job of one rank would, and says what came of it. Loads network libraries.
// Empty, and *error, if there is no segment for them.
std::vector<ConduitState> try_conduits(const Settings& settings, std::string* error);

}  // namespace ompl::check
