// SPDX-License-Identifier: BSD-3-Clause
// What a child process may do without taking its parent with it.
#include "model/readers/isolated.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/refusal.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

std::string refused(const std::function<int()>& work) {
  return refusal([&] { return isolated("x.otf2", work); });
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
  const std::string aborted = refused([]() -> int {
    std::fputs("Bug in the library\n", stderr);
    std::abort();
  });
  EXPECT_TRUE(aborted.starts_with("x.otf2: it cannot be read")) << aborted;
  expect_in("signal 6 (Aborted)", aborted);
  EXPECT_EQ(aborted.find('\n'), std::string::npos);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const std::string late = refused([]() -> int {
    ualarm(1000, 0);
    for (;;) pause();
  });
  expect_in("signal 14", late);
}

}  // namespace
