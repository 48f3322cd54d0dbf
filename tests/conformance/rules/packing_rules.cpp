// SPDX-License-Identifier: BSD-3-Clause
// Strided and indexed data without waiting, and packed: the order and completion that puts have hold for them, whether
// or not OMPL_PACK packs them.
#include "call_rules.hpp"
#include "shape_rules.hpp"

namespace ompl::conformance {
namespace {

constexpr std::array<const char*, 2> kModes{"always", "never"};

// Calls until it is not told to try again; between, it progresses as a program would. OMPL_OK or OMPL_PENDING.
template <class Post>
int posted(const Rank& r, Post post) {
  int code = post();
  while (code >= OMPL_RETRY_FULL) {
    ompl_progress(r.ctx(), 0);
    code = post();
  }
  EXPECT_GE(code, OMPL_OK) << error_detail();
  return code;
}

// 1,000 elements of 8 bytes, 24 bytes apart at the target.
class Column {
 public:
  static constexpr std::size_t kCount = 1000;
  static constexpr std::ptrdiff_t kStride = 24;
  static constexpr std::size_t kSpan = kCount * kStride;

  explicit Column(uint64_t seed) : source(pattern(kCount * 8, seed)) {}
  int put(const Rank& r, uint64_t offset, const ompl_signal* signal = nullptr) const {
    return ompl_ctx_put_strided(r.ctx(), address(source.data()), r.right(), offset, &shape, signal,
                                OMPL_FOREVER);
  }
  int put_nb(const Rank& r, uint64_t offset, ompl_handle* handle, unsigned options = 0,
             const ompl_signal* signal = nullptr) const {
    return posted(r, [&] {
      return ompl_put_strided_nb(r.ctx(), address(source.data()), r.right(), offset, &shape, signal,
                                 options, handle);
    });
  }
  // Elements of that seed which do not lie there.
  static std::size_t wrong(const std::byte* memory, uint64_t seed) {
    const auto expected = pattern(kCount * 8, seed);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i)
      wrong += std::memcmp(memory + i * kStride, &expected[i * 8], 8) == 0 ? 0 : 1;
    return wrong;
  }

  const std::vector<std::byte> source;
  const std::array<std::size_t, 1> extents{kCount};
  const std::array<std::ptrdiff_t, 1> strides{kStride};
  const ompl_strided shape{.element = 8,
                           .dimensions = 1,
                           .extents = extents.data(),
                           .local_strides = nullptr,
                           .remote_strides = strides.data()};
};

// As Shapes_StridedPutAndGetAreTheirLoops, through handles; a get brings back what the put took.
TEST_P(Conformance, Packing_NonblockingBlocksAreTheirLoops) {
  for (const char* const mode : kModes) {
    SCOPED_TRACE(mode);
    const auto w = world({.pack = mode});
    const uint64_t data = w->allocate(kBytes);
    const uint64_t flag = w->allocate(8);
    w->run([&](Rank& r) {
      std::mt19937 dice(12);  // the same shapes on every rank
      const auto source = pattern(kBytes, r.rank);
      for (uint32_t i = 0; i < rounds(40); ++i) {
        const Block block(dice);
        const ompl_strided shape = block.shape();
        const ompl_signal arrived{.flag_addr = flag, .value = 1, .op = OMPL_ADD32};
        ompl_handle handle = OMPL_HANDLE_INIT;
        posted(r, [&] {
          return ompl_put_strided_nb(r.ctx(), address(&source[block.origin[0]]), r.right(),
                                     data + block.origin[1], &shape, &arrived, 0, &handle);
        });
        ok(r.wait(flag));
        const auto expected = block.moved(pattern(kBytes, r.left()));
        ASSERT_EQ(std::memcmp(r.own(data), expected.data(), kBytes), 0) << "shape " << i;
        ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
        ok(r.barrier());
        std::vector<std::byte> back(kBytes);
        posted(r, [&] {
          return ompl_get_strided_nb(r.ctx(), address(&back[block.origin[0]]), r.right(),
                                     data + block.origin[1], &shape, &handle);
        });
        ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
        const auto own = block.moved(source, true);
        ASSERT_EQ(std::memcmp(back.data(), own.data(), kBytes), 0) << "shape " << i;
        ok(r.barrier());
        std::memset(r.own(data), 0, kBytes);
        ok(r.barrier());
      }
    });
  }
}

// Lists of more elements than a call carries; local and remote places in any order; empty ones, which still signal.
TEST_P(Conformance, Packing_NonblockingLists) {
  constexpr std::size_t kCount = 900;
  for (const char* const mode : kModes) {
    SCOPED_TRACE(mode);
    const auto w = world({.pack = mode});
    const uint64_t data = w->allocate(kCount * 16);
    const uint64_t flag = w->allocate(8);
    w->run([&](Rank& r) {
      std::vector<uint64_t> local(kCount);
      std::vector<uint64_t> remote(kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        local[i] = i * 7 % kCount * 12;
        remote[i] = i * 11 % kCount * 16;
      }
      const auto source = pattern(kCount * 12, r.rank);
      const ompl_signal arrived{.flag_addr = flag, .value = 5, .op = OMPL_SET64};
      ompl_indexed list{.element = 12, .count = kCount, .local = local.data(), .remote = remote.data()};
      ompl_handle handle = OMPL_HANDLE_INIT;
      posted(r, [&] {
        return ompl_put_indexed_nb(r.ctx(), address(source.data()), r.right(), data, &list, &arrived,
                                   OMPL_LOCAL, &handle);
      });
      const ompl_condition come{.flag_addr = flag, .value = 5, .comparison = OMPL_EQ, .width = 64};
      ok(ompl_ctx_wait_until(r.ctx(), &come, OMPL_FOREVER));
      const auto theirs = pattern(kCount * 12, r.left());
      for (std::size_t i = 0; i < kCount; ++i)
        ASSERT_EQ(std::memcmp(r.own(data) + remote[i], &theirs[local[i]], 12), 0) << i;
      ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
      ok(r.flush());
      std::vector<std::byte> back(kCount * 12);
      std::vector<uint64_t> places = local;  // which may go once the call has returned
      list.local = places.data();
      posted(r, [&] {
        return ompl_get_indexed_nb(r.ctx(), address(back.data()), r.right(), data, &list, &handle);
      });
      std::ranges::fill(places, 0);
      ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
      EXPECT_EQ(std::memcmp(back.data(), source.data(), back.size()), 0);
      ok(r.barrier());
      list = {.element = 12, .count = 0, .local = nullptr, .remote = nullptr};
      const ompl_signal more{.flag_addr = flag, .value = 1, .op = OMPL_ADD64};
      posted(r, [&] {
        return ompl_put_indexed_nb(r.ctx(), 0, r.right(), data, &list, &more, 0, &handle);
      });
      const ompl_condition again{.flag_addr = flag, .value = 6, .comparison = OMPL_EQ, .width = 64};
      ok(ompl_ctx_wait_until(r.ctx(), &again, OMPL_FOREVER));
      ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
      ok(r.barrier());
    });
  }
}

// Whatever the context sends next comes after the elements: a signal, an atomic, a put with a signal, a call.
TEST_P(Conformance, Packing_SignalsAndCallsComeAfterTheElements) {
  for (const char* const mode : kModes) {
    SCOPED_TRACE(mode);
    const auto w = world({.endpoints = 2, .pack = mode});
    const uint64_t data = w->allocate(Column::kSpan);
    const uint64_t word = w->allocate(16);
    States states(2);
    w->run([&](Rank& r) {
      RankState& mine = states.of(r);
      mine.memory = data;
      mine.rank = r.rank;
      const auto look = [](void* user, const ompl_call_context* call) -> uint64_t {
        auto& state = *static_cast<RankState*>(user);
        const auto seed = argument<uint64_t>(*call);
        const auto* const memory = static_cast<std::byte*>(ompl_ptr(state.rank, state.memory));
        state.wrong += static_cast<uint32_t>(Column::wrong(memory, seed));
        return 0;
      };
      mine.function = add("look", look, &mine);
      for (uint64_t i = 0; i < uint64_t{5} * rounds(8); ++i) {
        const Column column(i);
        if (i % 5 == 4) {
          ompl_handle handle = OMPL_HANDLE_INIT;
          column.put_nb(r, data, &handle);
          ok(ompl_add32(r.right(), word + 4, 0));  // another context: of no matter
          ok(r.signal(r.right(), word));
          ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
        } else {
          ok(column.put(r, data));
        }
        const ompl_call_request call = request(mine.function, &i, sizeof i);
        uint64_t before = 0;
        if (i % 5 == 0) ok(r.signal(r.right(), word));
        if (i % 5 == 1)
          ok(ompl_ctx_atomic32(r.ctx(), r.right(), word, OMPL_ATOMIC_ADD, 1, 0, nullptr, OMPL_FOREVER));
        if (i % 5 == 2) {
          uint32_t old = 0;
          ok(ompl_ctx_atomic32(r.ctx(), r.right(), word, OMPL_ATOMIC_ADD, 1, 0, &old, OMPL_FOREVER));
        }
        if (i % 5 == 3) {
          ok(ompl_call(r.ctx(), r.right(), &call, &before, OMPL_FOREVER));
          ok(r.put_signal(&i, r.right(), word + 8, sizeof i, word));
        }
        ok(r.wait(word));
        ASSERT_EQ(Column::wrong(r.own(data), i), 0U) << i;
        ASSERT_EQ(mine.wrong, 0U) << i;
        ok(r.barrier());
      }
    });
  }
}

// A flush, a quiet, a fence and a handle tell that the elements are visible: another context's signal may follow.
TEST_P(Conformance, Packing_CompletionCoversTheElements) {
  for (const char* const mode : kModes) {
    SCOPED_TRACE(mode);
    const auto w = world({.pack = mode});
    const uint64_t data = w->allocate(Column::kSpan);
    const uint64_t flag = w->allocate(8);
    w->run([&](Rank& r) {
      const std::unique_ptr<Rank> other = r.context();
      for (uint64_t i = 0; i < uint64_t{5} * rounds(8); ++i) {
        const Column column(i);
        if (i % 5 == 0) {
          ompl_handle handle = OMPL_HANDLE_INIT;
          column.put_nb(r, data, &handle);
          if (i % 2 == 0) {
            ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
          } else {
            while (ompl_handle_test(r.ctx(), &handle) == 0) {
            }
          }
        } else if (i % 5 == 1) {
          column.put_nb(r, data, nullptr);
          ok(r.flush());
        } else if (i % 5 == 2) {
          ok(column.put(r, data));
          ok(ompl_ctx_quiet_rank(r.ctx(), r.right(), OMPL_FOREVER));
        } else if (i % 5 == 3) {
          ok(column.put(r, data));
          ok(ompl_process_quiet());
        } else {
          ok(column.put(r, data));
          ok(column.put(r, data));
          ok(ompl_ctx_fence(r.ctx(), r.right(), OMPL_FOREVER));
          const uint64_t first = 77;  // in place of the first element
          ok(r.put(&first, r.right(), data, sizeof first));
          ok(r.signal(r.right(), flag));
          ok(r.wait(flag));
          EXPECT_EQ(*reinterpret_cast<const uint64_t*>(r.own(data)), 77U);
          EXPECT_EQ(Column::wrong(r.own(data), i), 1U);
          ok(r.barrier());
          continue;
        }
        ok(other->signal(r.right(), flag));
        ok(r.wait(flag));
        ASSERT_EQ(Column::wrong(r.own(data), i), 0U) << i;
        ok(r.barrier());
      }
    });
  }
}

// All threads of all ranks put many blocks at once, to ranks that do the same, with few credits: nothing hangs or is lost.
TEST_P(Conformance, Packing_AFloodBothWays) {
  constexpr unsigned kThreads = 3;
  const auto w = world({.ranks = 3, .endpoints = 2, .credits = 4, .pack = "always"});
  const uint64_t data = w->allocate(kThreads * Column::kSpan);
  const uint64_t flag = w->allocate(kThreads * 4);
  w->run(
      [&](Rank& r) {
        const uint64_t mine = data + r.thread * Column::kSpan;
        const uint64_t arrived = flag + r.thread * 4;
        const ompl_signal signal{.flag_addr = arrived, .value = 1, .op = OMPL_ADD32};
        const uint32_t each = rounds(30);
        for (uint32_t i = 0; i < each; ++i) ok(Column(r.rank).put(r, mine, &signal));
        for (uint32_t i = 0; i < each; ++i) ok(r.wait(arrived));
        EXPECT_EQ(Column::wrong(r.own(mine), r.left()), 0U);
      },
      kThreads);
}

// Gets of columns: blocking, with a limit of time, completed by a handle, a flush and a quiet; more at once than there are
// landings for, and one that takes many of them.
TEST_P(Conformance, Packing_GetsBringWhatLiesThere) {
  constexpr std::size_t kAtOnce = 20;
  for (const char* const mode : kModes) {
    SCOPED_TRACE(mode);
    const auto w = world({.pack = mode});
    const uint64_t data = w->allocate(Column::kSpan);
    w->run([&](Rank& r) {
      const Column column(r.rank);
      ok(column.put(r, data));
      ok(r.flush());
      ok(r.barrier());
      std::vector<std::vector<std::byte>> back(kAtOnce, std::vector<std::byte>(column.source.size()));
      std::vector<ompl_handle> handles(kAtOnce, ompl_handle OMPL_HANDLE_INIT);
      const auto get_nb = [&](std::size_t i, ompl_handle* handle) {
        posted(r, [&] {
          return ompl_get_strided_nb(r.ctx(), address(back[i].data()), r.right(), data, &column.shape,
                                     handle);
        });
      };
      for (uint32_t round = 0; round < rounds(4); ++round) {
        for (std::size_t i = 0; i < 2; ++i) {
          const int64_t limit = i == 0 ? OMPL_FOREVER : 60'000'000'000;
          const int code = ompl_ctx_get_strided(r.ctx(), address(back[i].data()), r.right(), data,
                                                &column.shape, limit);
          EXPECT_TRUE(code == OMPL_OK || code == OMPL_PENDING) << error_detail();
          if (code == OMPL_PENDING) ok(r.flush());
        }
        get_nb(2, nullptr);
        ok(r.flush());
        get_nb(3, nullptr);
        ok(ompl_process_quiet());
        get_nb(4, &handles[4]);
        while (ompl_handle_test(r.ctx(), &handles[4]) == 0) {
        }
        get_nb(5, &handles[5]);
        ok(ompl_ctx_quiet_rank(r.ctx(), r.right(), OMPL_FOREVER));
        EXPECT_EQ(back[5], column.source);
        ok(ompl_handle_wait(r.ctx(), &handles[5], OMPL_FOREVER));
        for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(back[i], column.source) << i;
        for (std::size_t i = 0; i < kAtOnce; ++i) get_nb(i, &handles[i]);
        ok(ompl_handle_wait_all(r.ctx(), handles.data(), handles.size(), OMPL_FOREVER));
        for (std::vector<std::byte>& one : back) {
          EXPECT_EQ(one, column.source);
          std::ranges::fill(one, std::byte{0});
        }
      }
      ok(r.barrier());
    });
  }
}

// 384,000 bytes in pieces of 64, by a block and by a list: more than all landings hold.
TEST_P(Conformance, Packing_LongGets) {
  constexpr std::size_t kPiece = 64;
  constexpr std::size_t kPieces = 6000;
  for (const char* const mode : kModes) {
    SCOPED_TRACE(mode);
    const auto w = world({.pack = mode});
    const uint64_t data = w->allocate(2 * kPiece * kPieces);
    w->run([&](Rank& r) {
      const auto own = pattern(2 * kPiece * kPieces, r.rank);
      std::memcpy(r.own(data), own.data(), own.size());
      ok(r.barrier());
      const auto theirs = pattern(2 * kPiece * kPieces, r.right());
      const std::size_t extent = kPieces;
      const std::ptrdiff_t stride = 2 * kPiece;
      const ompl_strided block{.element = kPiece,
                               .dimensions = 1,
                               .extents = &extent,
                               .local_strides = nullptr,
                               .remote_strides = &stride};
      std::vector<uint64_t> places(kPieces);
      for (std::size_t i = 0; i < kPieces; ++i) places[i] = 2 * kPiece * i;
      const ompl_indexed list{
          .element = kPiece, .count = kPieces, .local = nullptr, .remote = places.data()};
      for (const bool by_list : {false, true}) {
        std::vector<std::byte> back(kPiece * kPieces);
        ok(by_list ? ompl_ctx_get_indexed(r.ctx(), address(back.data()), r.right(), data, &list,
                                          OMPL_FOREVER)
                   : ompl_ctx_get_strided(r.ctx(), address(back.data()), r.right(), data, &block,
                                          OMPL_FOREVER));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < kPieces; ++i)
          wrong += std::memcmp(&back[kPiece * i], &theirs[2 * kPiece * i], kPiece) == 0 ? 0 : 1;
        EXPECT_EQ(wrong, 0U);
      }
      ok(r.barrier());
    });
  }
}

// All threads of all ranks put and get at once, with few credits: gets neither hang nor bring what nobody put.
TEST_P(Conformance, Packing_GetsInAFlood) {
  constexpr unsigned kThreads = 3;
  const auto w = world({.ranks = 3, .endpoints = 2, .credits = 4, .pack = "always"});
  const uint64_t data = w->allocate(kThreads * Column::kSpan);
  w->run(
      [&](Rank& r) {
        const uint64_t mine = data + r.thread * Column::kSpan;
        for (uint32_t i = 0; i < rounds(10); ++i) {
          const Column column(uint64_t{i} * 8 + r.rank);
          ok(column.put(r, mine));
          ok(r.flush());
          std::vector<std::byte> back(column.source.size());
          ok(ompl_ctx_get_strided(r.ctx(), address(back.data()), r.right(), mine, &column.shape,
                                  OMPL_FOREVER));
          EXPECT_EQ(back, column.source);
        }
      },
      kThreads);
}

// The arithmetic of sizes: up to what fits into memory, and one more.
TEST_P(Conformance, Packing_SizesAreChecked) {
  const auto w = world({.pack = "always"});
  const uint64_t data = w->allocate(4096);
  w->run([&](Rank& r) {
    const std::byte source{};
    const auto put = [&](std::size_t element, const std::vector<std::size_t>& extents,
                         const std::vector<std::ptrdiff_t>& strides) {
      const ompl_strided shape{.element = element,
                               .dimensions = static_cast<int32_t>(extents.size()),
                               .extents = extents.data(),
                               .local_strides = strides.data(),
                               .remote_strides = strides.data()};
      ompl_handle handle = OMPL_HANDLE_INIT;
      return ompl_put_strided_nb(r.ctx(), address(&source), r.right(), data, &shape, nullptr, 0,
                                 &handle);
    };
    constexpr std::size_t kTwo31 = std::size_t{1} << 31;
    EXPECT_EQ(put(8, {kTwo31}, {16}), OMPL_ERR_LENGTH);
    EXPECT_EQ(put(1, {kTwo31, kTwo31, 2}, {0, 0, 0}), OMPL_ERR_LENGTH) << "2^63 elements";
    EXPECT_EQ(put(8, {kTwo31, kTwo31}, {2, 1}), OMPL_ERR_LENGTH);
    EXPECT_EQ(put(1, {2}, {PTRDIFF_MAX}), OMPL_ERR_LENGTH);
    EXPECT_EQ(put(1, {2}, {PTRDIFF_MIN}), OMPL_ERR_LENGTH);
    EXPECT_EQ(put(0, {2}, {1}), OMPL_ERR_ARG);
    EXPECT_EQ(put(1, {0, kTwo31}, {1, PTRDIFF_MAX}), OMPL_OK) << "no elements";
    ompl_handle handle = OMPL_HANDLE_INIT;
    const ompl_strided one{.element = 1,
                           .dimensions = 0,
                           .extents = nullptr,
                           .local_strides = nullptr,
                           .remote_strides = nullptr};
    EXPECT_EQ(ompl_put_strided_nb(r.ctx(), address(&source), r.size, data, &one, nullptr, 0, &handle),
              OMPL_ERR_RANK);
    EXPECT_EQ(ompl_put_strided_nb(r.ctx(), address(&source), 0, data, &one, nullptr, 2, &handle),
              OMPL_ERR_ARG);
    EXPECT_EQ(ompl_put_strided_nb(r.ctx(), 0, 0, data, nullptr, nullptr, 0, &handle), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_get_strided_nb(r.ctx(), 0, 0, data, nullptr, &handle), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_put_indexed_nb(r.ctx(), 0, 0, data, nullptr, nullptr, 0, &handle), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_get_indexed_nb(r.ctx(), 0, 0, data, nullptr, &handle), OMPL_ERR_ARG);
    ok(r.barrier());
    for (std::size_t i = 0; i < 4096; ++i) ASSERT_EQ(r.own(data)[i], std::byte{0}) << i;
  });
}

}  // namespace
}  // namespace ompl::conformance
