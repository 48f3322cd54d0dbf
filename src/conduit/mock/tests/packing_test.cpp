// SPDX-License-Identifier: BSD-3-Clause
// Packed data: how many messages they take, and what becomes of them when ranks die.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "conformance/doomed.hpp"
#include "core/calls/layout.hpp"

namespace ompl::conformance {
namespace {

using conduit::mock::Hostility;

constexpr std::size_t kCount = 1000;
constexpr std::ptrdiff_t kStride = 64;

// A column of 1,000 elements of 8 bytes.
class Column {
 public:
  [[nodiscard]] const ompl_strided& shape() const { return shape_; }
  [[nodiscard]] uint64_t source() const { return address(bytes_.data()); }

 private:
  const std::vector<std::byte> bytes_ = pattern(kCount * 8, 1);
  const std::size_t extent_ = kCount;
  const std::ptrdiff_t stride_ = kStride;
  const ompl_strided shape_{.element = 8,
                            .dimensions = 1,
                            .extents = &extent_,
                            .local_strides = nullptr,
                            .remote_strides = &stride_};
};

// Two messages when it is packed, and one for each element when it is not.
TEST(MockPacking, AColumnIsTwoMessages) {
  for (const auto& [mode, messages] : {std::pair{"always", 2U}, std::pair{"never", 1000U}}) {
    SCOPED_TRACE(mode);
    auto fabric = std::make_unique<MockFabric>(2, Hostility{.spurious_retry = 0});
    conduit::mock::Counts& counts = fabric->wire().counts();
    ThreadWorld world(std::move(fabric), {.ranks = 2, .endpoints = 1, .pack = mode});
    world.run([&](Rank& r) {
      const uint64_t data = r.allocate(kCount * kStride);
      const Column column;
      const auto put = [&] {
        ok(ompl_ctx_put_strided(r.ctx(), column.source(), 1, data, &column.shape(), nullptr,
                                OMPL_FOREVER));
        ok(r.flush());
      };
      if (r.rank == 1) return;
      put();  // takes the ring
      const uint64_t before = counts.posted_data;
      put();
      EXPECT_EQ(counts.posted_data - before, messages);
    });
  }
}

// The get of a column: a request and an answer.
TEST(MockPacking, AGetOfAColumnIsTwoMessages) {
  for (const auto& [mode, messages] : {std::pair{"always", 2U}, std::pair{"never", 1000U}}) {
    SCOPED_TRACE(mode);
    auto fabric = std::make_unique<MockFabric>(2, Hostility{.spurious_retry = 0});
    conduit::mock::Counts& counts = fabric->wire().counts();
    ThreadWorld world(std::move(fabric), {.ranks = 2, .endpoints = 1, .pack = mode});
    world.run([&](Rank& r) {
      const uint64_t data = r.allocate(kCount * kStride);
      const Column column;
      std::vector<std::byte> back(kCount * 8);
      if (r.rank == 1) return;
      const auto get = [&] {
        ok(ompl_ctx_get_strided(r.ctx(), address(back.data()), 1, data, &column.shape(), OMPL_FOREVER));
      };
      get();  // takes the ring
      const uint64_t before = counts.posted_data;
      get();
      EXPECT_EQ(counts.posted_data - before, messages);
    });
  }
}

// Handles, a flush and a blocking get tell of the death of the rank that was asked, and the memory of what had been asked for is
// the caller's again: nothing is written there any more.
TEST(MockFailure, R18_PackedGetsAtADeadRankEndWithTheError) {
  for (const bool remote_completion : {true, false}) {
    SCOPED_TRACE(remote_completion);
    Doomed doomed({.remote_completion = remote_completion, .spurious_retry = 0},
                  {.endpoints = 1, .pack = "always"});
    std::atomic<bool> posted{false};
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(kCount * kStride);
      const uint64_t flag = r.allocate(8);
      const Column column;
      std::vector<std::byte> back(kCount * 8);
      const auto get = [&](ompl_ctx* ctx, ompl_handle* handle) {
        return ompl_get_strided_nb(ctx, address(back.data()), 1, data, &column.shape(), handle);
      };
      ok(ompl_ctx_get_strided(r.ctx(), address(back.data()), 1 - r.rank, data, &column.shape(),
                              OMPL_FOREVER));
      doomed.settle(r, flag);
      if (r.rank == 1) {
        while (!posted) ::sched_yield();
        doomed.wire().kill(1);
        while (!doomed.done) ::sched_yield();
        return;
      }
      ompl_ctx* other = nullptr;
      ok(ompl_ctx_create(&other));
      std::array<ompl_handle, 20> handles;  // more than there are landings for
      handles.fill(ompl_handle OMPL_HANDLE_INIT);
      std::size_t asked = 0;
      while (asked < handles.size() && get(r.ctx(), &handles[asked]) == OMPL_PENDING) ++asked;
      EXPECT_EQ(asked, calls::kLandings);
      EXPECT_EQ(get(other, nullptr), OMPL_RETRY_FULL);
      EXPECT_EQ(ompl_handle_test(r.ctx(), handles.data()), 0);
      posted = true;
      EXPECT_TRUE(is_failure(ompl_handle_wait(r.ctx(), handles.data(), OMPL_FOREVER)));
      EXPECT_TRUE(is_failure(r.flush()));
      std::ranges::fill(back, std::byte{7});
      for (std::size_t i = 1; i < asked; ++i)
        EXPECT_TRUE(is_failure(ompl_handle_wait(r.ctx(), &handles[i], OMPL_FOREVER))) << i;
      EXPECT_TRUE(is_failure(get(other, nullptr)));
      EXPECT_TRUE(is_failure(
          ompl_ctx_get_strided(r.ctx(), address(back.data()), 1, data, &column.shape(), OMPL_FOREVER)));
      EXPECT_TRUE(std::ranges::all_of(back, [](std::byte b) { return b == std::byte{7}; }));
      ompl_ctx_destroy(other);
      doomed.done = true;
    });
  }
}

// A handle, a flush and a signal tell of the death of the rank that was to unpack; nothing waits for ever.
TEST(MockFailure, R18_PackedPutsAtADeadRankEndWithTheError) {
  for (const bool remote_completion : {true, false}) {
    SCOPED_TRACE(remote_completion);
    Doomed doomed({.remote_completion = remote_completion, .spurious_retry = 0},
                  {.endpoints = 1, .pack = "always"});
    std::atomic<bool> posted{false};
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(kCount * kStride);
      const uint64_t flag = r.allocate(8);
      const Column column;
      const auto put = [&](ompl_handle* handle) {
        return ompl_put_strided_nb(r.ctx(), column.source(), 1, data, &column.shape(), nullptr, 0,
                                   handle);
      };
      ok(ompl_ctx_put_strided(r.ctx(), column.source(), 1 - r.rank, data, &column.shape(), nullptr,
                              OMPL_FOREVER));  // both have a ring there
      doomed.settle(r, flag);
      if (r.rank == 1) {
        while (!posted) ::sched_yield();
        doomed.wire().kill(1);
        while (!doomed.done) ::sched_yield();
        return;
      }
      ompl_ctx* other = nullptr;
      ok(ompl_ctx_create(&other));
      ompl_handle handle = OMPL_HANDLE_INIT;
      ompl_handle second = OMPL_HANDLE_INIT;
      EXPECT_EQ(put(&handle), OMPL_PENDING);
      EXPECT_EQ(
          ompl_put_strided_nb(other, column.source(), 1, data, &column.shape(), nullptr, 0, &second),
          OMPL_PENDING);
      EXPECT_EQ(ompl_signal_nb(other, 1, nullptr), OMPL_ERR_ARG);
      const ompl_signal follows{.flag_addr = flag, .value = 1, .op = OMPL_ADD32};
      EXPECT_EQ(ompl_signal_nb(other, 1, &follows), OMPL_RETRY_FULL)
          << "a signal does not overtake the elements";
      EXPECT_EQ(ompl_handle_test(r.ctx(), &handle), 0);
      posted = true;
      EXPECT_TRUE(is_failure(ompl_ctx_signal(other, 1, &follows, OMPL_FOREVER)));
      EXPECT_TRUE(is_failure(ompl_ctx_flush(other, OMPL_FOREVER)));
      EXPECT_TRUE(is_failure(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER)));
      EXPECT_TRUE(is_failure(r.flush()));
      EXPECT_TRUE(is_failure(put(&handle)));
      EXPECT_TRUE(is_failure(ompl_ctx_put_strided(r.ctx(), column.source(), 1, data, &column.shape(),
                                                  nullptr, OMPL_FOREVER)));
      ompl_ctx_destroy(other);  // says it again
      doomed.done = true;
    });
  }
}

// All ranks put columns to all and get them back; one dies at some moment. Every survivor's call returns, and soon one with an error.
TEST(MockFailure, R18_ADeathAtAnyMomentOfPackedDataHangsNobody) {
  for (uint64_t seed = 1; seed <= rounds(10); ++seed) {
    SCOPED_TRACE(seed);
    Doomed doomed({.seed = seed, .remote_completion = seed % 2 == 0, .send_depth = 4},
                  {.ranks = 3, .endpoints = 2, .credits = 8, .pack = "always"});
    std::atomic<uint64_t> data{0};
    std::atomic<int> over{0};
    doomed.run([&](Rank& r) { data = r.allocate(kCount * kStride); });
    doomed.run([&](Rank& r) {
      const Column column;
      std::vector<std::byte> back(kCount * 8);
      int code = OMPL_OK;
      for (uint64_t i = 0; code == OMPL_OK; ++i) {
        if (r.rank == 1 && i == 7 * seed % 11) {
          doomed.wire().kill(1);
          return;
        }
        for (uint32_t to = 0; to < r.size && code == OMPL_OK; ++to)
          code = ompl_ctx_put_strided(r.ctx(), column.source(), to, data, &column.shape(), nullptr,
                                      OMPL_FOREVER);
        if (code == OMPL_OK) code = r.flush();
        for (uint32_t from = 0; from < r.size && code == OMPL_OK; ++from)
          code = ompl_ctx_get_strided(r.ctx(), address(back.data()), from, data, &column.shape(),
                                      OMPL_FOREVER);
      }
      EXPECT_TRUE(is_failure(code)) << code;
      ++over;
      while (over < 2) {  // the other survivor may need this one
        ompl_progress(r.ctx(), 0);
        ::sched_yield();
      }
    });
  }
}

}  // namespace
}  // namespace ompl::conformance
