// SPDX-License-Identifier: BSD-3-Clause
// What launchers leave in the environment of a rank.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace ompl::bootstrap {

// How a protocol's variables come into the environment, for what errors say.
struct Protocol {
  std::string_view name;       // "PMI"
  std::string_view launchers;  // "omplrun or mpiexec"
};

// Whether one of the variables is set.
bool any_set(std::initializer_list<const char*> names);

// The value that environment variable `name` must have; OMPL_ERR_LAUNCH names it if it has none.
int read_text(const char* name, const Protocol& protocol, const char** out);
// As read_text(), a number from 0 to `max`.
int read_number(const char* name, const Protocol& protocol, uint32_t max, uint32_t* out);

// A program that this rank starts inherits its launcher's environment, but is no rank. From now on it is told so instead of
// speaking to the launcher in the rank's name.
void keep_from_children();

}  // namespace ompl::bootstrap
