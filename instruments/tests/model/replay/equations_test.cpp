// SPDX-License-Identifier: BSD-3-Clause
// The numbered equations of the LogGPS paper, written out, against the replayer: on its three machines, for lengths
// around s and S, whatever the order of the two calls. Then figure 5 and the time of section 4.4.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "listed_program.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

constexpr double kExact = 1e-9;

void expect_exact(double found, double wanted) {
  EXPECT_NEAR(found, wanted, kExact * std::max(1.0, std::abs(wanted)));
}

// Table 3, from the parameters of table 5.
struct Table3 {
  double L, o, Oss, Ors, Gs, Osl, Orl, Gl, s, S;

  explicit Table3(const Parameters& p)
      : L(p.value[latency]),
        o(p.value[overhead]),
        Oss(p.value[send_short]),
        Ors(p.value[recv_short]),
        Gs(p.value[gap_short]),
        Osl(p.value[send_long]),
        Orl(p.value[recv_long]),
        Gl(p.value[gap_long]),
        s(static_cast<double>(p.longest_packet)),
        S(static_cast<double>(p.longest_eager)) {}

  [[nodiscard]] double T1(double k) const { return o + k * Oss; }
  [[nodiscard]] double T2(double k) const { return k <= s ? k * Gs + L : s * Gs + (k - s) * Gl + L; }
  [[nodiscard]] double T3(double k) const { return o + k * Ors; }
  [[nodiscard]] double T1l(double k) const { return o + k * Osl; }
  [[nodiscard]] double T3l(double k) const { return o + k * Orl; }
  [[nodiscard]] double T4(double ts, double tr) const { return std::max(o + L, tr - ts) + o; }
  [[nodiscard]] double T5() const { return o + L + o; }

  // Equations (4) and (5); (7) to (9).
  [[nodiscard]] double send(double k, double ts, double tr) const {
    return k <= S ? T1(k) : T4(ts, tr) + T5() + T1l(k);
  }
  [[nodiscard]] double recv(double k, double ts, double tr) const {
    if (k <= S) return std::max(T1(k) + T2(k) - (tr - ts), 0.0) + T3(k);
    return std::max(o + L - (tr - ts), 0.0) + o + T5() + T1l(k) + T2(k) + T3l(k);
  }
  // Equation (11), with t_w - t_i for its t_i - t_w.
  [[nodiscard]] double wait(double blocking, double ti, double tw) const {
    return std::max(blocking - (tw - ti), o);
  }
  // Equations (12) to (14), and the one dummy loop w.
  [[nodiscard]] double round_trip(double k, double w) const {
    if (k <= S) return std::max(T1(k) + 2 * T2(k) + T3(k) - w, 0.0) + w + T1(k) + T3(k);
    const double t4 = o + L + o;
    return std::max(T2(k) + T3l(k) + o + L - w, 0.0) + w + 2 * T1l(k) + T2(k) + T3l(k) + 2 * t4 +
           2 * T5() - (o + L);
  }
};

class Machine : public ::testing::TestWithParam<const char*> {
 protected:
  Parameters parameters = find_parameters(GetParam(), Model::loggps);
  Table3 t{parameters};

  [[nodiscard]] std::vector<uint64_t> lengths() const {
    return {0,
            1,
            1000,
            parameters.longest_packet,
            parameters.longest_packet + 1,
            parameters.longest_eager,
            parameters.longest_eager + 1,
            65472};
  }
};

constexpr double kTimes_ns[] = {0, 1, 20000, 3e6};

TEST_P(Machine, SendAndRecvTakeEquations4And5And7To9) {
  for (const uint64_t bytes : lengths()) {
    for (const double ts : kTimes_ns) {
      for (const double tr : kTimes_ns) {
        const auto k = static_cast<double>(bytes);
        const Result found = run({{compute_for(ts), message(OpKind::send, 1, bytes)},
                                  {compute_for(tr), message(OpKind::recv, 0, bytes)}},
                                 parameters);
        expect_exact(total(found.per_rank[0]), ts + t.send(k, ts, tr));
        expect_exact(total(found.per_rank[1]), tr + t.recv(k, ts, tr));
        // Section 2's waiting times: from REQ's arrival to the call of the receive; from it to the message's arrival.
        expect_exact(found.per_rank[0].send_wait, k > t.S ? std::max(tr - ts - t.o - t.L, 0.0) : 0);
        const double waited = k > t.S ? std::max(t.o + t.L - (tr - ts), 0.0) + t.T1l(k) + t.T2(k)
                                      : std::max(t.T1(k) + t.T2(k) - (tr - ts), 0.0);
        expect_exact(found.per_rank[1].recv_wait, waited);
      }
    }
  }
}

TEST_P(Machine, NonblockingCallsAndWaitsTakeEquations6And10And11) {
  for (const uint64_t bytes : lengths()) {
    for (const double ts : kTimes_ns) {
      for (const double tr : kTimes_ns) {
        const double works = 50000;
        const auto k = static_cast<double>(bytes);
        const Result found =
            run({{compute_for(ts), message(OpKind::isend, 1, bytes), compute_for(works), wait_for(0)},
                 {compute_for(tr), message(OpKind::irecv, 0, bytes), compute_for(works), wait_for(0)}},
                parameters);
        const double send_wait = t.wait(t.send(k, ts, tr), ts, ts + t.o + works);
        const double recv_wait = t.wait(t.recv(k, ts, tr), tr, tr + t.o + works);
        expect_exact(total(found.per_rank[0]), ts + t.o + works + send_wait);
        expect_exact(total(found.per_rank[1]), tr + t.o + works + recv_wait);
      }
    }
  }
}

double round_trip(const Parameters& parameters, double w, uint64_t k) {
  const Result found = run({{message(OpKind::send, 1, k), compute_for(w), message(OpKind::recv, 1, k)},
                            {message(OpKind::recv, 0, k), message(OpKind::send, 0, k)}},
                           parameters);
  return total(found.per_rank[0]);
}

TEST_P(Machine, RoundTripsTakeEquations12To14) {
  for (const uint64_t k : lengths())
    for (const double w : {0.0, 1e4, 1e5, 5e5, 5e6})
      expect_exact(round_trip(parameters, w, k), t.round_trip(static_cast<double>(k), w));
}

// The slopes and the jump of figure 5 from round trips of the replayer. In its D(W) the paper prints S Gs for s Gs.
TEST_P(Machine, RoundTripsHaveTheSlopesAndJumpsOfFigure5) {
  const double W = 5e9;
  const auto at = [&](double w, uint64_t k) { return round_trip(parameters, w, k); };
  const auto slope = [&](double w, uint64_t from, uint64_t to) {
    return (at(w, to) - at(w, from)) / static_cast<double>(to - from);
  };
  const uint64_t s = parameters.longest_packet;
  const uint64_t S = parameters.longest_eager;
  constexpr uint64_t kFar = 1000000;
  expect_exact(at(0, 0), 4 * t.o + 2 * t.L);
  expect_exact(at(W, 0), 2 * t.o + W);
  expect_exact(slope(0, 0, s), 2 * (t.Oss + t.Ors + t.Gs));
  if (s < S) expect_exact(slope(0, s, S), 2 * (t.Oss + t.Ors + t.Gl));
  expect_exact(slope(0, S + 1, kFar), 2 * (t.Osl + t.Orl + t.Gl));
  EXPECT_NEAR(slope(W, 0, S), t.Oss + t.Ors, 1e-6);
  EXPECT_NEAR(slope(W, S + 1, kFar), 2 * t.Osl + t.Orl + t.Gl, 1e-6);
  // Just above S, less what one byte more takes.
  const double jump_0 = at(0, S + 1) - at(0, S) - 2 * (t.Osl + t.Orl + t.Gl);
  const double jump_W = at(W, S + 1) - at(W, S) - (2 * t.Osl + t.Orl + t.Gl);
  expect_exact(jump_0, 8 * t.o + 4 * t.L + 2 * t.S * (t.Osl - t.Oss) + 2 * t.S * (t.Orl - t.Ors));
  EXPECT_NEAR(jump_W,
              8 * t.o + 4 * t.L + t.S * (2 * t.Osl - t.Oss) + t.S * (t.Orl - t.Ors) + t.s * t.Gs +
                  (t.S - t.s) * t.Gl,
              1e-5);  // of 5e9
}

INSTANTIATE_TEST_SUITE_P(Table5, Machine, ::testing::Values("cenju4", "myrinet", "fast-ethernet"),
                         [](const auto& machine) {
                           std::string name = machine.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Section4_4, AMessageOfLengthSTakes298MicrosecondsOnMyrinet) {
  const Parameters myrinet = find_parameters("myrinet", Model::loggps);
  const uint64_t S = myrinet.longest_eager;
  const double found =
      run({{message(OpKind::send, 1, S)}, {message(OpKind::recv, 0, S)}}, myrinet).predicted_ns;
  EXPECT_EQ(std::floor(found / 1000), 298);
  // 1,438 such messages: 0.43 s.
  EXPECT_NEAR(1438 * found / 1e9, 0.43, 0.005);
}

}  // namespace
