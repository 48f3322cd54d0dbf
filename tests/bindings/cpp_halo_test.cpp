// SPDX-License-Identifier: BSD-3-Clause
// halo.hpp on two ranks: lists of elements, several vectors, waiting for some, time limits, what is refused.
#include <array>
#include <omnipgas/halo.hpp>
#include <vector>

#include "ranks.hpp"

using namespace std::chrono_literals;
using namespace omnipgas;  // NOLINT(google-build-using-namespace)
using ranks::expect_error;
using ranks::partner;

namespace {

constexpr std::size_t kLength = 8;
constexpr std::array<uint32_t, 3> kSent{7, 0, 3};
constexpr std::array<uint32_t, 3> kPlaces{1, 2, 4};

std::array<ompl_halo_neighbor, 1> both_ways() {
  return {{{.send_indices = kSent.data(),
            .receive_positions = kPlaces.data(),
            .send_count = 3,
            .send_first = 0,
            .receive_count = 3,
            .receive_first = 0,
            .rank = partner()}}};
}

// Element i of a rank's vector in a step.
float element(uint32_t of, int step, std::size_t i) {
  return 100.0F * static_cast<float>(of) + 10.0F * static_cast<float>(step) + static_cast<float>(i);
}
std::vector<float> vector_of(uint32_t of, int step) {
  std::vector<float> vector(kLength);
  for (std::size_t i = 0; i < kLength; ++i) vector[i] = element(of, step, i);
  return vector;
}

TEST(CppHalo, ListsOfElements) {
  for (const int32_t strategy : {OMPL_HALO_DOUBLE_BUFFER, OMPL_HALO_SINGLE, OMPL_HALO_ACKED}) {
    Halo<float> halo(both_ways(), kLength, {.strategy = strategy});
    for (int step = 0; step < 10; ++step) {
      std::vector<float> vector = vector_of(rank(), step);
      halo.start(vector);
      halo.wait();
      EXPECT_TRUE(halo.test());
      const auto came = halo.data(0);
      ASSERT_EQ(came.size(), 3U);
      halo.unpack(0, vector);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(came[i], element(partner(), step, kSent[i]));
        EXPECT_EQ(vector[kPlaces[i]], came[i]);
      }
      EXPECT_EQ(vector[5], element(rank(), step, 5));
    }
  }
}

TEST(CppHalo, SeveralVectors) {
  Halo<float> halo(both_ways(), kLength, {.vectors = 2});
  std::vector<float> one = vector_of(rank(), 1);
  std::vector<float> two = vector_of(rank(), 2);
  std::array<std::size_t, 1> room{};
  halo.start(one, two);
  const auto found = halo.wait_some(room);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], 0U);
  while (!halo.wait_some(room).empty()) ADD_FAILURE() << "named twice";
  halo.unpack(0, one, two);
  EXPECT_EQ(one[1], element(partner(), 1, 7));
  EXPECT_EQ(two[1], element(partner(), 2, 7));
  EXPECT_TRUE(halo.data(1).empty());
  EXPECT_TRUE(halo.data(0, 2).empty());
}

TEST(CppHalo, TimeLimits) {
  Halo<float> halo(both_ways(), kLength, {.strategy = OMPL_HALO_ACKED});
  const std::vector<float> vector = vector_of(rank(), 0);
  barrier();
  if (rank() == 0) {
    EXPECT_TRUE(halo.start_for(200s, vector));
    EXPECT_FALSE(halo.wait_for(1ms));
  }
  barrier();
  if (rank() == 1) {
    EXPECT_TRUE(halo.start_for(200s, vector));
  }
  EXPECT_TRUE(halo.wait_for(200s));
  barrier();
}

TEST(CppHalo, WhatIsRefused) {
  Halo<float> halo(both_ways(), kLength);
  std::vector<float> vector(kLength);
  const std::vector<float> shorter(kLength - 1);
  expect_error(OMPL_ERR_ARG, "1 vectors", [&] { halo.start(vector, vector); });
  expect_error(OMPL_ERR_LENGTH, "7 and 8", [&] { halo.start(shorter); });
  expect_error(OMPL_ERR_ARG, "neighbour 3", [&] { halo.unpack(3, vector); });
  expect_error(OMPL_ERR_LENGTH, "element 7", [] { Halo<float>(both_ways(), 7); });
}

TEST(CppHalo, SaysWhatItUsesAndIsMoved) {
  Halo<float> halo(both_ways(), kLength, {.strategy = OMPL_HALO_SINGLE});
  EXPECT_EQ(halo.describe(), "* single        \n");
  Halo<float> moved(std::move(halo));
  moved.free();
  Halo<float> alone({}, 1);
  alone.start(std::vector<float>(1));
  alone.wait();
}

}  // namespace

int main(int argc, char** argv) { return ranks::run(argc, argv); }
