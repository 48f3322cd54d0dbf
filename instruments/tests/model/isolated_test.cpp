// SPDX-License-Identifier: BSD-3-Clause
// What a child process may do without taking its parent with it.
#include "model/readers/isolated.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/input_error.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

std::string refusal(const std::function<int()>& work) {
  try {
    (void)isolated("x.otf2", work);
  } catch (const ompl::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(isolated, returns_the_exit_status_and_passes_on_what_was_said) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(isolated("x.otf2",
                     [] {
                       std::fputs("a word\n", stderr);
                       return 3;
                     }),
            3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "a word\n");
}

TEST(isolated, a_signal_becomes_one_line) {
  testing::internal::CaptureStderr();
  const std::string aborted = refusal([]() -> int {
    std::fputs("Bug in the library\n", stderr);
    std::abort();
  });
  EXPECT_TRUE(aborted.starts_with("x.otf2: it cannot be read")) << aborted;
  EXPECT_NE(aborted.find("signal 6 (Aborted)"), std::string::npos) << aborted;
  EXPECT_EQ(aborted.find('\n'), std::string::npos);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const std::string late = refusal([]() -> int {
    ualarm(1000, 0);
    for (;;) pause();
  });
  EXPECT_NE(late.find("signal 14"), std::string::npos) << late;
}

}  // namespace
