// SPDX-License-Identifier: BSD-3-Clause
// Every limit of uTofu, broken on purpose: the emulator says which.
#include <cstdlib>
#include <string>
#include <vector>

#include "pair.hpp"

namespace emulator::test {
namespace {

constexpr unsigned long kNotice = UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;

class UtofuLimits : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_.change([](utofu_emulator_settings& now) { now.spurious_busy = 0; });
  }
  // What was asked gives `code`, and standard error says `why`.
  template <class Call>
  void refused(int code, const std::string& why, Call&& call) {
    ::testing::internal::CaptureStderr();
    const int answer = call();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(answer, code);
    EXPECT_NE(said.find("utofu emulator: "), std::string::npos) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }
  int put(std::size_t length, uint64_t edata = 0, unsigned long flags = kNotice) {
    return utofu_put(a.handle, b.id, a.stadd, b.stadd, length, edata, flags, nullptr);
  }
  // How the next command ends.
  int outcome() {
    utofu_mrq_notice notice{};
    return next_notice(a, &notice);
  }

  Settings settings_;
  Vcq a{0}, b{1};
};

TEST_F(UtofuLimits, APutOfMoreThan16777215Bytes) {
  refused(UTOFU_ERR_INVALID_SIZE, "16777216 bytes; 1 to 16777215", [&] { return put(16'777'216); });
  refused(UTOFU_ERR_INVALID_SIZE, "16777216 bytes; 1 to 16777215",
          [&] { return utofu_get(a.handle, b.id, a.stadd, b.stadd, 16'777'216, 0, kNotice, nullptr); });
  refused(UTOFU_ERR_INVALID_SIZE, "0 bytes", [&] { return put(0); });
}

TEST_F(UtofuLimits, APiggybackOfMoreThan32Bytes) {
  std::array<uint64_t, 5> data{};
  const auto piggyback = [&](std::size_t length) {
    return utofu_put_piggyback(a.handle, b.id, data.data(), b.stadd, length, 0, kNotice, nullptr);
  };
  EXPECT_EQ(piggyback(32), UTOFU_SUCCESS);
  refused(UTOFU_ERR_INVALID_SIZE, "33 bytes; 1 to 32", [&] { return piggyback(33); });
  refused(UTOFU_ERR_INVALID_SIZE, "9 bytes; 1 to 8",
          [&] { return utofu_put_piggyback8(a.handle, b.id, 1, b.stadd, 9, 0, kNotice, nullptr); });
  EXPECT_EQ(outcome(), UTOFU_SUCCESS);
}

TEST_F(UtofuLimits, ANoticeOfMoreThanOneByte) {
  EXPECT_EQ(put(8, 255), UTOFU_SUCCESS);
  refused(UTOFU_ERR_INVALID_EDATA, "edata 0x100; a notice carries one byte",
          [&] { return put(8, 256); });
  utofu_mrq_notice notice{};
  EXPECT_EQ(next_notice(a, &notice), UTOFU_SUCCESS);
  EXPECT_EQ(notice.edata, 255U);
}

TEST_F(UtofuLimits, MemoryThatIsNotAlignedTo256Bytes) {
  utofu_stadd_t stadd = 0;
  auto* const crooked = reinterpret_cast<std::byte*>(&a.memory) + 128;
  refused(UTOFU_ERR_INVALID_ADDRESS, "not aligned to 256 bytes",
          [&] { return utofu_reg_mem(a.handle, crooked, 512, 0, &stadd); });
  refused(UTOFU_ERR_INVALID_ADDRESS, "not aligned to 256 bytes",
          [&] { return utofu_reg_mem_with_stag(a.handle, crooked, 512, 3, 0, &stadd); });
}

TEST_F(UtofuLimits, AStagThatIsNotForUsersOrInUse) {
  utofu_stadd_t stadd = 0;
  utofu_stadd_t asked = 0;
  refused(UTOFU_ERR_INVALID_STAG, "STag 256; 0 to 255",
          [&] { return utofu_reg_mem_with_stag(a.handle, &a.memory, 512, 256, 0, &stadd); });
  ASSERT_EQ(utofu_reg_mem_with_stag(a.handle, &a.memory, 512, 255, 0, &stadd), UTOFU_SUCCESS);
  EXPECT_EQ(utofu_query_stadd(a.id, 255, &asked), UTOFU_SUCCESS);
  EXPECT_EQ(asked, stadd);
  refused(UTOFU_ERR_USED, "STag 255 is in use",
          [&] { return utofu_reg_mem_with_stag(a.handle, &a.memory, 512, 255, 0, &stadd); });
}

TEST_F(UtofuLimits, ASteeringAddressOfAnotherVcq) {
  refused(UTOFU_ERR_INVALID_STADD, "the remote steering address is of another VCQ",
          [&] { return utofu_put(a.handle, b.id, a.stadd, a.stadd, 8, 0, kNotice, nullptr); });
  refused(UTOFU_ERR_INVALID_STADD, "the local steering address is of another VCQ",
          [&] { return utofu_put(a.handle, b.id, b.stadd, b.stadd, 8, 0, kNotice, nullptr); });
}

TEST_F(UtofuLimits, SixTnisAndEightComponents) {
  utofu_tni_id_t* tnis = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(utofu_get_onesided_tnis(&tnis, &count), UTOFU_SUCCESS);
  std::free(tnis);
  EXPECT_EQ(count, 6U);
  utofu_vcq_hdl_t handle = 0;
  refused(UTOFU_ERR_INVALID_TNI_ID, "no TNI 6", [&] { return utofu_create_vcq(6, 0, &handle); });
  refused(UTOFU_ERR_INVALID_CMP_ID, "component 8; there are 8",
          [&] { return utofu_create_vcq_with_cmp_id(2, 8, 0, &handle); });
}

TEST_F(UtofuLimits, ATniIsFullOnceItsQueuesAreTaken) {
  std::vector<utofu_vcq_hdl_t> handles;
  utofu_vcq_hdl_t handle = 0;
  int code = UTOFU_SUCCESS;
  while ((code = utofu_create_vcq(5, UTOFU_VCQ_FLAG_EXCLUSIVE, &handle)) == UTOFU_SUCCESS)
    handles.push_back(handle);
  EXPECT_EQ(code, UTOFU_ERR_FULL);
  EXPECT_EQ(handles.size(), 12U);
  EXPECT_EQ(utofu_create_vcq(5, UTOFU_VCQ_FLAG_THREAD_SAFE, &handle), UTOFU_ERR_FULL);
  EXPECT_EQ(utofu_free_vcq(handles.back()), UTOFU_SUCCESS);
  handles.pop_back();
  for (int component = 0; component < 8; ++component) {  // eight share the queue that is free again
    EXPECT_EQ(utofu_create_vcq(5, UTOFU_VCQ_FLAG_THREAD_SAFE, &handle), UTOFU_SUCCESS);
    handles.push_back(handle);
  }
  EXPECT_EQ(utofu_create_vcq(5, UTOFU_VCQ_FLAG_THREAD_SAFE, &handle), UTOFU_ERR_FULL);
  for (const utofu_vcq_hdl_t each : handles) EXPECT_EQ(utofu_free_vcq(each), UTOFU_SUCCESS);
}

TEST_F(UtofuLimits, AFullTransmitQueueIsBusyUntilTcqIsPolled) {
  settings_.change([](utofu_emulator_settings& now) {
    now.spurious_busy = 0;
    now.toq_depth = 4;
    now.delay = 0;
  });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(put(8), UTOFU_SUCCESS);
  EXPECT_EQ(put(8), UTOFU_ERR_BUSY);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(outcome(), UTOFU_SUCCESS);
  EXPECT_EQ(put(8), UTOFU_ERR_BUSY);
  void* done = nullptr;
  EXPECT_EQ(utofu_poll_tcq(a.handle, 0, &done), UTOFU_ERR_NOT_FOUND);
  EXPECT_EQ(put(8), UTOFU_SUCCESS);
}

TEST_F(UtofuLimits, MemoryThatIsNotRegisteredOrEndsEarlier) {
  EXPECT_EQ(utofu_put(a.handle, b.id, a.stadd, b.stadd + sizeof(Memory) - 8, 16, 0, kNotice, nullptr),
            UTOFU_SUCCESS);
  EXPECT_EQ(outcome(), UTOFU_ERR_MRQ_RMT_LENGTH);
  utofu_stadd_t other = 0;
  ASSERT_EQ(utofu_query_stadd(b.id, 7, &other), UTOFU_SUCCESS);
  EXPECT_EQ(utofu_put(a.handle, b.id, a.stadd, other, 8, 0, kNotice, nullptr), UTOFU_SUCCESS);
  EXPECT_EQ(outcome(), UTOFU_ERR_MRQ_RMT_STADD);
  ASSERT_EQ(utofu_reg_mem_with_stag(b.handle, &b.memory, 512, 7, UTOFU_REG_MEM_FLAG_READ_ONLY, &other),
            UTOFU_SUCCESS);
  EXPECT_EQ(utofu_put(a.handle, b.id, a.stadd, other, 8, 0, kNotice, nullptr), UTOFU_SUCCESS);
  EXPECT_EQ(outcome(), UTOFU_ERR_MRQ_RMT_MEMORY);
  // What is wrong on the own side stands in the transmit completion queue.
  int mine = 42;
  EXPECT_EQ(utofu_put(a.handle, b.id, a.stadd + sizeof(Memory), b.stadd, 8, 0, kNotice, &mine),
            UTOFU_SUCCESS);
  void* done = nullptr;
  int code = UTOFU_ERR_NOT_FOUND;
  while (code == UTOFU_ERR_NOT_FOUND) code = utofu_poll_tcq(a.handle, 0, &done);
  EXPECT_EQ(code, UTOFU_ERR_TCQ_LENGTH);
  EXPECT_EQ(done, &mine);
}

TEST_F(UtofuLimits, AVcqThatIsGone) {
  utofu_vcq_id_t gone = 0;
  utofu_stadd_t there = 0;
  {
    Vcq c{2};
    gone = c.id;
    there = c.stadd;
  }
  EXPECT_EQ(utofu_put(a.handle, gone, a.stadd, there, 8, 0, kNotice, nullptr), UTOFU_SUCCESS);
  EXPECT_EQ(outcome(), UTOFU_ERR_MRQ_PEER);
  refused(UTOFU_ERR_INVALID_VCQ_ID, "is no VCQ id",
          [&] { return utofu_put(a.handle, 0xffff, a.stadd, there, 8, 0, kNotice, nullptr); });
  refused(UTOFU_ERR_INVALID_VCQ_HDL, "is no VCQ of this process",
          [&] { return utofu_put(99999, b.id, a.stadd, b.stadd, 8, 0, kNotice, nullptr); });
}

TEST_F(UtofuLimits, AtomicsThatAreNotAlignedOrUnknown) {
  refused(UTOFU_ERR_INVALID_STADD, "not aligned to its 8 bytes", [&] {
    return utofu_armw8(a.handle, b.id, UTOFU_ARMW_OP_ADD, 1, b.stadd + 4, 0, kNotice, nullptr);
  });
  refused(UTOFU_ERR_INVALID_OP, "no operation 6", [&] {
    return utofu_armw8(a.handle, b.id, static_cast<utofu_armw_op>(6), 1, b.stadd, 0, kNotice, nullptr);
  });
}

TEST_F(UtofuLimits, InjectedErrors) {
  utofu_emulator_inject(2, UTOFU_ERR_MRQ_PEER);
  EXPECT_EQ(put(8), UTOFU_SUCCESS);
  EXPECT_EQ(outcome(), UTOFU_SUCCESS);
  EXPECT_EQ(put(8), UTOFU_SUCCESS);
  EXPECT_EQ(outcome(), UTOFU_ERR_MRQ_PEER);
  utofu_emulator_inject(1, UTOFU_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(put(8), UTOFU_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(put(8), UTOFU_SUCCESS);
  EXPECT_EQ(outcome(), UTOFU_SUCCESS);
}

using UtofuLimitsDeathTest = UtofuLimits;

TEST_F(UtofuLimitsDeathTest, MoreNoticesThanTheQueueHolds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        settings_.change([](utofu_emulator_settings& now) {
          now.spurious_busy = 0;
          now.mrq_depth = 4;
          now.delay = 0;
        });
        for (int i = 0; i < 5; ++i) put(8);
      },
      "a message receive queue overflowed");
}

TEST_F(UtofuLimitsDeathTest, TwoThreadsInAVcqThatIsNotThreadSafe) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto poll = [](Vcq& vcq) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(200);
    utofu_mrq_notice notice{};
    while (std::chrono::steady_clock::now() < limit) utofu_poll_mrq(vcq.handle, 0, &notice);
  };
  EXPECT_DEATH(
      {
        std::thread other([&] { poll(a); });
        poll(a);
        other.join();
      },
      "two threads at a time");
}

}  // namespace
}  // namespace emulator::test
