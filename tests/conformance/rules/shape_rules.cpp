// SPDX-License-Identifier: BSD-3-Clause
// Strided and indexed data, against the plain loops that define them.
#include "shape_rules.hpp"

namespace ompl::conformance {
namespace {

TEST_P(Conformance, Shapes_StridedPutAndGetAreTheirLoops) {
  const auto w = world();
  const uint64_t data = w->allocate(kBytes);
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    std::mt19937 dice(11);  // the same shapes on every rank
    const auto source = pattern(kBytes, r.rank);
    for (uint32_t i = 0; i < rounds(60); ++i) {
      const Block block(dice);
      const ompl_strided shape = block.shape();
      const ompl_signal arrived{.flag_addr = flag, .value = 1, .op = OMPL_ADD32};
      ok(ompl_ctx_put_strided(r.ctx(), address(&source[block.origin[0]]), r.right(),
                              data + block.origin[1], &shape, &arrived, OMPL_FOREVER));
      ok(r.wait(flag));
      const auto expected = block.moved(pattern(kBytes, r.left()));
      ASSERT_EQ(std::memcmp(r.own(data), expected.data(), kBytes), 0) << "shape " << i;
      ok(r.barrier());

      // Back again: what the right neighbour holds is the own source's elements.
      std::vector<std::byte> back(kBytes);
      ok(ompl_ctx_get_strided(r.ctx(), address(&back[block.origin[0]]), r.right(),
                              data + block.origin[1], &shape, OMPL_FOREVER));
      const auto own = block.moved(source, true);
      ASSERT_EQ(std::memcmp(back.data(), own.data(), kBytes), 0) << "shape " << i;
      ok(r.barrier());
      std::memset(r.own(data), 0, kBytes);
      ok(r.barrier());
    }
  });
}

// Packed on either side, and empty blocks, which still signal.
TEST_P(Conformance, Shapes_PackedAndEmpty) {
  const auto w = world();
  const uint64_t data = w->allocate(4096);
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    const ompl_signal arrived{.flag_addr = flag, .value = 1, .op = OMPL_ADD32};
    const std::array<std::size_t, 2> extents{16, 8};
    const std::array<std::ptrdiff_t, 2> spread{32, 2};
    const auto source = pattern(128, 5);
    ompl_strided shape{.element = 1,
                       .dimensions = 2,
                       .extents = extents.data(),
                       .local_strides = nullptr,
                       .remote_strides = spread.data()};
    ok(ompl_ctx_put_strided(r.ctx(), address(source.data()), r.right(), data, &shape, &arrived,
                            OMPL_FOREVER));
    ok(r.wait(flag));
    for (std::size_t i = 0; i < 128; ++i)
      EXPECT_EQ(r.own(data)[i / 8 * 32 + i % 8 * 2], source[i]) << i;
    ok(r.barrier());

    shape.remote_strides = nullptr;  // then it is one piece
    ok(ompl_ctx_put_strided(r.ctx(), address(source.data()), r.right(), data + 2048, &shape, nullptr,
                            OMPL_FOREVER));
    const std::array<std::size_t, 2> none{16, 0};
    shape.extents = none.data();
    ok(ompl_ctx_put_strided(r.ctx(), 0, r.right(), data, &shape, &arrived, OMPL_FOREVER));
    ok(r.wait(flag));
    EXPECT_EQ(mismatch(r.own(data + 2048), 128, 5), 128U);
    shape.dimensions = 0;  // one element
    ok(ompl_ctx_put_strided(r.ctx(), address(source.data()), r.right(), data + 4095, &shape, &arrived,
                            OMPL_FOREVER));
    ok(r.wait(flag));
    EXPECT_EQ(r.own(data)[4095], source[0]);
  });
}

TEST_P(Conformance, Shapes_IndexedPutAndGet) {
  constexpr std::size_t kCount = 40;
  const auto w = world();
  const uint64_t data = w->allocate(kBytes);
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    std::array<uint64_t, kCount> local{};
    std::array<uint64_t, kCount> remote{};
    for (std::size_t i = 0; i < kCount; ++i) {
      local.at(i) = i * 7 % kCount * 20;
      remote.at(i) = i * 11 % kCount * 100 + 4;
    }
    const auto source = pattern(kCount * 20, r.rank);
    const ompl_signal arrived{.flag_addr = flag, .value = 1, .op = OMPL_ADD32};
    ompl_indexed list{.element = 12, .count = kCount, .local = local.data(), .remote = remote.data()};
    ok(ompl_ctx_put_indexed(r.ctx(), address(source.data()), r.right(), data, &list, &arrived,
                            OMPL_FOREVER));
    ok(r.wait(flag));
    const auto theirs = pattern(kCount * 20, r.left());
    for (std::size_t i = 0; i < kCount; ++i)
      EXPECT_EQ(std::memcmp(r.own(data) + remote.at(i), &theirs[local.at(i)], 12), 0) << i;

    ok(r.flush());         // a get is not ordered after a put
    list.local = nullptr;  // gathered into packed memory
    std::vector<std::byte> packed(kCount * 12);
    ok(ompl_ctx_get_indexed(r.ctx(), address(packed.data()), r.right(), data, &list, OMPL_FOREVER));
    for (std::size_t i = 0; i < kCount; ++i)
      EXPECT_EQ(std::memcmp(&packed[i * 12], &source[local.at(i)], 12), 0) << i;
    ok(r.barrier());

    list.remote = nullptr;  // and put back as one piece
    ok(ompl_ctx_put_indexed(r.ctx(), address(packed.data()), r.right(), data + 8192, &list, &arrived,
                            OMPL_FOREVER));
    ok(r.wait(flag));
    for (std::size_t i = 0; i < kCount; ++i)
      EXPECT_EQ(std::memcmp(r.own(data) + 8192 + i * 12, &theirs[local.at(i)], 12), 0) << i;
    list.count = 0;
    ok(ompl_ctx_put_indexed(r.ctx(), 0, r.right(), data, &list, &arrived, OMPL_FOREVER));
    ok(r.wait(flag));
    ok(r.barrier());
  });
}

// All addresses are checked before anything moves.
TEST_P(Conformance, Shapes_BadArgumentsMoveNothing) {
  const auto w = world();
  const uint64_t data = w->allocate(1000);
  w->run([&](Rank& r) {
    const auto source = pattern(4096, 1);
    const std::array<std::size_t, 2> extents{10, 10};
    const std::array<std::ptrdiff_t, 2> strides{110, 8};
    const auto put = [&](const ompl_strided& shape, uint64_t to = 0) {
      return ompl_ctx_put_strided(r.ctx(), address(source.data()), r.right(), data + to, &shape,
                                  nullptr, OMPL_FOREVER);
    };
    ompl_strided shape{.element = 8,
                       .dimensions = 2,
                       .extents = extents.data(),
                       .local_strides = strides.data(),
                       .remote_strides = strides.data()};
    EXPECT_EQ(put(shape), OMPL_ERR_LENGTH) << "the last row leaves the allocation";
    const std::array<std::ptrdiff_t, 2> backwards{-100, 8};
    shape.remote_strides = backwards.data();
    const int before = put(shape);  // where memory of the layer's own may lie
    EXPECT_TRUE(before == OMPL_ERR_OFFSET || before == OMPL_ERR_LENGTH)
        << before << ": the first rows lie before the allocation";
    const std::array<std::ptrdiff_t, 2> huge{INT64_MAX, INT64_MAX};
    shape.remote_strides = huge.data();
    EXPECT_EQ(put(shape), OMPL_ERR_LENGTH);
    const std::array<std::size_t, 2> many{SIZE_MAX, SIZE_MAX};
    shape.extents = many.data();
    shape.remote_strides = nullptr;
    EXPECT_EQ(put(shape), OMPL_ERR_LENGTH);
    shape = {.element = 0,
             .dimensions = 0,
             .extents = nullptr,
             .local_strides = nullptr,
             .remote_strides = nullptr};
    EXPECT_EQ(put(shape), OMPL_ERR_ARG);
    shape.element = 1;
    shape.dimensions = OMPL_MAX_DIMENSIONS + 1;
    EXPECT_EQ(put(shape), OMPL_ERR_ARG);
    shape.dimensions = 1;
    EXPECT_EQ(put(shape), OMPL_ERR_ARG) << "no extents";
    EXPECT_EQ(ompl_ctx_put_strided(r.ctx(), 0, 0, data, nullptr, nullptr, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_get_strided(r.ctx(), 0, 0, data, nullptr, 0), OMPL_ERR_ARG);

    const std::array<uint64_t, 3> places{0, 8, 996};
    ompl_indexed list{.element = 8, .count = 3, .local = nullptr, .remote = places.data()};
    const auto put_list = [&] {
      return ompl_ctx_put_indexed(r.ctx(), address(source.data()), r.right(), data, &list, nullptr, 0);
    };
    EXPECT_EQ(put_list(), OMPL_ERR_LENGTH);
    list.element = 0;
    EXPECT_EQ(put_list(), OMPL_ERR_ARG);
    list.element = SIZE_MAX;
    EXPECT_EQ(put_list(), OMPL_ERR_LENGTH);
    EXPECT_EQ(ompl_ctx_put_indexed(r.ctx(), 0, 0, data, nullptr, nullptr, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_get_indexed(r.ctx(), 0, 0, data, nullptr, 0), OMPL_ERR_ARG);
    ok(r.barrier());
    for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(r.own(data)[i], std::byte{0}) << i;
  });
}

}  // namespace
}  // namespace ompl::conformance
