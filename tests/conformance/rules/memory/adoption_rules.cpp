// SPDX-License-Identifier: BSD-3-Clause
// Memory of the program that becomes part of the segment; static data of whole programs: tests/process/adoption.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "conformance/conformance.hpp"
#include "omnipgas/ompl_memory.h"

namespace ompl::conformance {
namespace {

// Private memory of one rank.
class Pages {
 public:
  explicit Pages(std::size_t pages)
      : length_(pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    data_ = ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, flags, -1, 0);
    EXPECT_NE(data_, MAP_FAILED);
  }
  ~Pages() { ::munmap(data_, length_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t size() const { return length_; }
  void fill(uint64_t seed) const {
    const auto bytes = pattern(length_, seed);
    std::memcpy(data_, bytes.data(), length_);
  }
  [[nodiscard]] bool holds(uint64_t seed) const { return mismatch(data_, length_, seed) == length_; }

 private:
  std::size_t length_;
  void* data_;
};

// All ranks together, or each alone, which then tells the others its offset.
TEST_P(Conformance, Adoption_OthersWriteTheProgramsOwnMemory) {
  const auto w = world({.ranks = 3});
  const uint64_t told = w->allocate(3 * sizeof(uint64_t));
  w->run([&](Rank& r) {
    const Pages pages(20);
    for (uint32_t round = 0; round < 4; ++round) {
      const bool alone = round % 2 != 0;
      pages.fill(10 * round + r.rank);
      uint64_t mine = 0;
      ok(alone ? ompl_adopt_local(pages.data(), pages.size(), &mine)
               : ompl_adopt(pages.data(), pages.size(), &mine));
      EXPECT_TRUE(pages.holds(10 * round + r.rank));
      for (uint32_t target = 0; target < r.size; ++target)
        ok(r.put(&mine, target, told + r.rank * sizeof mine, sizeof mine));
      ok(r.barrier());
      uint64_t theirs = 0;
      std::memcpy(&theirs, r.own(told) + r.right() * sizeof theirs, sizeof theirs);
      std::vector<std::byte> got(pages.size());
      ok(r.get(got.data(), r.right(), theirs, got.size()));
      EXPECT_EQ(mismatch(got.data(), got.size(), 10 * round + r.right()), got.size());
      ok(r.barrier());
      const auto data = pattern(pages.size(), 500 + r.rank);
      ok(r.put(data.data(), r.right(), theirs, data.size()));
      ok(r.barrier());
      EXPECT_TRUE(pages.holds(500 + r.left())) << "at the program's own address";
      EXPECT_EQ(ompl_free_local(mine), OMPL_ERR_OFFSET);
      ok(r.barrier());
      ok(alone ? ompl_unadopt_local(mine) : ompl_unadopt(mine));
      EXPECT_TRUE(pages.holds(500 + r.left())) << "and so it stays";
      EXPECT_EQ(ompl_unadopt_local(mine), OMPL_ERR_OFFSET);
      ok(r.barrier());
    }
  });
}

TEST_P(Conformance, Adoption_AQuestionSaysBeforehandWhatCannotBeAdopted) {
  world()->run([](Rank&) {
    const Pages pages(3);
    ok(ompl_can_adopt(pages.data(), pages.size()));
    EXPECT_EQ(ompl_can_adopt(pages.data() + 8, pages.size()), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_can_adopt(pages.data(), pages.size() - 8), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_can_adopt(pages.data(), 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_can_adopt(nullptr, pages.size()), OMPL_ERR_ARG);
    uint64_t offset = 0;
    ok(ompl_adopt_local(pages.data(), pages.size(), &offset));
    EXPECT_EQ(ompl_can_adopt(pages.data(), pages.size()), OMPL_ERR_UNSUPPORTED) << "adopted";
    ok(ompl_unadopt_local(offset));
    ok(ompl_can_adopt(pages.data(), pages.size()));
    EXPECT_EQ(::mprotect(pages.data(), pages.size() / 3, PROT_READ), 0);
    EXPECT_EQ(ompl_can_adopt(pages.data(), pages.size()), OMPL_ERR_UNSUPPORTED) << "read-only";
    void* const shared =
        ::mmap(nullptr, pages.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(ompl_can_adopt(shared, pages.size()), OMPL_ERR_UNSUPPORTED) << "a shared mapping";
    ::munmap(shared, pages.size());
  });
}

TEST_P(Conformance, Adoption_OneRanksErrorIsEverybodysAndLeavesAllAsItWas) {
  world()->run([](Rank& r) {
    const Pages pages(3);
    pages.fill(r.rank);
    uint64_t offset = 42;
    if (r.size > 1) {
      const bool wrong = r.rank == 0;
      EXPECT_EQ(ompl_adopt(pages.data() + (wrong ? 8 : 0), pages.size(), &offset),
                wrong ? OMPL_ERR_ARG : OMPL_ERR_MEMORY);
      EXPECT_EQ(ompl_adopt(pages.data(), wrong ? pages.size() / 3 : pages.size(), &offset),
                OMPL_ERR_ARG);
    }
    EXPECT_EQ(ompl_adopt(pages.data(), pages.size(), nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_unadopt(512), OMPL_ERR_OFFSET);
    EXPECT_EQ(offset, 42U);
    EXPECT_TRUE(pages.holds(r.rank));
    const uint64_t before = r.allocate(64);
    ok(ompl_adopt(pages.data(), pages.size(), &offset));
    EXPECT_GT(offset, before);
    if (r.size > 1) {
      EXPECT_EQ(ompl_unadopt(r.rank == 0 ? offset : before),
                r.rank == 0 ? OMPL_ERR_ARG : OMPL_ERR_OFFSET);
    }
    EXPECT_EQ(std::memcmp(r.own(offset), pages.data(), pages.size()), 0);
    pages.data()[5] = std::byte{77};
    EXPECT_EQ(r.own(offset)[5], std::byte{77}) << "still one memory";
    ok(ompl_unadopt(offset));
    EXPECT_EQ(r.pointer(r.rank, offset), nullptr);
  });
}

}  // namespace
}  // namespace ompl::conformance
