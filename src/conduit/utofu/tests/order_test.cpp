// SPDX-License-Identifier: BSD-3-Clause
// What arrives, in which order: strong order holds, and nothing else does.
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "pair.hpp"

namespace emulator::test {
namespace {

constexpr unsigned long kNotice = UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;
constexpr unsigned long kStrong = UTOFU_ONESIDED_FLAG_STRONG_ORDER;

utofu_emulator_counts counts() {
  utofu_emulator_counts now{};
  utofu_emulator_count(&now);
  return now;
}

uint64_t seen(Vcq& vcq, std::size_t word) {
  return std::atomic_ref(vcq.memory.words[word]).load(std::memory_order_acquire);
}

void take(Vcq& vcq, int notices) {
  for (int i = 0; i < notices; ++i) {
    utofu_mrq_notice notice{};
    ASSERT_EQ(next_notice(vcq, &notice), UTOFU_SUCCESS);
  }
}

class UtofuOrder : public ::testing::Test {
 protected:
  Vcq a{0}, b{1};
};

TEST_F(UtofuOrder, PutAndGetMoveTheBytes) {
  for (std::size_t i = 0; i < 1024; ++i) a.memory.words[i] = i * 7 + 1;
  ASSERT_EQ(insist(a, utofu_put, b.id, a.stadd, b.stadd + 512, 8192, 9, kNotice, nullptr),
            UTOFU_SUCCESS);
  utofu_mrq_notice notice{};
  ASSERT_EQ(next_notice(a, &notice), UTOFU_SUCCESS);
  EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_LCL_PUT);
  EXPECT_EQ(notice.vcq_id, b.id);
  EXPECT_EQ(notice.edata, 9U);
  EXPECT_EQ(std::memcmp(&b.memory.words[64], a.memory.words.data(), 8192), 0);
  ASSERT_EQ(insist(a, utofu_get, b.id, a.stadd + 16384, b.stadd + 512, 8192, 1, kNotice, nullptr),
            UTOFU_SUCCESS);
  ASSERT_EQ(next_notice(a, &notice), UTOFU_SUCCESS);
  EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_LCL_GET);
  EXPECT_EQ(std::memcmp(&a.memory.words[2048], a.memory.words.data(), 8192), 0);
}

TEST_F(UtofuOrder, ARemoteNoticeComesAfterTheData) {
  const unsigned long flags = kNotice | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE;
  ASSERT_EQ(insist(a, utofu_put_piggyback8, b.id, 77, b.stadd, 8, 200, flags, nullptr), UTOFU_SUCCESS);
  utofu_mrq_notice notice{};
  ASSERT_EQ(next_notice(b, &notice), UTOFU_SUCCESS);
  EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_RMT_PUT);
  EXPECT_EQ(notice.vcq_id, a.id);
  EXPECT_EQ(notice.edata, 200U);
  EXPECT_EQ(seen(b, 0), 77U);
  take(a, 1);
}

TEST_F(UtofuOrder, AtomicsReturnWhatStoodThere) {
  b.memory.words[1] = 40;
  const auto word8 = [&](utofu_armw_op op, uint64_t value) {
    utofu_mrq_notice notice{};
    EXPECT_EQ(insist(a, utofu_armw8, b.id, op, value, b.stadd + 8, 3, kNotice, nullptr), UTOFU_SUCCESS);
    EXPECT_EQ(next_notice(a, &notice), UTOFU_SUCCESS);
    EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_LCL_ARMW);
    return notice.rmt_value;
  };
  EXPECT_EQ(word8(UTOFU_ARMW_OP_ADD, 2), 40U);
  EXPECT_EQ(word8(UTOFU_ARMW_OP_XOR, 1), 42U);
  EXPECT_EQ(word8(UTOFU_ARMW_OP_AND, 3), 43U);
  EXPECT_EQ(word8(UTOFU_ARMW_OP_OR, 8), 3U);
  EXPECT_EQ(word8(UTOFU_ARMW_OP_SWAP, 5), 11U);
  const auto swap = [&](uint64_t old, uint64_t value) {
    utofu_mrq_notice notice{};
    EXPECT_EQ(insist(a, utofu_cswap8, b.id, old, value, b.stadd + 8, 3, kNotice, nullptr),
              UTOFU_SUCCESS);
    EXPECT_EQ(next_notice(a, &notice), UTOFU_SUCCESS);
    return notice.rmt_value;
  };
  EXPECT_EQ(swap(6, 9), 5U);
  EXPECT_EQ(seen(b, 1), 5U);
  EXPECT_EQ(swap(5, 9), 5U);
  EXPECT_EQ(seen(b, 1), 9U);
  // Half a word.
  utofu_mrq_notice notice{};
  ASSERT_EQ(insist(a, utofu_armw4, b.id, UTOFU_ARMW_OP_ADD, 1, b.stadd + 12, 3, kNotice, nullptr),
            UTOFU_SUCCESS);
  ASSERT_EQ(next_notice(a, &notice), UTOFU_SUCCESS);
  EXPECT_EQ(seen(b, 1), 9U + (uint64_t{1} << 32));
}

TEST_F(UtofuOrder, AtomicsOfManyInitiatorsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 500;
  std::vector<std::thread> threads;
  for (utofu_tni_id_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      Vcq own{t};
      for (int i = 0; i < kTimes; ++i) {
        EXPECT_EQ(insist(own, utofu_armw8, a.id, UTOFU_ARMW_OP_ADD, 1, a.stadd, 0, kNotice, nullptr),
                  UTOFU_SUCCESS);
        take(own, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen(a, 0), uint64_t{kThreads} * kTimes);
}

// Whoever polls the last word of a strong put finds all before it, in the put and in the strong puts before it.
TEST_F(UtofuOrder, StrongOrderHoldsThoughAllElseIsScrambled) {
  constexpr uint64_t kRounds = 2000;
  constexpr std::size_t kData = 64;   // words of a put
  constexpr std::size_t kFlag = 256;  // the word that is polled
  const utofu_emulator_counts before = counts();
  for (uint64_t round = 1; round <= kRounds; ++round) {
    for (std::size_t i = 0; i < kData; ++i) a.memory.words[i] = round;
    ASSERT_EQ(insist(a, utofu_put, b.id, a.stadd, b.stadd, kData * 8, 0, kStrong | kNotice, nullptr),
              UTOFU_SUCCESS);
    ASSERT_EQ(insist(a, utofu_put_piggyback8, b.id, round, b.stadd + kFlag * 8, 8, 0, kStrong | kNotice,
                     nullptr),
              UTOFU_SUCCESS);
    void* done = nullptr;
    while (seen(b, kFlag) != round) utofu_poll_tcq(a.handle, 0, &done);
    for (std::size_t i = 0; i < kData; ++i) ASSERT_EQ(b.memory.words[i], round) << "word " << i;
    take(a, 2);
  }
  EXPECT_GE(counts().posts, before.posts + 2 * kRounds);
}

// The proof that the order above is not an accident: without the flag it does not hold.
TEST_F(UtofuOrder, WithoutStrongOrderPutsOvertakeAndTear) {
  constexpr int kRounds = 300;
  const utofu_emulator_counts before = counts();
  int early = 0;
  for (int round = 1; round <= kRounds; ++round) {
    a.memory.words[0] = static_cast<uint64_t>(round);
    ASSERT_EQ(insist(a, utofu_put, b.id, a.stadd, b.stadd, 512, 0, kNotice, nullptr), UTOFU_SUCCESS);
    ASSERT_EQ(insist(a, utofu_put_piggyback8, b.id, static_cast<uint64_t>(round), b.stadd + 2048, 8, 0,
                     kNotice, nullptr),
              UTOFU_SUCCESS);
    utofu_mrq_notice notice{};
    ASSERT_EQ(next_notice(a, &notice), UTOFU_SUCCESS);
    if (notice.rmt_stadd == b.stadd + 2048) ++early;
    take(a, 1);
  }
  EXPECT_GT(early, 0);
  EXPECT_GT(counts().overtaken, before.overtaken);
  EXPECT_GT(counts().torn, before.torn);
}

TEST_F(UtofuOrder, TheHardwareWaitsForNobody) {
  ASSERT_EQ(insist(a, utofu_put_piggyback8, b.id, 5, b.stadd, 8, 0, kStrong, nullptr), UTOFU_SUCCESS);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(200);
  while (seen(b, 0) != 5 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_EQ(seen(b, 0), 5U);
}

TEST_F(UtofuOrder, BusyComesNowAndThenForNoReason) {
  const Settings settings;
  settings.change([](utofu_emulator_settings& now) { now.spurious_busy = 4; });
  const uint64_t before = counts().busy;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(insist(a, utofu_put_piggyback8, b.id, 5, b.stadd, 8, 0, kNotice, nullptr), UTOFU_SUCCESS);
    take(a, 1);
  }
  EXPECT_GT(counts().busy, before);
}

}  // namespace
}  // namespace emulator::test
