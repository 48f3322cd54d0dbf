// SPDX-License-Identifier: BSD-3-Clause
// ompl.hpp on two ranks: what arrives, what is refused, and what destructors do.
#include <array>
#include <complex>
#include <numeric>
#include <thread>
#include <vector>

#include "ranks.hpp"

using namespace std::chrono_literals;
using namespace omnipgas;  // NOLINT(google-build-using-namespace)
using ranks::expect_error;
using ranks::partner;

namespace {

struct Particle {
  double place[3];
  int kind;
};

static_assert(Transferable<Particle> && Transferable<std::complex<double>>);
static_assert(!Transferable<std::string> && !Transferable<const int>);
static_assert(SourceOf<std::vector<int>, int> && SourceOf<const int[4], int>);
static_assert(!SourceOf<std::vector<int>, long> && !TargetOf<const std::vector<int>, int>);
static_assert(!std::is_copy_constructible_v<Array<int>> && std::is_move_constructible_v<Array<int>>);
static_assert(!std::is_move_assignable_v<Array<int>> && !std::is_copy_constructible_v<Context>);

TEST(Cpp, PutThenSignalOfARange) {
  const Array<double> inbox(100);
  const Array<uint32_t> word(1);
  std::vector<double> source(100);
  std::iota(source.begin(), source.end(), 1000.0 * rank());
  put(source, partner(), inbox);
  put_word(partner(), Flag(word));
  wait(Flag(word));
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(inbox.local()[i], 1000.0 * partner() + static_cast<double>(i));
  barrier();
}

TEST(Cpp, PartsOfAnArray) {
  const Array<int> inbox(10);
  const std::array<int, 3> three{1, 2, 3};
  put(three, partner(), inbox.section(4, 3));
  put_value(9, partner(), inbox[9]);
  barrier();
  const std::vector<int> expected{0, 0, 0, 0, 1, 2, 3, 0, 0, 9};
  EXPECT_TRUE(std::ranges::equal(inbox.local(), expected));
  barrier();
}

TEST(Cpp, StructsAndGets) {
  const Array<Particle> cell(2);
  cell.local()[1] = Particle{{1, 2, 3}, 40 + static_cast<int>(rank())};
  barrier();
  std::vector<Particle> both(2);
  get(both, partner(), cell);
  EXPECT_EQ(both[1].kind, 40 + static_cast<int>(partner()));
  EXPECT_EQ(get_value(partner(), cell[1]).place[2], 3);
  barrier();
}

TEST(Cpp, PutSignalAndTimedWaits) {
  const Array<long> inbox(1);
  const Array<uint32_t> word(2);
  const Flag flag(word[1]);
  EXPECT_FALSE(wait_for(flag, 1ms));
  EXPECT_FALSE(wait_for(flag, -1s));
  barrier();
  put_signal(std::array{7L + static_cast<long>(rank())}, partner(), inbox, flag);
  EXPECT_TRUE(wait_for(flag, 200s));
  EXPECT_EQ(inbox.local()[0], 7L + static_cast<long>(partner()));
  EXPECT_FALSE(poll(flag));
  EXPECT_TRUE(flush_for(200s));
  EXPECT_TRUE(quiet_for(200s));
  EXPECT_TRUE(barrier_for(200s));
}

TEST(Cpp, LimitsInNanoseconds) {
  EXPECT_EQ(limit_ns(2ms), 2'000'000);
  EXPECT_EQ(limit_ns(-2ms), 0);
  EXPECT_EQ(limit_ns(std::chrono::hours::max()), OMPL_FOREVER);
}

TEST(Cpp, AContextMovesBetweenThreads) {
  const Array<int> inbox(2);
  const Array<uint32_t> word(1);
  Context context;
  std::thread([&] { context.put(std::array{5}, partner(), inbox[0]); }).join();
  std::thread([&, moved = std::move(context)]() mutable {
    moved.put_signal(std::array{6}, partner(), inbox[1], Flag(word));
    moved.put_word(partner(), Flag(word));
    moved.quiet();
    moved.close();
  }).join();
  Context mine;
  mine.wait(Flag(word));
  EXPECT_TRUE(mine.wait_for(Flag(word), 200s));
  EXPECT_EQ(inbox.local()[0] + inbox.local()[1], 11);
  std::array<int, 2> copy{};
  mine.get(copy, partner(), inbox);
  mine.flush();
  EXPECT_EQ(copy[0] + copy[1], 11);
  barrier();
}

TEST(Cpp, MappedMemoryOfThePartner) {
  const Array<int> array(4);
  const auto theirs = array.on(partner());
  ASSERT_TRUE(theirs.empty() || theirs.size() == 4);
  EXPECT_EQ(theirs.empty(), node_size() == 1);
  if (!theirs.empty()) theirs[3] = 33;
  barrier();
  EXPECT_EQ(array.local()[3], theirs.empty() ? 0 : 33);
  barrier();
}

TEST(Cpp, Errors) {
  const Array<int> array(4);
  expect_error(OMPL_ERR_LENGTH, "differ in length: 3 and 4", [&] {
    put(std::array{1, 2, 3}, partner(), array);
  });
  expect_error(OMPL_ERR_LENGTH, "not all inside", [&] { static_cast<void>(array.section(2, 3)); });
  expect_error(OMPL_ERR_LENGTH, "not all inside", [&] { static_cast<void>(array[4]); });
  expect_error(OMPL_ERR_RANK, "rank 7 does not exist", [&] { put_value(1, 7, array[0]); });
  expect_error(OMPL_ERR_OFFSET, "not allocated", [&] { put_value(1, 0, Section<int>(0, 1)); });
  expect_error(OMPL_ERR_ALIGN, "not a multiple of 4", [&] { wait(Flag(array.offset() + 1)); });
  expect_error(OMPL_ERR_LENGTH, "overflows", [] { const Array<double> huge(SIZE_MAX / 4); });
  expect_error(OMPL_ERR_ARG, "the size is 0", [] { const Array<double> none(0); });
  barrier();
}

TEST(Cpp, DestructorsFreeUnlessAnExceptionPasses) {
  uint64_t freed = 0;
  {
    const Array<int> array(4);
    freed = array.offset();
  }
  EXPECT_EQ(ompl_ptr(rank(), freed), nullptr);
  uint64_t kept = 0;
  try {
    const Array<int> array(4);
    kept = array.offset();
    throw std::runtime_error("passes");
  } catch (const std::runtime_error&) {
  }
  EXPECT_NE(ompl_ptr(rank(), kept), nullptr);  // nothing collective happened
  Array<int> moved(4);
  const uint64_t offset = moved.offset();
  Array<int> owner(std::move(moved));
  EXPECT_EQ(owner.offset(), offset);
  owner.free();
  EXPECT_EQ(ompl_ptr(rank(), offset), nullptr);
  EXPECT_EQ(ompl_free(kept), OMPL_OK);
}

}  // namespace

int main(int argc, char** argv) { return ranks::run(argc, argv); }
