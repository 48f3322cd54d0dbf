// SPDX-License-Identifier: BSD-3-Clause
// Messages that share a receiver's bandwidth (section 3.2), by hand; and what is off in the paper's mode.
#include <gtest/gtest.h>

#include "listed_program.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

// Rank 0 receives one message of each of the others, which start at these times.
std::vector<std::vector<Op>> fan_in(const std::vector<double>& starts, uint64_t k) {
  std::vector<std::vector<Op>> ranks(1);
  for (const double start : starts) {
    ranks[0].push_back(message(OpKind::recv, static_cast<int32_t>(ranks.size()), k));
    ranks.push_back({compute_for(start), message(OpKind::send, 0, k)});
  }
  return ranks;
}

TEST(Sharing, TheGapOfPMessagesAtOnceTakesPTimesAsLong) {
  const Parameters p = find_parameters("fast-ethernet", Model::loggps);  // Gs is the largest
  constexpr double k = 1000, o = 22340, L = 24580, Oss = 12.37, Ors = 11.53, Gs = 188.77;
  const auto ranks = fan_in({0, 0, 0}, 1000);
  const double first = o + k * Oss + 3 * k * Gs + L + o + k * Ors;
  EXPECT_NEAR(run(ranks, p).predicted_ns, first + 2 * (o + k * Ors), 1e-6);
  const double alone = o + k * Oss + k * Gs + L + o + k * Ors;
  EXPECT_NEAR(run(ranks, p, {.sharing = false}).predicted_ns, alone + 2 * (o + k * Ors), 1e-6);
}

TEST(Sharing, PChangesWhileAMessageIsOnItsWay) {
  const Parameters p = find_parameters("fast-ethernet", Model::loggps);
  constexpr double k = 1000, o = 22340, L = 24580, Oss = 12.37, Ors = 11.53, Gs = 188.77;
  constexpr double later = 50000;
  // Alone for 50 us; then two at half the speed until the first ends; then the second alone.
  const double begin = o + k * Oss;
  const double first_end = begin + later + 2 * (k * Gs - later);
  const double second_end = first_end + later;
  const double first = first_end + L + o + k * Ors;
  EXPECT_NEAR(run(fan_in({0, later}, 1000), p).predicted_ns,
              std::max(first, second_end + L) + o + k * Ors, 1e-6);
}

TEST(Sharing, WhereTheSendOverheadIsTheLargestItIsStretched) {
  const Parameters p = find_parameters("cenju4", Model::loggps);  // Oss is the largest
  constexpr double k = 1000, o = 4260, Oss = 19.61;
  const Result found = run(fan_in({0, 0}, 1000), p);
  EXPECT_NEAR(total(found.per_rank[1]), o + 2 * k * Oss, 1e-6);
  EXPECT_NEAR(total(found.per_rank[2]), o + 2 * k * Oss, 1e-6);
}

TEST(Sharing, BetweenSAndSTheSlopesThatAreUsedDecide) {
  const Parameters p = find_parameters("myrinet", Model::loggps);  // Oss of Oss, Ors, Gl
  constexpr double k = 10000, o = 6730, Oss = 5.02;
  EXPECT_NEAR(total(run(fan_in({0, 0}, 10000), p).per_rank[1]), o + 2 * k * Oss, 1e-6);
}

TEST(Sharing, AfterAHandshakeTheSlopesOfLongMessagesDecide) {
  const Parameters p = find_parameters("myrinet", Model::loggps);  // Osl of Osl, Orl, Gl
  constexpr double k = 20000, o = 6730, L = 850, Osl = 4.80;
  std::vector<std::vector<Op>> ranks = fan_in({0, 0}, 20000);
  ranks[0] = {message(OpKind::irecv, 1, 20000),
              message(OpKind::irecv, 2, 20000),
              {.kind = OpKind::wait, .more = true, .request = 0},
              {.kind = OpKind::wait, .request = 1}};
  // The receives are posted at 0 and o'; both requests arrive at o' + L: both are seen at once.
  const double handshake = o + L + o + o + L + o;
  const Result found = run(ranks, p);
  EXPECT_NEAR(total(found.per_rank[1]), handshake + o + 2 * k * Osl, 1e-6);
  EXPECT_NEAR(total(found.per_rank[2]), handshake + o + 2 * k * Osl, 1e-6);
}

TEST(Sharing, AHundredThousandMessagesAtOneReceiverEndTogether) {
  const Parameters p = find_parameters("fast-ethernet", Model::loggps);
  constexpr int32_t kMessages = 100000;
  constexpr double k = 10, o = 22340, L = 24580, Oss = 12.37, Gs = 188.77;
  std::vector<std::vector<Op>> ranks(2);
  for (int32_t i = 0; i < kMessages; ++i) {
    ranks[1].push_back({.kind = OpKind::isend, .tag = i, .bytes = 10});
    ranks[0].push_back({.kind = OpKind::recv, .peer = 1, .tag = kMessages - 1 - i, .bytes = 10});
  }
  // Each uses the bandwidth for 1.9 us, and one comes each 22.3 us: they never meet.
  const Result found = run(ranks, p);
  EXPECT_EQ(found.unmatched_count, 0U);
  const double last_arrival = (kMessages - 1) * o + o + k * Oss + k * Gs + L;
  EXPECT_NEAR(total(found.per_rank[0]), last_arrival + kMessages * (o + k * 11.53), 1);
}

TEST(Options, AFullEagerBufferMakesTheSenderWait) {
  const Parameters p = find_parameters("myrinet", Model::loggps);
  constexpr double o = 6730, Oss = 5.02, Ors = 4.72, busy = 1e6;
  const std::vector<std::vector<Op>> ranks{
      {message(OpKind::send, 1, 600), message(OpKind::send, 1, 600)},
      {compute_for(busy), message(OpKind::recv, 0, 600), message(OpKind::recv, 0, 600)}};
  EXPECT_NEAR(total(run(ranks, p).per_rank[0]), 2 * (o + 600 * Oss), 1e-6);
  EXPECT_NEAR(total(run(ranks, p, {.eager_buffer = 1200}).per_rank[0]), 2 * (o + 600 * Oss), 1e-6);
  const Result found = run(ranks, p, {.eager_buffer = 1199});
  const double freed = busy + o + 600 * Ors;
  EXPECT_NEAR(total(found.per_rank[0]), freed + o + 600 * Oss, 1e-6);
  EXPECT_NEAR(found.per_rank[0].send_wait, freed - (o + 600 * Oss), 1e-6);
}

TEST(Options, ComputationIsScaledAndDisturbed) {
  Parameters p = find_parameters("myrinet", Model::loggps);
  std::vector<std::vector<Op>> ranks(1, std::vector<Op>(20000, compute_for(10)));
  p.value[compute] = 0.5;
  EXPECT_NEAR(run(ranks, p).predicted_ns, 100000, 1e-6);
  // The mean of 20,000 exponential disturbances of 0.3 has a standard deviation of 0.3 / sqrt(20,000) = 0.002.
  p.value[compute] = 1;
  const double disturbed = run(ranks, p, {.noise = 0.3}).predicted_ns;
  EXPECT_NEAR(disturbed / 200000, 1.3, 0.01);
  EXPECT_EQ(run(ranks, p, {.noise = 0.3}).predicted_ns, disturbed);
  EXPECT_NE(run(ranks, p, {.noise = 0.3, .seed = 2}).predicted_ns, disturbed);
}

TEST(LogGp1, TakesOverheadsAndGapsOfEachLength) {
  const Parameters p = loggp1(7.46, {{0, 1, 2, 20}, {1000, 3, 6, 10}});
  const auto time = [&](uint64_t k) {
    return run({{message(OpKind::send, 1, k)}, {message(OpKind::recv, 0, k)}}, p).predicted_ns;
  };
  EXPECT_NEAR(time(0), 1000 + 7460 + 2000, 1e-6);
  EXPECT_NEAR(time(1000), 3000 + 1000 * 10 + 7460 + 6000, 1e-6);
  EXPECT_NEAR(time(500), 2000 + 500 * 15 + 7460 + 4000, 1e-6);
  EXPECT_NEAR(time(2000), 3000 + 2000 * 10 + 7460 + 6000, 1e-6);
  // No length waits for the receiver.
  EXPECT_NEAR(
      run({{message(OpKind::send, 1, 1000000)}, {compute_for(1e9), message(OpKind::recv, 0, 1000000)}},
          p)
          .per_rank[0]
          .send_wait,
      0, 1e-9);
}

}  // namespace
