// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "solver/error.hpp"

// What f() refuses with; "" if it does not.
template <class F>
std::string refusal(const F& f) {
  try {
    (void)f();
  } catch (const ompl::solver::InputError& error) {
    return error.what();
  }
  return "";
}
