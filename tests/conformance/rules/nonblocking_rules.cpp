// SPDX-License-Identifier: BSD-3-Clause
// Operations that do not wait, and their handles.
#include <array>
#include <cstring>
#include <thread>

#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

bool is_retry(int code) { return code >= OMPL_RETRY_FULL && code <= OMPL_RETRY_BUSY; }

// Calls until it is not told to try again; between, it progresses as a program would.
template <class Post>
int insist(const Rank& r, Post post) {
  int code = post();
  while (is_retry(code)) {
    ompl_progress(r.ctx(), 0);
    code = post();
  }
  return code;
}

int put_nb(const Rank& r, const void* source, uint64_t offset, std::size_t length, ompl_handle* handle,
           const ompl_signal* signal = nullptr, unsigned options = 0) {
  return insist(r, [&] {
    return ompl_put_nb(r.ctx(), address(source), r.right(), offset, length, signal, options, handle);
  });
}

void posted(int code) { EXPECT_TRUE(code == OMPL_OK || code == OMPL_PENDING) << ompl_strerror(code); }

// Once its handle is complete, a put is visible at the target: told by a third context, without flush.
TEST_P(Conformance, Nonblocking_ACompletePutIsVisible) {
  const auto w = world();
  const uint64_t data = w->allocate(8192);
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    const std::unique_ptr<Rank> other = r.context();
    for (uint64_t i = 1; i <= rounds(100); ++i) {
      const auto source = pattern(i % 3 == 0 ? 8192 : 24, i);
      ompl_handle handle = OMPL_HANDLE_INIT;
      posted(put_nb(r, source.data(), data, source.size(), &handle));
      ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
      ok(other->signal(r.right(), flag));
      ok(r.wait(flag));
      EXPECT_EQ(mismatch(r.own(data), source.size(), i), source.size()) << i;
      ok(r.signal(r.left(), flag + 4));
      ok(r.wait(flag + 4));
    }
  });
}

// 64 puts under way at once, completed in each of the ways there are.
TEST_P(Conformance, Nonblocking_ManyAreUnderWayAtOnce) {
  constexpr std::size_t kCount = 64;
  constexpr std::size_t kLength = 1024;
  const auto w = world();
  const uint64_t data = w->allocate(kCount * kLength);
  w->run([&](Rank& r) {
    const auto source = pattern(kCount * kLength, 7 + r.rank);
    for (uint32_t round = 0; round < rounds(12); ++round) {
      std::array<ompl_handle, kCount> handles{};
      for (std::size_t i = 0; i < kCount; ++i)
        posted(put_nb(r, &source[i * kLength], data + i * kLength, kLength, &handles[i]));
      std::array<std::size_t, kCount> indices{};
      std::size_t seen = 0;
      if (round % 3 == 0) {
        ok(ompl_handle_wait_all(r.ctx(), handles.data(), kCount, OMPL_FOREVER));
      } else if (round % 3 == 1) {
        std::size_t which = 0;
        do {
          ok(ompl_handle_wait_any(r.ctx(), handles.data(), kCount, &which, OMPL_FOREVER));
          ++seen;
        } while (which != SIZE_MAX);
        EXPECT_LE(seen, kCount + 1);
      } else {
        std::size_t found = 0;
        do {
          ok(ompl_handle_wait_some(r.ctx(), handles.data(), kCount, indices.data(), &found,
                                   OMPL_FOREVER));
          for (std::size_t i = 1; i < found; ++i) EXPECT_LT(indices.at(i - 1), indices.at(i));
          seen += found;
        } while (found > 0);
        EXPECT_LE(seen, kCount);
      }
      for (ompl_handle& handle : handles) EXPECT_EQ(ompl_handle_test(r.ctx(), &handle), 1);
      ok(r.barrier());
      EXPECT_EQ(mismatch(r.own(data), kCount * kLength, 7 + r.left()), kCount * kLength);
      std::memset(r.own(data), 0, kCount * kLength);
      ok(r.barrier());
    }
  });
}

TEST_P(Conformance, Nonblocking_TheSourceIsFreeOnceLocallyComplete) {
  const auto w = world();
  const uint64_t data = w->allocate(std::size_t{40} << 10);
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    std::vector<std::byte> source(std::size_t{40} << 10);
    for (uint64_t i = 1; i <= rounds(60); ++i) {
      const auto content = pattern(source.size(), i);
      std::memcpy(source.data(), content.data(), source.size());
      ompl_handle handle = OMPL_HANDLE_INIT;
      posted(put_nb(r, source.data(), data, source.size(), &handle, nullptr, OMPL_LOCAL));
      int state = ompl_handle_test(r.ctx(), &handle);
      while (state == 0) state = ompl_handle_test(r.ctx(), &handle);
      ok(state == 1 ? OMPL_OK : state);
      std::memset(source.data(), 0xFF, source.size());  // the fabric must not look at it any more
      ok(r.signal(r.right(), flag));
      ok(r.wait(flag));
      ASSERT_EQ(mismatch(r.own(data), source.size(), i), source.size()) << i;
      ok(r.signal(r.left(), flag + 4));
      ok(r.wait(flag + 4));
    }
  });
}

// The signal follows its data, and no call waited for either; a flush frees puts without handles.
TEST_P(Conformance, Nonblocking_ASignalFollowsItsPut) {
  constexpr std::size_t kLength = 3000;
  const auto w = world({.endpoints = 2});
  const uint64_t data = w->allocate(kLength);
  const uint64_t flag = w->allocate(16);
  w->run([&](Rank& r) {
    const ompl_signal arrived{.flag_addr = flag, .value = 5, .op = OMPL_ADD64};
    for (uint64_t i = 1; i <= rounds(100); ++i) {
      const auto source = pattern(kLength, i);
      const bool with_handle = i % 2 == 0;
      ompl_handle handle = OMPL_HANDLE_INIT;
      posted(put_nb(r, source.data(), data, kLength, with_handle ? &handle : nullptr, &arrived));
      const ompl_condition five_more{
          .flag_addr = flag, .value = 5 * i, .comparison = OMPL_GE, .width = 64};
      ok(ompl_ctx_wait_until(r.ctx(), &five_more, OMPL_FOREVER));
      ASSERT_EQ(mismatch(r.own(data), kLength, i), kLength) << i;
      if (with_handle) {
        ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
      } else {
        ok(r.flush());
      }
      const ompl_signal read{.flag_addr = flag + 8, .value = 1, .op = OMPL_ADD32};
      ok(insist(r, [&] { return ompl_signal_nb(r.ctx(), r.left(), &read); }));
      ok(r.wait(flag + 8));
    }
  });
}

// A put may wait for the signal or atomic that follows it, which then takes it along, whether its data are copied or not.
TEST_P(Conformance, Nonblocking_WhatFollowsABlockingPutIsAcceptedOnce) {
  constexpr std::size_t kMost = 60'000;
  const auto w = world();
  const uint64_t data = w->allocate(kMost);
  const uint64_t flag = w->allocate(8);
  const uint64_t word = w->allocate(8);
  w->run([&](Rank& r) {
    const ompl_signal signal{.flag_addr = flag, .value = 1, .op = OMPL_ADD32};
    uint64_t added = 0;
    for (uint64_t i = 1; i <= rounds(40); ++i) {
      for (const std::size_t length : {std::size_t{24}, std::size_t{8192}, kMost}) {
        const auto source = pattern(length, i + length);
        ok(r.put(source.data(), r.right(), data, length));
        ok(insist(r, [&] { return ompl_signal_nb(r.ctx(), r.right(), &signal); }));
        ok(r.wait(flag));
        EXPECT_EQ(mismatch(r.own(data), length, i + length), length) << i;
        ok(r.signal(r.left(), flag + 4));
        ok(r.wait(flag + 4));
        ok(r.put(source.data(), r.right(), data, length));
        uint64_t before = UINT64_MAX;
        ompl_handle handle = OMPL_HANDLE_INIT;
        posted(insist(r, [&] {
          return ompl_atomic64_nb(r.ctx(), r.right(), word, OMPL_ATOMIC_ADD, 1, 0, &before, &handle);
        }));
        ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
        EXPECT_EQ(before, added++);
      }
    }
    ok(r.barrier());
    EXPECT_EQ(r.count(flag), 0U);
  });
}

TEST_P(Conformance, Nonblocking_AGetArrives) {
  constexpr std::size_t kCount = 16;
  const auto w = world();
  const uint64_t data = w->allocate(kCount * 512);
  w->run([&](Rank& r) {
    const auto content = pattern(kCount * 512, r.rank);
    std::memcpy(r.own(data), content.data(), content.size());
    ok(r.barrier());
    std::vector<std::byte> into(content.size());
    std::array<ompl_handle, kCount> handles{};
    for (std::size_t i = 0; i < kCount; ++i) {
      posted(insist(r, [&] {
        return ompl_get_nb(r.ctx(), address(&into[i * 512]), r.right(), data + i * 512, 512,
                           &handles[i]);
      }));
    }
    ok(ompl_handle_wait_all(r.ctx(), handles.data(), kCount, OMPL_FOREVER));
    EXPECT_EQ(mismatch(into.data(), into.size(), r.right()), into.size());
    ok(r.barrier());
  });
}

// Quiet covers signals that were accepted but had to wait for their data or for room.
TEST_P(Conformance, Nonblocking_R5_QuietCoversAcceptedSignals) {
  constexpr uint32_t kBurst = 12;
  const auto w = world({.endpoints = 2, .credits = 3});
  const uint64_t data = w->allocate(4096);
  const uint64_t flags = w->allocate(16);
  w->run([&](Rank& r) {
    const auto source = pattern(4096, 3);
    const ompl_signal one{.flag_addr = flags, .value = 1, .op = OMPL_ADD32};
    for (uint32_t i = 1; i <= rounds(30); ++i) {
      for (uint32_t k = 0; k < kBurst; ++k) {
        if (k % 3 == 0) posted(put_nb(r, source.data(), data, 4096, nullptr, &one));
        if (k % 3 != 0) ok(insist(r, [&] { return ompl_signal_nb(r.ctx(), r.right(), &one); }));
      }
      ok(r.quiet());
      ok(r.signal(r.right(), flags + 4));
      ok(r.wait(flags + 4));
      EXPECT_EQ(r.count(flags), i * kBurst);
      ok(r.signal(r.left(), flags + 8));
      ok(r.wait(flags + 8));
    }
  });
}

// Handles may be completed by another thread than posted; many threads at once on few endpoints.
TEST_P(Conformance, Nonblocking_ThreadsOnFewEndpoints) {
  constexpr unsigned kThreads = 6;
  constexpr std::size_t kCount = 8;
  constexpr std::size_t kLength = 700;
  const auto w = world({.endpoints = 2});
  const uint64_t data = w->allocate(kThreads * kCount * kLength);
  w->run(
      [&](Rank& r) {
        const uint64_t mine = data + r.thread * kCount * kLength;
        const auto source = pattern(kCount * kLength, r.thread + 10 * r.rank);
        for (uint32_t round = 0; round < rounds(20); ++round) {
          std::array<ompl_handle, kCount> handles{};
          for (std::size_t i = 0; i < kCount; ++i)
            posted(put_nb(r, &source[i * kLength], mine + i * kLength, kLength, &handles[i]));
          ok(ompl_handle_wait_all(r.ctx(), handles.data(), kCount, OMPL_FOREVER));
        }
      },
      kThreads);
  w->run([&](Rank& r) {
    for (unsigned t = 0; t < kThreads; ++t) {
      const std::byte* const block = r.own(data) + t * kCount * kLength;
      EXPECT_EQ(mismatch(block, kCount * kLength, t + 10 * r.left()), kCount * kLength) << t;
    }
  });
}

TEST_P(Conformance, Nonblocking_R22_ZeroLengthAndBadArguments) {
  const auto w = world();
  const uint64_t data = w->allocate(64);
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    ompl_handle handle = OMPL_HANDLE_INIT;
    const ompl_signal one{.flag_addr = flag, .value = 1, .op = OMPL_ADD32};
    ok(put_nb(r, nullptr, data, 0, &handle));
    EXPECT_EQ(ompl_handle_test(r.ctx(), &handle), 1);
    ok(put_nb(r, nullptr, data, 0, &handle, &one));
    ok(r.wait(flag));
    ok(insist(r, [&] { return ompl_get_nb(r.ctx(), 0, r.right(), data, 0, &handle); }));

    const uint64_t word = 1;
    EXPECT_EQ(ompl_put_nb(r.ctx(), address(&word), r.size, data, 8, nullptr, 0, &handle),
              OMPL_ERR_RANK);
    EXPECT_EQ(ompl_put_nb(r.ctx(), address(&word), 0, data + 60, 8, nullptr, 0, &handle),
              OMPL_ERR_LENGTH);
    EXPECT_EQ(ompl_put_nb(r.ctx(), address(&word), 0, data, 8, nullptr, 16, &handle), OMPL_ERR_ARG);
    const ompl_signal no_operation{.flag_addr = flag, .value = 1, .op = 9};
    const ompl_signal askew{.flag_addr = flag + 4, .value = 1, .op = OMPL_ADD64};
    EXPECT_EQ(ompl_put_nb(r.ctx(), address(&word), 0, data, 8, &no_operation, 0, &handle),
              OMPL_ERR_ARG);
    EXPECT_EQ(ompl_put_nb(r.ctx(), address(&word), 0, data, 8, &askew, 0, &handle), OMPL_ERR_ALIGN);
    EXPECT_EQ(ompl_signal_nb(r.ctx(), 0, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_signal_nb(r.ctx(), r.size, &one), OMPL_ERR_RANK);
    EXPECT_EQ(ompl_get_nb(r.ctx(), address(&word), 0, 8, 8, &handle), OMPL_ERR_OFFSET);
    EXPECT_EQ(ompl_handle_test(r.ctx(), nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_handle_wait(r.ctx(), nullptr, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_handle_wait_all(r.ctx(), nullptr, 1, 0), OMPL_ERR_ARG);
    std::size_t found = 5;
    EXPECT_EQ(ompl_handle_wait_some(r.ctx(), &handle, 1, nullptr, &found, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_handle_wait_any(r.ctx(), &handle, 1, nullptr, 0), OMPL_ERR_ARG);
    EXPECT_EQ(found, 5U);
  });
}

}  // namespace
}  // namespace ompl::conformance
