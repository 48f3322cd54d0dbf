// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "common/input_error.hpp"

// What f() refuses with; "" if it does not.
template <class F>
std::string refusal(const F& f) {
  try {
    (void)f();
  } catch (const ompl::InputError& error) {
    return error.what();
  }
  return "";
}
