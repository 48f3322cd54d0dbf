// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/watches.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace ompl {
namespace {

constexpr std::size_t kMany = 10'000;

struct Watched {
  std::vector<Watch> watches;
  Watches set;
  FlagMarks marks{};
  std::set<const Pending*> over;  // those whose condition holds
  std::size_t looks = 0;

  explicit Watched(std::size_t count) : watches(count) {
    set.prepare();
    for (std::size_t i = 0; i < count; ++i) {
      watches[i] = {};
      watches[i].kind = Pending::Kind::flag;
      watches[i].condition.flag_addr = flag(i);
      set.insert(&watches[i]);
    }
  }
  static uint64_t flag(std::size_t number) { return 8192 + 8 * number; }

  std::set<const Pending*> collect(bool all = false) {
    std::set<const Pending*> taken;
    looks = 0;
    set.collect(
        marks, all,
        [this](const Pending& entry) {
          ++looks;
          return over.contains(&entry);
        },
        [&taken](const Pending* entry) { taken.insert(entry); });
    return taken;
  }
};

TEST(Watches, OnlyThoseOfChangedFlagsAreLookedAt) {
  Watched all(kMany);
  EXPECT_TRUE(all.collect().empty());
  EXPECT_LT(all.looks, 50U) << "the cost must not grow with what is idle";
  for (const std::size_t changed : {std::size_t{17}, std::size_t{4711}, kMany - 1}) {
    all.over = {&all.watches[changed]};
    leave_mark(all.marks, Watched::flag(changed));
    EXPECT_EQ(all.collect(), all.over);
    EXPECT_LT(all.looks, 50U);
  }
}

TEST(Watches, EachIsFoundWithoutAMarkInTheEnd) {
  Watched all(kMany);
  for (const Watch& watch : all.watches) all.over.insert(&watch);
  std::set<const Pending*> found;
  for (std::size_t turn = 0; turn < 2 * kMarks && found.size() < kMany; ++turn) {
    for (const Pending* const watch : all.collect()) {
      EXPECT_TRUE(found.insert(watch).second) << "found twice";
      all.over.erase(watch);
    }
  }
  EXPECT_EQ(found.size(), kMany);
  EXPECT_TRUE(all.collect(true).empty());
}

TEST(Watches, AllAreLookedAtIfThatIsAskedForOrTheyAreFew) {
  Watched many(kMany);
  many.over = {&many.watches[3], &many.watches[kMany / 2]};
  EXPECT_EQ(many.collect(true), many.over);
  EXPECT_EQ(many.looks, kMany);
  Watched few(10);
  few.over = {&few.watches[3]};
  EXPECT_EQ(few.collect(), few.over);
  EXPECT_EQ(few.looks, 10U);
}

}  // namespace
}  // namespace ompl
