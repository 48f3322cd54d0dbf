// SPDX-License-Identifier: BSD-3-Clause
// Signals of any value, and atomics: executed by a CPU of the target's node, in every way there is to ask.
#include <array>
#include <bit>
#include <thread>

#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

template <class Word>
Word read(Rank& r, uint64_t offset) {
  return std::atomic_ref(*static_cast<Word*>(ompl_ptr(r.rank, offset))).load();
}

TEST_P(Conformance, Signals_AddAndSetIn32And64Bit) {
  const auto w = world();
  const uint64_t flags = w->allocate(64);
  w->run([&](Rank& r) {
    const auto send = [&](uint64_t at, uint64_t value, int op) {
      const ompl_signal signal{.flag_addr = flags + at, .value = value, .op = op};
      ok(ompl_ctx_signal(r.ctx(), r.right(), &signal, OMPL_FOREVER));
    };
    send(0, 0xFFFFFFFF, OMPL_ADD32);
    send(0, 3, OMPL_ADD32);  // modulo 2^32
    send(8, uint64_t{1} << 40, OMPL_ADD64);
    send(8, 2, OMPL_ADD64);
    send(16, 77, OMPL_SET32);
    send(24, uint64_t{77} << 33, OMPL_SET64);
    ok(r.barrier());
    EXPECT_EQ(read<uint32_t>(r, flags), 2U);
    EXPECT_EQ(read<uint32_t>(r, flags + 4), 0U) << "a 32-bit signal touched its neighbour";
    EXPECT_EQ(read<uint64_t>(r, flags + 8), (uint64_t{1} << 40) + 2);
    EXPECT_EQ(read<uint32_t>(r, flags + 16), 77U);
    EXPECT_EQ(read<uint64_t>(r, flags + 24), uint64_t{77} << 33);
  });
}

// Two SETs of one flag need a quiet between them, and with it they need nothing else.
TEST_P(Conformance, Signals_R5_TheLastSetWinsAfterQuiet) {
  const auto w = world({.endpoints = 3});
  const uint64_t flag = w->allocate(64);
  w->run([&](Rank& r) {
    for (uint64_t i = 1; i <= rounds(60); ++i) {
      for (const uint64_t value : {3 * i, 3 * i + 1}) {
        const ompl_signal set{.flag_addr = flag, .value = value, .op = OMPL_SET64};
        ok(ompl_ctx_signal(r.ctx(), r.right(), &set, OMPL_FOREVER));
        ok(r.quiet());
      }
      ok(r.signal(r.right(), flag + 8));
      ok(r.wait(flag + 8));
      EXPECT_EQ(read<uint64_t>(r, flag), 3 * i + 1);
      ok(r.signal(r.left(), flag + 12));
      ok(r.wait(flag + 12));
    }
  });
}

// The functions by name, in one width.
template <class Word>
struct Named {
  int (*fetch)(uint32_t, uint64_t, Word*);
  int (*set)(uint32_t, uint64_t, Word);
  int (*add)(uint32_t, uint64_t, Word);
  int (*bit_and)(uint32_t, uint64_t, Word);
  int (*bit_or)(uint32_t, uint64_t, Word);
  int (*bit_xor)(uint32_t, uint64_t, Word);
  int (*fetch_add)(uint32_t, uint64_t, Word, Word*);
  int (*swap)(uint32_t, uint64_t, Word, Word*);
  int (*compare_swap)(uint32_t, uint64_t, Word, Word, Word*);
  int (*any)(ompl_ctx*, uint32_t, uint64_t, int, Word, Word, Word*, int64_t);
  int (*nonblocking)(ompl_ctx*, uint32_t, uint64_t, int, Word, Word, Word*, ompl_handle*);
};
constexpr Named<uint32_t> k32{ompl_fetch32,        ompl_set32,        ompl_add32,       ompl_and32,
                              ompl_or32,           ompl_xor32,        ompl_fetch_add32, ompl_swap32,
                              ompl_compare_swap32, ompl_ctx_atomic32, ompl_atomic32_nb};
constexpr Named<uint64_t> k64{ompl_fetch64,        ompl_set64,        ompl_add64,       ompl_and64,
                              ompl_or64,           ompl_xor64,        ompl_fetch_add64, ompl_swap64,
                              ompl_compare_swap64, ompl_ctx_atomic64, ompl_atomic64_nb};

// Each in turn on a word of the right neighbour that nobody else touches.
template <class Word>
void each_does_what_it_says(Rank& r, const Named<Word>& f, uint64_t word) {
  const Word big = static_cast<Word>(~Word{0}) - 15;
  const uint32_t to = r.right();
  Word before = 1;
  ok(f.set(to, word, big));
  ok(r.quiet());
  ok(f.fetch(to, word, &before));
  EXPECT_EQ(before, big);
  ok(f.fetch_add(to, word, 20, &before));
  EXPECT_EQ(before, big);
  ok(f.swap(to, word, 0xF0, &before));
  EXPECT_EQ(before, Word{4});  // wrapped
  ok(f.compare_swap(to, word, 0xF1, 5, &before));
  EXPECT_EQ(before, Word{0xF0}) << "and it was not stored:";
  ok(f.compare_swap(to, word, 0xF0, 0xCC, &before));
  EXPECT_EQ(before, Word{0xF0});
  for (const auto& [call, operand, result] :
       {std::tuple{f.bit_or, Word{0x03}, Word{0xCF}}, std::tuple{f.bit_and, Word{0x8F}, Word{0x8F}},
        std::tuple{f.bit_xor, Word{0xFF}, Word{0x70}}, std::tuple{f.add, Word{2}, Word{0x72}}}) {
    ok(call(to, word, operand));
    ok(r.quiet());
    ok(f.fetch(to, word, &before));
    EXPECT_EQ(before, result);
  }
}

// By number, with and without the value before, blocking and not.
template <class Word>
void each_by_number(Rank& r, const Named<Word>& f, uint64_t word) {
  struct Step {
    int op;
    Word operand, compare, after;
  };
  constexpr auto kSteps = std::to_array<Step>({{OMPL_ATOMIC_SET, 12, 0, 12},
                                               {OMPL_ATOMIC_ADD, 3, 0, 15},
                                               {OMPL_ATOMIC_AND, 6, 0, 6},
                                               {OMPL_ATOMIC_OR, 1, 0, 7},
                                               {OMPL_ATOMIC_XOR, 2, 0, 5},
                                               {OMPL_ATOMIC_CSWAP, 9, 5, 9},
                                               {OMPL_ATOMIC_CSWAP, 1, 5, 9},
                                               {OMPL_ATOMIC_FETCH, 0, 0, 9}});
  const uint32_t to = r.right();
  for (int manner = 0; manner < 4; ++manner) {
    Word expected = manner == 0 ? 0 : 9;
    for (const Step& step : kSteps) {
      const bool fetches = step.op == OMPL_ATOMIC_CSWAP || step.op == OMPL_ATOMIC_FETCH;
      Word before = expected;
      Word* const wanted = manner % 2 == 0 || fetches ? &before : nullptr;
      if (manner < 2) {
        ok(f.any(r.ctx(), to, word, step.op, step.operand, step.compare, wanted, OMPL_FOREVER));
      } else {
        ompl_handle handle = OMPL_HANDLE_INIT;
        int code = OMPL_RETRY_FULL;
        while (code >= OMPL_RETRY_FULL) {
          code = f.nonblocking(r.ctx(), to, word, step.op, step.operand, step.compare, wanted, &handle);
          if (code >= OMPL_RETRY_FULL) ompl_progress(r.ctx(), 0);
        }
        EXPECT_TRUE(code == OMPL_OK || code == OMPL_PENDING) << ompl_strerror(code);
        ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
      }
      if (wanted == nullptr) ok(r.quiet());
      EXPECT_EQ(before, expected) << "operation " << step.op << ", manner " << manner;
      expected = step.after;
    }
  }
}

TEST_P(Conformance, Atomics_EachDoesWhatItSays) {
  const auto w = world();
  const uint64_t words = w->allocate(64);
  w->run([&](Rank& r) {
    each_does_what_it_says(r, k32, words + 4);
    each_does_what_it_says(r, k64, words + 8);
    each_by_number(r, k32, words + 20);
    each_by_number(r, k64, words + 32);
    ok(r.barrier());
    EXPECT_EQ(read<uint32_t>(r, words), 0U);
    EXPECT_EQ(read<uint32_t>(r, words + 16), 0U);
    EXPECT_EQ(read<uint32_t>(r, words + 24), 0U);
  });
}

// What atomics compute with: the words of numbers of type T.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// A sequence on a word of the right neighbour that nobody else touches: each operation returns the number before.
template <class T>
void computes(Rank& r, uint64_t word, int add, int min, int max) {
  struct Step {
    int op;
    T operand, after;
  };
  const auto low = static_cast<T>(-7);
  const T lowest = std::min(low, T{3});  // without a sign -7 is large
  const T highest = std::max(low, T{3});
  const auto steps = std::to_array<Step>({{OMPL_ATOMIC_SET, T{3}, T{3}},
                                          {min, low, lowest},
                                          {max, T{3}, T{3}},
                                          {max, low, highest},
                                          {min, T{3}, T{3}},
                                          {add, low, static_cast<T>(-4)},
                                          {add, T{9}, T{5}}});
  const auto call = [&](const Step& step, BitsOf<T>* before) {
    if constexpr (sizeof(T) == 8)
      return ompl_ctx_atomic64(r.ctx(), r.right(), word, step.op, std::bit_cast<uint64_t>(step.operand),
                               0, before, OMPL_FOREVER);
    else
      return ompl_ctx_atomic32(r.ctx(), r.right(), word, step.op, std::bit_cast<uint32_t>(step.operand),
                               0, before, OMPL_FOREVER);
  };
  for (const bool fetches : {true, false}) {
    T expected = fetches ? T{0} : T{5};
    for (const Step& step : steps) {
      BitsOf<T> before = 0;
      ok(call(step, fetches ? &before : nullptr));
      if (fetches) {
        EXPECT_EQ(std::bit_cast<T>(before), expected) << "operation " << step.op;
      }
      expected = step.after;
      if (fetches) continue;
      ok(r.quiet());
      ok(call({.op = OMPL_ATOMIC_FETCH, .operand = {}, .after = {}}, &before));
      EXPECT_EQ(std::bit_cast<T>(before), expected) << "operation " << step.op;
    }
  }
}

TEST_P(Conformance, Atomics_MinimumMaximumAndFloatingPoint) {
  const auto w = world();
  const uint64_t words = w->allocate(64);
  w->run([&](Rank& r) {
    computes<uint32_t>(r, words + 4, OMPL_ATOMIC_ADD, OMPL_ATOMIC_UMIN, OMPL_ATOMIC_UMAX);
    computes<int32_t>(r, words + 8, OMPL_ATOMIC_ADD, OMPL_ATOMIC_SMIN, OMPL_ATOMIC_SMAX);
    computes<float>(r, words + 12, OMPL_ATOMIC_FADD, OMPL_ATOMIC_FMIN, OMPL_ATOMIC_FMAX);
    computes<uint64_t>(r, words + 16, OMPL_ATOMIC_ADD, OMPL_ATOMIC_UMIN, OMPL_ATOMIC_UMAX);
    computes<int64_t>(r, words + 24, OMPL_ATOMIC_ADD, OMPL_ATOMIC_SMIN, OMPL_ATOMIC_SMAX);
    computes<double>(r, words + 32, OMPL_ATOMIC_FADD, OMPL_ATOMIC_FMIN, OMPL_ATOMIC_FMAX);
    ok(r.barrier());
    EXPECT_EQ(read<uint32_t>(r, words), 0U);
    EXPECT_EQ(read<uint64_t>(r, words + 40), 0U);
  });
}

// Sums, minimum and maximum of what all threads of all ranks have sent, in doubles that add exactly.
TEST_P(Conformance, Atomics_R11_FloatingPointLosesNoUpdate) {
  constexpr unsigned kThreads = 3;
  const auto w = world({.ranks = 3, .endpoints = 2});
  const uint64_t words = w->allocate(24);
  const uint32_t each = rounds(100);
  w->run(
      [&](Rank& r) {
        for (uint32_t i = 0; i < each; ++i) {
          const double number = 0.25 * (r.rank + 1);
          uint64_t before = 0;
          ok(ompl_ctx_atomic64(r.ctx(), 0, words, OMPL_ATOMIC_FADD, std::bit_cast<uint64_t>(number), 0,
                               i % 2 == 0 ? &before : nullptr, OMPL_FOREVER));
          const auto far = std::bit_cast<uint64_t>(i * number);
          ok(ompl_ctx_atomic64(r.ctx(), 0, words + 8, OMPL_ATOMIC_FMAX, far, 0, nullptr, OMPL_FOREVER));
          ok(ompl_ctx_atomic64(r.ctx(), 0, words + 16, OMPL_ATOMIC_FMIN, far ^ uint64_t{1} << 63, 0,
                               nullptr, OMPL_FOREVER));
        }
        ok(r.quiet());
      },
      kThreads);
  w->run([&](Rank& r) {
    ok(r.barrier());
    if (r.rank != 0) return;
    const double all = 0.25 * r.size * (r.size + 1) / 2 * each * kThreads;
    EXPECT_EQ(read<double>(r, words), all) << "an addition was lost";
    EXPECT_EQ(read<double>(r, words + 8), 0.25 * r.size * (each - 1));
    EXPECT_EQ(read<double>(r, words + 16), -0.25 * r.size * (each - 1));
  });
}

// Every value is given out once, whoever asks, by atomics, signals and the CPU's own.
TEST_P(Conformance, Atomics_R11_AreAtomicWithSignalsAndTheCpu) {
  constexpr unsigned kThreads = 3;
  const auto w = world({.ranks = 3, .endpoints = 2});
  const uint64_t word = w->allocate(24);
  const uint32_t each = rounds(100);
  w->run(
      [&](Rank& r) {
        uint64_t mine = 0;
        for (uint32_t i = 0; i < each; ++i) {
          uint64_t ticket = 0;
          ok(ompl_fetch_add64(0, word, 1, &ticket));
          mine += ticket;
          ok(r.signal(0, word + 8));
          ok(ompl_add32(0, word + 8, 2));
          if (r.rank != 0) continue;
          std::atomic_ref(*static_cast<uint32_t*>(ompl_ptr(0, word + 8))).fetch_add(4);
        }
        ok(ompl_add64(0, word + 16, mine));
        ok(r.quiet());
      },
      kThreads);
  w->run([&](Rank& r) {
    ok(r.barrier());
    if (r.rank != 0) return;
    const uint64_t all = uint64_t{each} * kThreads * r.size;
    EXPECT_EQ(read<uint64_t>(r, word), all);
    EXPECT_EQ(read<uint64_t>(r, word + 16), all * (all - 1) / 2)
        << "a ticket was given out twice, or never";
    EXPECT_EQ(read<uint32_t>(r, word + 8), 3 * all + uint64_t{4} * each * kThreads);
  });
}

// An atomic wakes who waits for its word, and is seen only after the puts before it.
TEST_P(Conformance, Atomics_R11_WakeWaitersAndFollowPuts) {
  const auto w = world({.endpoints = 2});
  const uint64_t data = w->allocate(2048);
  const uint64_t words = w->allocate(64);
  w->run([&](Rank& r) {
    for (uint64_t i = 1; i <= rounds(60); ++i) {
      const auto source = pattern(2048, i);
      ok(r.put(source.data(), r.right(), data, source.size()));
      uint64_t before = 0;
      if (i % 2 == 0) ok(ompl_compare_swap64(r.right(), words, i - 1, i, &before));
      if (i % 2 != 0) ok(ompl_swap64(r.right(), words, i, &before));
      EXPECT_EQ(before, i - 1);
      const ompl_condition there{.flag_addr = words, .value = i, .comparison = OMPL_EQ, .width = 64};
      ok(ompl_ctx_wait_until(r.ctx(), &there, OMPL_FOREVER));
      ASSERT_EQ(mismatch(r.own(data), 2048, i), 2048U) << i;
      ok(ompl_or32(r.left(), words + 8 + 4 * (i % 8), 1));
      ok(r.wait(words + 8 + 4 * (i % 8)));
    }
  });
}

TEST_P(Conformance, Atomics_BadArguments) {
  const auto w = world();
  const uint64_t words = w->allocate(20);
  w->run([&](Rank& r) {
    uint64_t before = 42;
    uint32_t before32 = 42;
    ompl_handle handle = OMPL_HANDLE_INIT;
    EXPECT_EQ(ompl_fetch_add64(r.size, words, 1, &before), OMPL_ERR_RANK);
    EXPECT_EQ(ompl_fetch_add64(0, words + 4, 1, &before), OMPL_ERR_ALIGN);
    EXPECT_EQ(ompl_fetch_add32(0, words + 2, 1, &before32), OMPL_ERR_ALIGN);
    EXPECT_EQ(ompl_fetch_add64(0, words + 16, 1, &before), OMPL_ERR_LENGTH);
    EXPECT_EQ(ompl_add64(0, 8, 1), OMPL_ERR_OFFSET);
    EXPECT_EQ(ompl_fetch64(0, words, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_compare_swap32(0, words, 0, 1, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_fetch_add32(0, words, 1, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_atomic64(r.ctx(), 0, words, OMPL_ATOMIC_FMAX + 1, 0, 0, &before, 0),
              OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_atomic64(r.ctx(), 0, words, OMPL_ATOMIC_FETCH, 0, 0, nullptr, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_atomic64_nb(r.ctx(), 0, words, OMPL_ATOMIC_ADD, 1, 0, &before, nullptr),
              OMPL_ERR_ARG);
    EXPECT_EQ(ompl_atomic32_nb(r.ctx(), 0, words, -1, 1, 0, &before32, &handle), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_signal(r.ctx(), 0, nullptr, 0), OMPL_ERR_ARG);
    EXPECT_EQ(before, 42U);
    EXPECT_EQ(before32, 42U);
    ok(r.barrier());
    EXPECT_EQ(read<uint64_t>(r, words), 0U) << "something was written all the same";
  });
}

}  // namespace
}  // namespace ompl::conformance
