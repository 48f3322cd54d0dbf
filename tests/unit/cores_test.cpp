// SPDX-License-Identifier: BSD-3-Clause
// Cores of made-up machines as hwloc sees them, and which of them the progress thread gets.
#include "arch/cores.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/progress/thread_start.hpp"

namespace ompl {
namespace {

using arch::Core;
using arch::Cores;

constexpr uint64_t kAll = ~uint64_t{0};

// hwloc reads the variable when it reads the machine.
class Machine {
 public:
  explicit Machine(const char* description) { ::setenv("HWLOC_SYNTHETIC", description, 1); }
  ~Machine() { ::unsetenv("HWLOC_SYNTHETIC"); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] static Cores cores(uint64_t allowed = kAll) { return arch::cores_of({&allowed, 1}); }
};

Core spare(uint64_t allowed = kAll, const Sharing& sharing = {}) {
  return spare_core(Machine::cores(allowed), sharing).processors;
}

TEST(Cores, WithoutHwlocEveryProcessorIsOne) {
  const Cores cores{.list = {{0}, {1}, {5}}, .known_by = ""};
  EXPECT_EQ(spare_core(cores, {}).processors, Core{5});
}

class Placed : public ::testing::Test {
 protected:
  void SetUp() override {
    const uint64_t all = kAll;
    Cores cores;
    if (const std::string why = arch::ask_hwloc({&all, 1}, &cores); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(Placed, ProcessorsOfACoreStayTogether) {
  const Machine machine("pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
  EXPECT_EQ(Machine::cores().list, (std::vector<Core>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(Machine::cores(0b0110'0111).list, (std::vector<Core>{{0}, {1, 5}, {2, 6}}));
  EXPECT_EQ(Machine::cores().known_by.rfind("hwloc, ", 0), 0U) << Machine::cores().known_by;
}

// The second hardware threads come last in the system's numbers: the last processor is half of a core that computes.
TEST_F(Placed, TheLastCoreAndNotTheLastProcessor) {
  const Machine machine("pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
  EXPECT_EQ(spare(), (Core{3, 7}));
  EXPECT_EQ(spare(0b0011'0011), (Core{1, 5}));
  EXPECT_EQ(spare(0b0001'0011), Core{1});
}

// Numbers that jump between packages: near is what hwloc says.
TEST_F(Placed, NearTheCoresThatCompute) {
  const Machine machine("pack:2 core:2 pu:1(indexes=0,2,1,3)");
  EXPECT_EQ(spare(kAll, {.place = 0, .processes = 2}), Core{2});
  EXPECT_EQ(spare(kAll, {.place = 1, .processes = 2}), Core{3});
}

TEST_F(Placed, ProcessesThatShareCoresGetOneEach) {
  const Machine machine("core:7 pu:1");
  std::vector<unsigned> taken;
  for (uint32_t place = 0; place < 3; ++place)
    taken.push_back(spare(kAll, {.place = place, .processes = 3}).front());
  EXPECT_EQ(taken, (std::vector<unsigned>{1, 3, 6}));
}

TEST_F(Placed, TheProgressThreadOfANodeTakesTheLastOfAll) {
  const Machine machine("pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
  const Placement placement = node_core(Machine::cores());
  EXPECT_EQ(placement.processors, (Core{3, 7}));
  EXPECT_EQ(
      placement.why,
      "the last of 4 core(s) of the process of the node's progress thread, for all ranks of its node");
  EXPECT_EQ(node_core(Machine::cores(0b0011'0011)).processors, (Core{1, 5}));
  EXPECT_TRUE(node_core({}).processors.empty());
}

TEST_F(Placed, SaysWhereNoneIsFree) {
  const Machine machine("core:2 pu:1");
  const auto why = [](const Sharing& sharing) { return spare_core(Machine::cores(), sharing).why; };
  EXPECT_EQ(why({}), "the last of 2 core(s) of this process");
  EXPECT_NE(why({.place = 1, .processes = 2}).find("computes there too"), std::string::npos);
  EXPECT_NE(why({.place = 2, .processes = 3}).find("computes there too"), std::string::npos);
  EXPECT_NE(why({.place = 0, .processes = 3}).find("no core is left free"), std::string::npos);
  EXPECT_TRUE(spare_core({}, {}).processors.empty());
}

}  // namespace
}  // namespace ompl
