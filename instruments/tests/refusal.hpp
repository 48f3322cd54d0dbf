// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

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

// `said` refuses with these words, of which there may be more.
inline void expect_in(std::string_view words, const std::string& said) {
  EXPECT_NE(said, "") << "not refused, but it should say: " << words;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, std::string(words), said);
}
