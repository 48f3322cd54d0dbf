// SPDX-License-Identifier: BSD-3-Clause
#include "core/failure/program_reports.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

std::size_t say(char* text, std::size_t capacity, void* what) {
  return static_cast<std::size_t>(std::snprintf(text, capacity, "%s", static_cast<const char*>(what)));
}
std::size_t say_much(char* text, std::size_t capacity, void*) {
  std::string much(1 << 20, 'x');
  return static_cast<std::size_t>(std::snprintf(text, capacity, "%s", much.c_str()));
}

char g_first[] = "first\n", g_second[] = "second\n";

TEST(ProgramReports, StandInTheirOrderUntilTheyAreRemoved) {
  EXPECT_EQ(ompl::program_reports(), "");
  EXPECT_EQ(ompl_report_add(say, g_first), OMPL_OK);
  EXPECT_EQ(ompl_report_add(say, g_second), OMPL_OK);
  EXPECT_EQ(ompl::program_reports(), "first\nsecond\n");
  EXPECT_EQ(ompl_report_remove(say, g_first), OMPL_OK);
  EXPECT_EQ(ompl::program_reports(), "second\n");
  EXPECT_EQ(ompl_report_remove(say, g_second), OMPL_OK);
  EXPECT_EQ(ompl::program_reports(), "");
}

TEST(ProgramReports, MisuseIsFound) {
  EXPECT_EQ(ompl_report_add(nullptr, nullptr), OMPL_ERR_ARG);
  EXPECT_EQ(ompl_report_remove(nullptr, nullptr), OMPL_ERR_ARG);
  EXPECT_EQ(ompl_report_remove(say, g_first), OMPL_ERR_ARG);
  std::array<char, OMPL_REPORTS> names{};
  for (char& name : names) EXPECT_EQ(ompl_report_add(say, &name), OMPL_OK);
  EXPECT_EQ(ompl_report_add(say, g_first), OMPL_ERR_MEMORY);
  for (char& name : names) EXPECT_EQ(ompl_report_remove(say, &name), OMPL_OK);
}

TEST(ProgramReports, AreCutWhereTheyAreTooLong) {
  ASSERT_EQ(ompl_report_add(say_much, nullptr), OMPL_OK);
  EXPECT_EQ(ompl::program_reports().size(), 65535U);
  EXPECT_EQ(ompl_report_remove(say_much, nullptr), OMPL_OK);
}

}  // namespace
