// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/staging.hpp"

#include <gtest/gtest.h>

#include "over_verbs.hpp"

namespace ompl::conformance {
namespace {

TEST(VerbsStaging, MemoryOfAGpuIsTheLocalSide) { expect_staging(over_verbs("rc")); }

}  // namespace
}  // namespace ompl::conformance
