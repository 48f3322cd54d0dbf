// SPDX-License-Identifier: BSD-3-Clause
// Every misuse of the C API gets the code that ompl.h promises, a detail that says what to do, and changes
// nothing. One process, one rank, in the order of a program's life: a test of its own for each state.
#include <gtest/gtest.h>
#include <omnipgas/ompl_ext.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kSize = 1000;
uint64_t g_data = 0;
uint64_t g_flag = 0;
uint64_t g_freed = 0;

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Every function that returns a code, with arguments that would do.
std::vector<std::pair<std::string, std::function<int()>>> all_calls() {
  static uint64_t word = 0;
  static ompl_ctx* context = nullptr;
  static ompl_handle handle = OMPL_HANDLE_INIT;
  static ompl_watch watch;
  static ompl_statistics statistics = OMPL_STATISTICS_INIT;
  static std::size_t index = 0;
  static const ompl_signal signal{.flag_addr = 8192, .value = 1, .op = OMPL_ADD32};
  static const ompl_condition condition{
      .flag_addr = 8192, .value = 0, .comparison = OMPL_TAKE, .width = 32};
  static const ompl_strided block{.element = 8,
                                  .dimensions = 0,
                                  .extents = nullptr,
                                  .local_strides = nullptr,
                                  .remote_strides = nullptr};
  static const ompl_indexed list{.element = 8, .count = 1, .local = nullptr, .remote = nullptr};
  return {
      {"finalize", [] { return ompl_finalize(); }},
      {"rank", [] { return ompl_rank(); }},
      {"size", [] { return ompl_size(); }},
      {"node_rank", [] { return ompl_node_rank(); }},
      {"node_size", [] { return ompl_node_size(); }},
      {"barrier", [] { return ompl_barrier(); }},
      {"barrier_timed", [] { return ompl_barrier_timed(0); }},
      {"alloc", [] { return ompl_alloc(8, &word); }},
      {"free", [] { return ompl_free(8192); }},
      {"put", [] { return ompl_put(address(&word), 0, 8192, 8); }},
      {"get", [] { return ompl_get(address(&word), 0, 8192, 8); }},
      {"put_word", [] { return ompl_put_word(0, 8192); }},
      {"wait", [] { return ompl_wait(8192); }},
      {"poll", [] { return ompl_poll(8192); }},
      {"put_signal", [] { return ompl_put_signal(address(&word), 0, 8192, 8, 8192); }},
      {"flush", [] { return ompl_flush(); }},
      {"quiet", [] { return ompl_quiet(); }},
      {"ctx_create", [] { return ompl_ctx_create(&context); }},
      {"ctx_put", [] { return ompl_ctx_put(OMPL_CTX_DEFAULT, address(&word), 0, 8192, 8, 0); }},
      {"ctx_wait", [] { return ompl_ctx_wait(OMPL_CTX_DEFAULT, 8192, 0); }},
      {"set_yield", [] { return ompl_set_yield(nullptr, nullptr); }},
      {"failure_ack", [] { return ompl_failure_ack(); }},
      {"ctx_signal", [] { return ompl_ctx_signal(OMPL_CTX_DEFAULT, 0, &signal, 0); }},
      {"put_nb",
       [] { return ompl_put_nb(OMPL_CTX_DEFAULT, address(&word), 0, 8192, 8, &signal, 0, &handle); }},
      {"get_nb", [] { return ompl_get_nb(OMPL_CTX_DEFAULT, address(&word), 0, 8192, 8, &handle); }},
      {"signal_nb", [] { return ompl_signal_nb(OMPL_CTX_DEFAULT, 0, &signal); }},
      {"handle_test", [] { return ompl_handle_test(OMPL_CTX_DEFAULT, &handle); }},
      {"handle_wait", [] { return ompl_handle_wait(OMPL_CTX_DEFAULT, &handle, 0); }},
      {"handle_wait_any", [] { return ompl_handle_wait_any(OMPL_CTX_DEFAULT, &handle, 1, &index, 0); }},
      {"handle_wait_all", [] { return ompl_handle_wait_all(OMPL_CTX_DEFAULT, &handle, 1, 0); }},
      {"ctx_wait_until", [] { return ompl_ctx_wait_until(OMPL_CTX_DEFAULT, &condition, 0); }},
      {"ctx_wait_any", [] { return ompl_ctx_wait_any(OMPL_CTX_DEFAULT, &condition, 1, &index, 0); }},
      {"ctx_wait_all", [] { return ompl_ctx_wait_all(OMPL_CTX_DEFAULT, &condition, 1, 0); }},
      {"ctx_atomic64",
       [] { return ompl_ctx_atomic64(OMPL_CTX_DEFAULT, 0, 8192, OMPL_ATOMIC_ADD, 1, 0, &word, 0); }},
      {"atomic64_nb",
       [] {
         return ompl_atomic64_nb(OMPL_CTX_DEFAULT, 0, 8192, OMPL_ATOMIC_ADD, 1, 0, &word, &handle);
       }},
      {"fetch_add64", [] { return ompl_fetch_add64(0, 8192, 1, &word); }},
      {"add64", [] { return ompl_add64(0, 8192, 1); }},
      {"put_strided",
       [] {
         return ompl_ctx_put_strided(OMPL_CTX_DEFAULT, address(&word), 0, 8192, &block, nullptr, 0);
       }},
      {"get_indexed",
       [] { return ompl_ctx_get_indexed(OMPL_CTX_DEFAULT, address(&word), 0, 8192, &list, 0); }},
      {"register", [] { return ompl_register(&word, 8); }},
      {"unregister", [] { return ompl_unregister(&word); }},
      {"progress", [] { return ompl_progress(OMPL_CTX_DEFAULT, 0); }},
      {"handle_then",
       [] {
         return ompl_handle_then(
             &handle, [](void*, int) {}, nullptr);
       }},
      {"flag_then",
       [] {
         return ompl_flag_then(
             &watch, &condition, [](void*, int) {}, nullptr);
       }},
      {"failed_ranks", [] { return ompl_failed_ranks(nullptr, 0, &index); }},
      {"ctx_statistics", [] { return ompl_ctx_statistics(OMPL_CTX_DEFAULT, &statistics); }},
  };
}

// `call` fails with `code` and the detail contains `hint`.
void expect_error(int code, const std::string& hint, int result) {
  EXPECT_EQ(result, code) << ompl_strerror(result);
  EXPECT_NE(std::string(ompl_error_detail()).find(hint), std::string::npos) << ompl_error_detail();
}

// The test sets OMPL_LOG=off, which counts from the first call on.
TEST(ApiErrors, T0_BeforeInitEveryCallSaysSo) {
  testing::internal::CaptureStderr();
  for (const auto& [name, call] : all_calls()) {
    SCOPED_TRACE(name);
    expect_error(OMPL_ERR_STATE, "ompl_init", call());
  }
  EXPECT_EQ(ompl_ptr(0, 8192), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ApiErrors, T1_InitOnce) {
  ASSERT_EQ(ompl_init(), OMPL_OK) << ompl_error_detail();
  expect_error(OMPL_ERR_STATE, "already called", ompl_init());
  ASSERT_EQ(ompl_alloc(kSize, &g_data), OMPL_OK);
  ASSERT_EQ(ompl_alloc(4, &g_flag), OMPL_OK);
  ASSERT_EQ(ompl_alloc(kSize, &g_freed), OMPL_OK);
  ASSERT_EQ(ompl_free(g_freed), OMPL_OK);
}

struct BadRange {
  const char* name;
  uint64_t offset_from_data;
  std::size_t length;
  int code;
};

TEST(ApiErrors, T2_BadRangesWriteNothing) {
  auto* memory = static_cast<unsigned char*>(ompl_ptr(0, g_data));
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 0x5a, kSize);
  std::vector<unsigned char> local(2 * kSize, 0xee);
  const BadRange ranges[] = {
      {"offset 0", -g_data, 8, OMPL_ERR_OFFSET},
      {"in the layer's pages", 300 - g_data, 8, OMPL_ERR_OFFSET},
      {"freed", g_freed - g_data, 8, OMPL_ERR_OFFSET},
      {"behind the segment", UINT64_MAX / 2, 8, OMPL_ERR_OFFSET},
      {"at the end of the address range", UINT64_MAX - g_data, 1, OMPL_ERR_OFFSET},
      {"one byte too long", 0, kSize + 1, OMPL_ERR_LENGTH},
      {"runs over the end", kSize - 1, 2, OMPL_ERR_LENGTH},
      {"length overflows", 8, SIZE_MAX, OMPL_ERR_LENGTH},
  };
  for (int warm = 0; warm < 2; ++warm) {  // with and without a remembered allocation
    for (const BadRange& bad : ranges) {
      SCOPED_TRACE(bad.name);
      const uint64_t offset = g_data + bad.offset_from_data;
      expect_error(bad.code, "ompl_put", ompl_put(address(local.data()), 0, offset, bad.length));
      expect_error(bad.code, "ompl_get", ompl_get(address(local.data()), 0, offset, bad.length));
      expect_error(bad.code, "ompl_put_signal",
                   ompl_put_signal(address(local.data()), 0, offset, bad.length, g_flag));
    }
    ASSERT_EQ(ompl_get(address(local.data() + kSize), 0, g_data, kSize), OMPL_OK);
    EXPECT_EQ(std::count(memory, memory + kSize, 0x5a), static_cast<std::ptrdiff_t>(kSize));
    EXPECT_EQ(std::count(local.begin(), local.begin() + kSize, 0xee),
              static_cast<std::ptrdiff_t>(kSize));
  }
  EXPECT_EQ(ompl_poll(g_flag), 0) << "a failed put_signal signalled";
}

TEST(ApiErrors, T3_BadRanksAndFlags) {
  uint64_t word = 1;
  for (const uint32_t rank : {1U, UINT32_MAX}) {
    expect_error(OMPL_ERR_RANK, "does not exist", ompl_put(address(&word), rank, g_data, 8));
    expect_error(OMPL_ERR_RANK, "does not exist", ompl_put(address(&word), rank, g_data, 0));
    expect_error(OMPL_ERR_RANK, "does not exist", ompl_get(address(&word), rank, g_data, 8));
    expect_error(OMPL_ERR_RANK, "does not exist", ompl_put_word(rank, g_flag));
    EXPECT_EQ(ompl_ptr(rank, g_data), nullptr);
  }
  for (const uint64_t off : {1, 2, 3}) {
    expect_error(OMPL_ERR_ALIGN, "multiple of 4", ompl_put_word(0, g_flag + off));
    expect_error(OMPL_ERR_ALIGN, "multiple of 4", ompl_wait(g_flag + off));
    expect_error(OMPL_ERR_ALIGN, "multiple of 4", ompl_poll(g_flag + off));
  }
  expect_error(OMPL_ERR_OFFSET, "not allocated", ompl_put_word(0, 0));
  expect_error(OMPL_ERR_OFFSET, "not allocated", ompl_wait(g_freed));
  expect_error(OMPL_ERR_OFFSET, "not allocated", ompl_poll(g_flag + 4));
  EXPECT_EQ(ompl_put(address(&word), 0, 0, 0), OMPL_OK) << "length 0 checks the rank only";
}

TEST(ApiErrors, T4_MemoryRunsOutInWords) {
  uint64_t offset = 77;
  expect_error(OMPL_ERR_ARG, "size is 0", ompl_alloc(0, &offset));
  expect_error(OMPL_ERR_ARG, "null", ompl_alloc(8, nullptr));
  expect_error(OMPL_ERR_MEMORY, "OMPL_SEGMENT_SIZE", ompl_alloc(SIZE_MAX, &offset));
  expect_error(OMPL_ERR_MEMORY, "OMPL_SEGMENT_SIZE", ompl_alloc(std::size_t{1} << 45, &offset));
  // The test sets a segment larger than any memory this could run on.
  expect_error(OMPL_ERR_MEMORY, "available", ompl_alloc(std::size_t{1} << 43, &offset));
  EXPECT_EQ(offset, 77U) << "outputs are set on success only";
  expect_error(OMPL_ERR_OFFSET, "ompl_free", ompl_free(g_freed));
  expect_error(OMPL_ERR_OFFSET, "ompl_free", ompl_free(g_data + 256));
  expect_error(OMPL_ERR_ARG, "null", ompl_ctx_create(nullptr));
  std::size_t count = 77;
  expect_error(OMPL_ERR_ARG, "null", ompl_failed_ranks(nullptr, 1, &count));
  expect_error(OMPL_ERR_ARG, "null", ompl_failed_ranks(nullptr, 0, nullptr));
  EXPECT_EQ(count, 77U);
}

TEST(ApiErrors, T5_TimeLimitsTakeNothing) {
  EXPECT_EQ(ompl_ctx_wait(OMPL_CTX_DEFAULT, g_flag, 0), OMPL_ERR_TIMEOUT);
  EXPECT_EQ(ompl_ctx_wait(OMPL_CTX_DEFAULT, g_flag, 20'000'000), OMPL_ERR_TIMEOUT);
  ASSERT_EQ(ompl_put_word(0, g_flag), OMPL_OK);
  EXPECT_EQ(ompl_poll(g_flag), 1);
  EXPECT_EQ(ompl_ctx_wait(OMPL_CTX_DEFAULT, g_flag, 0), OMPL_OK);
  EXPECT_EQ(ompl_poll(g_flag), 0);
}

// Whatever failed before; also where other calls fail before it is read.
TEST(ApiErrors, T5_TheDetailIsThatOfTheLastFailure) {
  for (const int64_t limit : {int64_t{0}, int64_t{1'000'000}}) {
    ASSERT_EQ(ompl_put_word(7, g_flag), OMPL_ERR_RANK);
    expect_error(OMPL_ERR_TIMEOUT, "time limit", ompl_ctx_wait(OMPL_CTX_DEFAULT, g_flag, limit));
    expect_error(OMPL_ERR_RANK, "rank 7", ompl_put_word(7, g_flag));
  }
  const char* const first = ompl_error_detail();
  for (const uint32_t rank : {1001U, 1002U, 1003U})
    ASSERT_EQ(ompl_put_word(rank, g_flag), OMPL_ERR_RANK);
  EXPECT_NE(std::string(first).find("rank 7"), std::string::npos) << first;
}

// A negative limit is none: another thread ends the wait.
TEST(ApiErrors, T5_NegativeLimitsWaitForEver) {
  std::thread other([] { EXPECT_EQ(ompl_put_word(0, g_flag), OMPL_OK); });
  EXPECT_EQ(ompl_ctx_wait(OMPL_CTX_DEFAULT, g_flag, -5), OMPL_OK);
  other.join();
}

TEST(ApiErrors, T6_AfterFinalizeEveryCallSaysSoInEveryThread) {
  // A thread that used the library before has a context of its own.
  enum { kUse, kFinalized, kDone };
  std::atomic<int> phase{kUse};
  std::thread other([&phase] {
    uint64_t word = 0;
    EXPECT_EQ(ompl_put(address(&word), 0, g_data, 8), OMPL_OK);
    phase.store(kDone);
    while (phase.load() != kFinalized) std::this_thread::yield();
    EXPECT_EQ(ompl_put(address(&word), 0, g_data, 8), OMPL_ERR_STATE);
    EXPECT_EQ(ompl_put_word(0, g_flag), OMPL_ERR_STATE);
    EXPECT_EQ(ompl_wait(g_flag), OMPL_ERR_STATE);
  });
  while (phase.load() != kDone) std::this_thread::yield();
  ASSERT_EQ(ompl_finalize(), OMPL_OK);
  phase.store(kFinalized);
  other.join();
  for (const auto& [name, call] : all_calls()) {
    SCOPED_TRACE(name);
    expect_error(OMPL_ERR_STATE, "finalized", call());
  }
  expect_error(OMPL_ERR_STATE, "finalized", ompl_init());
  EXPECT_EQ(ompl_ptr(0, g_data), nullptr);
}

TEST(ApiErrors, T7_EveryCodeHasItsName) {
  for (int code = OMPL_ERR_SYSTEM; code <= OMPL_PENDING; ++code) {
    EXPECT_EQ(std::string(ompl_strerror(code)).rfind("OMPL_", 0), 0U) << code;
  }
  EXPECT_STREQ(ompl_strerror(12345), "unknown result code");
  EXPECT_STREQ(ompl_version(), OMPL_VERSION_TEXT);
}

}  // namespace
