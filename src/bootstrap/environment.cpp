// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/environment.hpp"

#include <algorithm>
#include <cstdlib>

#include "bootstrap/pmi1_wire.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {

bool any_set(std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

int read_text(const char* name, const Protocol& protocol, const char** out) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    return fail(OMPL_ERR_LAUNCH,
                "{} is not set, but {} needs it; start with {}, or set OMPL_LAUNCHER=single", name,
                protocol.name, protocol.launchers);
  }
  *out = text;
  return OMPL_OK;
}

int read_number(const char* name, const Protocol& protocol, uint32_t max, uint32_t* out) {
  const char* text = nullptr;
  const int result = read_text(name, protocol, &text);
  if (result != OMPL_OK) return result;
  const auto number = pmi1::to_number(text);
  if (!number || *number > max) {
    return fail(OMPL_ERR_LAUNCH, "{}=\"{}\" is not a number from 0 to {}; start with {}", name, text,
                max, protocol.launchers);
  }
  *out = *number;
  return OMPL_OK;
}

}  // namespace ompl::bootstrap
