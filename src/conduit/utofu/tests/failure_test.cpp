// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong on the interconnect: commands that fail, sides that do not answer, receivers that sleep.
#include <atomic>
#include <cstring>
#include <string>

#include "conduit/utofu/tests/emulator/emulator.h"
#include "conduit/utofu/tests/emulator/utofu.h"
#include "over_utofu.hpp"

namespace ompl::conformance {
namespace {

constexpr std::size_t kLarge = std::size_t{20} << 20;  // more than one put can carry
constexpr int64_t kMoment = 50'000'000;                // ns

class UtofuFailure : public ::testing::Test {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  void TearDown() override { utofu_emulator_inject(0, UTOFU_SUCCESS); }

  // The first signal after the injection and the quiet after it, of rank 0; rank 1 goes on.
  static void breaks(int injected, int code, const char* words) {
    const auto w = utofu_world({.ranks = 2, .endpoints = 1, .ends_well = false});
    std::atomic<uint32_t> settled{0};
    std::atomic<bool> seen{false};
    w->run([&](Rank& r) {
      const uint64_t flag = r.allocate(64);
      ok(r.signal(r.right(), flag));
      ok(r.wait(flag));
      ok(r.quiet());
      ++settled;
      while (settled < 2) r.poll(flag);  // of rank 1 it may fail: rank 0 may be further already
      if (r.rank == 1) {
        while (!seen) r.poll(flag);
        EXPECT_LE(r.count(flag + 4), 2U) << "nothing was sent twice";
        return;
      }
      int answer = OMPL_OK;
      for (uint64_t i = 0; i < 2 && answer == OMPL_OK; ++i) {
        utofu_emulator_inject(1, injected);
        answer = r.signal(1, flag + 4);
        if (answer == OMPL_OK) answer = r.quiet();
      }
      EXPECT_EQ(answer, code) << ompl_error_detail();
      EXPECT_NE(std::strstr(ompl_error_detail(), words), nullptr) << ompl_error_detail();
      EXPECT_EQ(r.signal(1, flag + 4), code) << "and so it stays";
      ok(r.signal(0, flag + 8));
      ok(r.wait(flag + 8));
      seen = true;
    });
  }
};

TEST_F(UtofuFailure, R18_ASideThatDoesNotAnswerIsDead) {
  breaks(UTOFU_ERR_MRQ_PEER, OMPL_ERR_PEER, "does not answer");
}
TEST_F(UtofuFailure, R18_AnErrorOfTheOtherSidesMemoryBreaksTheConnection) {
  breaks(UTOFU_ERR_MRQ_RMT_STADD, OMPL_ERR_LINK, "not registered");
}
TEST_F(UtofuFailure, R18_AnErrorOfThisSideBreaksTheConnection) {
  breaks(UTOFU_ERR_TCQ_MEMORY, OMPL_ERR_LINK, "memory of this side");
}
TEST_F(UtofuFailure, R18_ACommandThatIsRefusedBreaksTheConnection) {
  breaks(UTOFU_ERR_OUT_OF_RESOURCE, OMPL_ERR_LINK, "no resources left");
}

TEST_F(UtofuFailure, R4_AFullRingHoldsTheSenderAndLosesNothing) {
  constexpr uint32_t kSignals = 1000;  // a ring has 128 records
  const auto w = utofu_world({.ranks = 2, .endpoints = 1});
  const uint64_t flag = w->allocate(64);
  std::atomic<uint32_t> sent{0};
  std::atomic<bool> held{false};
  w->run([&](Rank& r) {
    if (r.rank == 1) {
      ok(r.wait(flag + 4));                     // connected
      while (!held) std::this_thread::yield();  // outside the layer
      for (uint32_t i = 0; i < kSignals; ++i) ok(r.wait(flag));
      EXPECT_EQ(r.drain(flag), 0U);
      return;
    }
    ok(r.signal(1, flag + 4));
    int code = OMPL_OK;
    while (code == OMPL_OK) {
      code = r.signal(1, flag, kMoment);
      if (code == OMPL_OK) ++sent;
    }
    EXPECT_EQ(code, OMPL_ERR_TIMEOUT);
    EXPECT_LE(sent, 128U);
    held = true;
    while (sent++ < kSignals) ok(r.signal(1, flag));
  });
}

TEST_F(UtofuFailure, APutLongerThanTheLimitIsSplit) {
  const auto w = utofu_world({.ranks = 2});
  const uint64_t data = w->allocate(kLarge);
  const uint64_t flag = w->allocate(64);
  w->run([&](Rank& r) {
    const std::vector<std::byte> source = pattern(kLarge, r.rank);
    ok(r.put(source.data(), r.right(), data, kLarge));
    ok(r.signal(r.right(), flag));
    ok(r.wait(flag));
    EXPECT_EQ(mismatch(r.own(data), kLarge, r.left()), kLarge);
    std::vector<std::byte> back(kLarge);
    ok(r.get(back.data(), r.right(), data, kLarge));
    EXPECT_EQ(mismatch(back.data(), kLarge, r.rank), kLarge);
    ok(r.barrier());
  });
}

}  // namespace
}  // namespace ompl::conformance
