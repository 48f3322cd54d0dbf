// SPDX-License-Identifier: BSD-3-Clause
// ompl_ext.hpp on two ranks: signals of any value, conditions, handles, atomics, and coroutines.
#include <unistd.h>

#include <array>
#include <atomic>
#include <coroutine>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include <omnipgas/ompl_memory.hpp>

#include "ranks.hpp"

using namespace std::chrono_literals;
using namespace omnipgas;  // NOLINT(google-build-using-namespace)
using ranks::expect_error;
using ranks::partner;

namespace {
std::atomic<int> g_allocations = 0;
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace {

template <class T>
class CppWord : public testing::Test {};
using Words = testing::Types<uint32_t, uint64_t, int32_t, int64_t>;
TYPED_TEST_SUITE(CppWord, Words);

TYPED_TEST(CppWord, SignalsAndConditions) {
  const Array<TypeParam> words(2);
  signal(partner(), adding(words[0], 40));
  signal(partner(), setting(words[1], static_cast<TypeParam>(-3)));
  wait(until(words[0], OMPL_EQ, 40));
  EXPECT_TRUE(wait_for(until(words[1], OMPL_LT, 0), 200s));
  EXPECT_TRUE(wait_for(until(words[0], OMPL_GE, 40), 200s));
  EXPECT_FALSE(wait_for(until(words[0], OMPL_GT, 40), 1ms));
  EXPECT_EQ(words.local()[0], TypeParam{40});
  EXPECT_EQ(words.local()[1], static_cast<TypeParam>(-3));
  wait(taking(words[0]));
  EXPECT_EQ(words.local()[0], TypeParam{39});
  EXPECT_FALSE(wait_for(taking(words[0], 40), 1ms));
  wait(taking(words[0], 30));
  EXPECT_EQ(words.local()[0], TypeParam{9});
  barrier();
}

TYPED_TEST(CppWord, Atomics) {
  const Array<TypeParam> words(3);
  for (int i = 0; i < 100; ++i) fetch_add(0, words[0], 1);
  barrier();
  EXPECT_EQ(fetch(0, words[0]), TypeParam{200});
  EXPECT_EQ(swap(partner(), words[1], static_cast<TypeParam>(-5)), TypeParam{0});
  EXPECT_EQ(compare_swap(partner(), words[1], 4, 6), static_cast<TypeParam>(-5));
  EXPECT_EQ(compare_swap(partner(), words[1], static_cast<TypeParam>(-5), 12),
            static_cast<TypeParam>(-5));
  EXPECT_EQ(fetch_and(partner(), words[1], 10), TypeParam{12});
  EXPECT_EQ(fetch_or(partner(), words[1], 3), TypeParam{8});
  EXPECT_EQ(fetch_xor(partner(), words[1], 1), TypeParam{11});
  EXPECT_EQ(fetch(partner(), words[1]), TypeParam{10});
  update(partner(), words[2], OMPL_ATOMIC_ADD, 7);
  quiet();
  EXPECT_EQ(fetch(partner(), words[2]), TypeParam{7});
  EXPECT_EQ(fetch_min(partner(), words[2], static_cast<TypeParam>(-1)), TypeParam{7});
  EXPECT_EQ(fetch_max(partner(), words[2], 9),
            std::signed_integral<TypeParam> ? static_cast<TypeParam>(-1) : TypeParam{7});
  EXPECT_EQ(fetch(partner(), words[2]), TypeParam{9});
  expect_error(OMPL_ERR_LENGTH, "differ", [&] { fetch(partner(), words); });
  barrier();
}

template <class T>
void floating_point() {
  const Array<T> words(2);
  for (int i = 0; i < 100; ++i) update(0, words[0], add_of<T>, T{0.5});
  quiet();
  barrier();
  EXPECT_EQ(fetch(0, words[0]), T{100});
  EXPECT_EQ(swap(partner(), words[1], T{-2.5}), T{0});
  EXPECT_EQ(fetch_min(partner(), words[1], T{-3}), T{-2.5});
  EXPECT_EQ(fetch_max(partner(), words[1], T{1.25}), T{-3});
  EXPECT_EQ(fetch_add(partner(), words[1], T{1}), T{1.25});
  EXPECT_EQ(compare_swap(partner(), words[1], T{2.25}, T{8}), T{2.25});
  EXPECT_EQ(fetch(partner(), words[1]), T{8});
  barrier();
}

TEST(CppExt, AtomicsOnFloatingPoint) {
  floating_point<float>();
  floating_point<double>();
}

TEST(CppExt, OrderAndCompletion) {
  const Array<uint64_t> words(2);
  const std::array<uint64_t, 1> first{7};
  put(first, partner(), words[0]);
  fence(partner());
  put_value(uint64_t{8}, partner(), words[1]);
  flush(partner());
  fetch_add(partner(), words[0], 1);
  quiet(partner(), Via::shared());
  process_quiet();
  fence();
  EXPECT_EQ(fetch(partner(), words[0]), 8U);
  Handle handle;
  ASSERT_TRUE(put_nb(first, partner(), words[1], handle).accepted());
  while (!handle.test_source()) {
  }
  handle.wait();
  EXPECT_EQ(fetch(partner(), words[1]), 7U);
  expect_error(OMPL_ERR_RANK, "rank 9", [&] { fence(9); });
  barrier();
}

TEST(CppExt, TheProgressThreadIsThereWhileItIsWanted) {
  EXPECT_FALSE(ProgressThread::runs());
  {
    const ProgressThread first;
    const ProgressThread second;
    EXPECT_TRUE(ProgressThread::runs());
  }
  EXPECT_FALSE(ProgressThread::runs());
}

TEST(CppExt, SeveralFlags) {
  const Array<uint32_t> words(3);
  const std::array<Condition, 3> flags{Flag(words[0]), Flag(words[1]), Flag(words[2])};
  std::array<std::size_t, 3> room{};
  EXPECT_EQ(wait_any_for(flags, 1ms), std::nullopt);
  EXPECT_FALSE(wait_all_for(flags, 1ms));
  barrier();
  put_word(partner(), Flag(words[1]));
  EXPECT_EQ(wait_any(flags), 1U);
  barrier();
  put_word(partner(), Flag(words[2]));
  const auto found = wait_some(flags, room);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], 2U);
  barrier();
  for (std::size_t i = 0; i < 3; ++i) put_word(partner(), Flag(words[i]));
  wait_all(flags);
  EXPECT_EQ(words.local()[0] + words.local()[1] + words.local()[2], 0U);
  barrier();
}

TEST(CppExt, NoRankHasFailed) { EXPECT_EQ(failed_ranks(), std::vector<uint32_t>{}); }

// Posts until the layer accepts.
template <class Post>
void post(Post attempt) {
  while (!attempt().accepted()) progress(10ms);
}

TEST(CppExt, Handles) {
  const Array<int> inbox(8);
  const Array<uint32_t> word(1);
  const std::vector<int> source(8, 5 + static_cast<int>(rank()));
  const ompl_signal after = adding(word, 1);
  Handle sent;
  post([&] { return put_nb(source, partner(), inbox, sent, &after); });
  sent.wait();
  EXPECT_TRUE(sent.test());
  wait(Flag(word));
  EXPECT_EQ(inbox.local()[7], 5 + static_cast<int>(partner()));

  std::vector<int> back(8);
  std::array<Handle, 2> both;
  post([&] { return get_nb(std::span(back).first(4), partner(), inbox.section(0, 4), both[0]); });
  post([&] { return get_nb(std::span(back).last(4), partner(), inbox.section(4, 4), both[1]); });
  const auto first = wait_any(both);
  EXPECT_TRUE(!first || *first < 2);  // nothing if both were complete when posted
  wait_all(both);
  EXPECT_EQ(back, source);
  EXPECT_EQ(wait_any(both), std::nullopt);
  EXPECT_TRUE(both[0].wait_for(0s));
  post([&] { return signal_nb(partner(), after); });
  wait(Flag(word));
  barrier();
}

// A column of a matrix, and elements by their numbers: put into the partner's and brought back.
TEST(CppExt, BlocksAndLists) {
  constexpr std::size_t kRows = 50;
  constexpr std::size_t kColumns = 7;
  const Array<int> matrix(kRows * kColumns);
  const Array<uint32_t> word(1);
  const ompl_signal after = adding(word, 1);
  std::vector<int> column(kRows);
  for (std::size_t i = 0; i < kRows; ++i) column[i] = static_cast<int>(100 * i + rank());
  const Block<2> block{{kRows, 1}, {1, 1}, {kColumns, 1}};
  Handle handle;
  post([&] { return put_nb(column, partner(), matrix.section(2, 345), block, handle, &after); });
  handle.wait();
  wait(Flag(word));
  EXPECT_EQ(matrix.local()[49 * kColumns + 2], static_cast<int>(4900 + partner()));
  EXPECT_EQ(matrix.local()[49 * kColumns + 3], 0);
  std::vector<int> back(kRows);
  post([&] { return get_nb(back, partner(), matrix.section(2, 345), block, handle); });
  handle.wait();
  EXPECT_EQ(back, column);

  const std::vector<std::size_t> from{9, 0, 4, 7, 1};
  const std::vector<std::size_t> to{7, 14, 0, 21, 28};
  post([&] { return put_nb(column, partner(), matrix, List{from, to}, handle, &after); });
  handle.wait();
  wait(Flag(word));
  EXPECT_EQ(matrix.local()[7], static_cast<int>(900 + partner()));
  std::vector<int> five(5);
  post([&] { return get_nb(five, partner(), matrix, List{{}, to}, handle); });
  handle.wait();
  for (std::size_t i = 0; i < five.size(); ++i) EXPECT_EQ(five[i], column[from[i]]) << i;

  const std::vector<std::size_t> outside{0, matrix.size()};
  const auto refused = [](auto call) {
    try {
      static_cast<void>(call());
    } catch (const Error& error) {
      return error.code();
    }
    return int{OMPL_OK};
  };
  EXPECT_EQ(refused([&] {
              return get_nb(five, partner(), matrix, List{{}, outside}, handle);
            }),
            OMPL_ERR_LENGTH);
  EXPECT_EQ(refused([&] {
              return get_nb(five, partner(), matrix, List{from, to}, handle);
            }),
            OMPL_ERR_LENGTH);
  EXPECT_EQ(refused([&] { return put_nb(five, partner(), matrix, block, handle); }), OMPL_ERR_LENGTH);
  EXPECT_EQ(refused([&] { return put_nb(column, partner(), matrix.section(3, 300), block, handle); }),
            OMPL_ERR_LENGTH);
  barrier();
}

TEST(CppExt, AHandlesEndWaitsForItsOperation) {
  const Array<int> inbox(100000);
  std::vector<int> back(100000);
  inbox.local()[99999] = static_cast<int>(rank()) + 1;
  barrier();
  {
    Handle handle;
    post([&] { return get_nb(back, partner(), inbox, handle); });
  }
  EXPECT_EQ(back[99999], static_cast<int>(partner()) + 1);
  barrier();
}

// The least that a coroutine needs: starts at once, and is done when it ends.
struct Task {
  struct promise_type {  // NOLINT(readability-identifier-naming)
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    static std::suspend_never initial_suspend() { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
    std::exception_ptr error;
  };
  Task(std::coroutine_handle<promise_type> started) : coroutine(started) {}
  Task(Task&& other) noexcept : coroutine(std::exchange(other.coroutine, {})) {}
  ~Task() {
    if (coroutine) coroutine.destroy();
  }
  // Drives progress until it has ended; throws what it threw.
  void finish() {
    while (!coroutine.done()) progress(10ms);
    if (coroutine.promise().error) std::rethrow_exception(coroutine.promise().error);
  }
  std::coroutine_handle<promise_type> coroutine;
};

Task take(Flag flag, int count, int& taken) {
  for (; taken < count; ++taken) co_await flag;
}

TEST(CppExt, CoroutinesTakeFlagsWithoutAllocating) {
  const Array<uint32_t> words(2);
  int one = 0;
  int other = 0;
  Task first = take(Flag(words[0]), 100, one);
  Task second = take(Flag(words[1]), 100, other);
  EXPECT_EQ(one + other, 0);
  barrier();
  for (int i = 0; i < 100; ++i) put_word(partner(), Flag(words[1]));
  const int before = g_allocations;
  second.finish();
  EXPECT_EQ(g_allocations - before, 0);
  EXPECT_EQ(other, 100);
  EXPECT_EQ(one, 0);
  barrier();
  for (int i = 0; i < 100; ++i) put_word(partner(), Flag(words[0]));
  first.finish();
  EXPECT_EQ(one, 100);
  EXPECT_EQ(words.local()[0] + words.local()[1], 0U);
  barrier();
}

// Each rank tells the other where its own memory is.
TEST(CppExt, LocalTeamAndAdoptedMemory) {
  const Array<uint64_t> told(2);
  const LocalArray<uint64_t> alone(100 + 50 * rank());
  ompl_team* team = nullptr;
  check(ompl_team_world(&team));
  TeamArray<uint32_t> together(team, 10);
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const pages = static_cast<std::byte*>(std::aligned_alloc(page, page));
  {
    const AdoptedLocal adopted(std::span(pages, page));
    const std::vector<uint64_t> mine{alone.offset(), adopted.offset()};
    put(mine, partner(), told);
    barrier();
    put_value(7 + rank(), partner(), Section<uint64_t>(told.local()[0], 100)[99]);
    put_value(8 + rank(), partner(), Section<uint64_t>(told.local()[1], 1));
    put_word(partner(), Flag(together));
    wait(Flag(together));
    quiet();
    barrier();
    EXPECT_EQ(alone.local()[99], 7 + partner());
    uint64_t there = 0;
    std::memcpy(&there, pages, sizeof there);
    EXPECT_EQ(there, 8 + partner());
    barrier();
  }
  std::free(pages);
  together.free();
}

template <class T>
class CppMemoryWord : public testing::Test {};
using MemoryWords =
    testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(CppMemoryWord, MemoryWords);

// Plain puts end them. As numbers of the type: -3 is small with sign, and large without.
TYPED_TEST(CppMemoryWord, WaitsForMemory) {
  const Array<TypeParam> words(3);
  const auto minus = static_cast<TypeParam>(-3);
  const unsigned beyond = std::is_signed_v<TypeParam> ? OMPL_LT : OMPL_GT;
  const std::array<MemoryCondition, 3> conditions{until_memory(words[0], beyond, 0),
                                                  until_memory(words[1], OMPL_EQ, 5),
                                                  until_memory(words[2], OMPL_GE, 1)};
  std::array<std::size_t, 3> room{};
  EXPECT_FALSE(wait_memory_for(conditions[0], 1ms));
  EXPECT_EQ(wait_memory_any_for(conditions, 1ms), std::nullopt);
  EXPECT_FALSE(wait_memory_all_for(conditions, 1ms));
  barrier();
  put_value(minus, partner(), words[0]);
  wait_memory(conditions[0]);
  EXPECT_EQ(wait_memory_any(conditions), 0U);
  EXPECT_EQ(wait_memory_some(conditions, room).size(), 1U);
  EXPECT_EQ(room[0], 0U);
  barrier();
  put_value(TypeParam{5}, partner(), words[1]);
  put_value(TypeParam{1}, partner(), words[2]);
  flush();
  wait_memory_all(conditions);
  EXPECT_EQ(wait_memory_some(conditions, room).size(), 3U);
  EXPECT_EQ(words.local()[0], minus);
  expect_error(OMPL_ERR_LENGTH, "differ",
               [&] { wait_memory_some(conditions, std::span(room).first(2)); });
  barrier();
}

Task exchange(const Array<double>& inbox, const Section<uint64_t>& step, std::vector<double>& back) {
  Handle handle;
  const std::vector<double> source(inbox.size(), 1.5 + rank());
  const ompl_signal after = adding(step, 1);
  while (!put_nb(source, partner(), inbox, handle, &after).accepted()) progress(1ms);
  co_await handle;
  co_await until(step, OMPL_GE, 1);
  while (!get_nb(back, partner(), inbox, handle).accepted()) progress(1ms);
  co_await handle;
}

TEST(CppExt, CoroutinesAwaitHandlesAndConditions) {
  const Array<double> inbox(1000);
  const Array<uint64_t> step(1);
  std::vector<double> back(1000);
  exchange(inbox, step, back).finish();
  EXPECT_EQ(inbox.local()[999], 1.5 + partner());
  EXPECT_EQ(back[999], 1.5 + rank());
  barrier();
}

TEST(CppExt, ACoroutineThrowsWhatTheAwaitFailedWith) {
  int taken = 0;
  Task wrong = take(Flag(uint64_t{0}), 1, taken);
  expect_error(OMPL_ERR_OFFSET, "not allocated", [&] { wrong.finish(); });
  EXPECT_EQ(taken, 0);
}

// The last test: barriers are over.
TEST(CppExtEnd, ARankStops) {
  if (rank() == 1) stop();
  while (stopped_ranks() != std::vector<uint32_t>{1}) progress(10ms);
  EXPECT_EQ(failed_ranks(), std::vector<uint32_t>{});
  expect_error(OMPL_ERR_STATE, "rank 1 has called ompl_stop", [] { barrier(); });
}

}  // namespace

int main(int argc, char** argv) { return ranks::run(argc, argv); }
