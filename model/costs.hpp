// SPDX-License-Identifier: BSD-3-Clause
// What a message of k bytes costs, in the parts of table 3: T1 = send_fixed + send_slope, T2 = gap + wire,
// T3 = recv_fixed + recv_slope; and the handshake of T4 and T5. docs/model.md derives each from the paper.
#pragma once

#include <algorithm>

#include "model/clock.hpp"

namespace ompl::model {

// Which part carries the bandwidth of the receiver and is stretched where messages share it (section 3.2).
enum class Carrier : uint8_t { none, send, recv, gap };

template <class Clock>
class Costs {
 public:
  explicit Costs(const Parameters& parameters) : p_(parameters) {
    for (int kind = 0; kind < 4; ++kind) carrier_[kind] = find_carrier(kind & 1, (kind & 2) != 0);
  }

  [[nodiscard]] bool is_rendezvous(uint64_t k) const { return k > p_.S; }

  [[nodiscard]] Clock send_fixed(uint64_t k) const {
    if (p_.model == Model::loggp1) return of(overhead, row(k).send);
    return of(p_.model == Model::loggp2 && k > p_.s ? overhead_long : overhead, 1);
  }
  [[nodiscard]] Clock recv_fixed(uint64_t k) const {
    if (p_.model == Model::loggp1) return of(overhead, row(k).recv);
    return send_fixed(k);
  }
  [[nodiscard]] Clock send_slope(uint64_t k, bool rendezvous) const {
    if (p_.model == Model::loggops) return of(send_short, less_one(k));
    return of(rendezvous ? send_long : send_short, bytes(k));
  }
  [[nodiscard]] Clock recv_slope(uint64_t k, bool rendezvous) const {
    if (p_.model == Model::loggops) return of(send_short, less_one(k));
    return of(rendezvous ? recv_long : recv_short, bytes(k));
  }
  // T2 and T2' without L.
  [[nodiscard]] Clock gap(uint64_t k) const {
    switch (p_.model) {
      case Model::loggp1:
        return of(gap_short, bytes(k) * row(k).gap);
      case Model::loggp2:
        return of(k > p_.s ? gap_long : gap_short, bytes(k));
      case Model::loggops:
        return of(gap_short, less_one(k));
      case Model::loggps:
        break;
    }
    return k <= p_.s ? of(gap_short, bytes(k))
                     : of(gap_short, bytes(p_.s)) + of(gap_long, bytes(k - p_.s));
  }
  [[nodiscard]] Clock wire() const { return of(latency, 1); }
  [[nodiscard]] Clock message_gap_time() const { return of(message_gap, 1); }
  [[nodiscard]] Carrier carrier(uint64_t k, bool rendezvous) const {
    return carrier_[(k > p_.s ? 1 : 0) + (rendezvous ? 2 : 0)];
  }

  // o': of a message without content, of posting a nonblocking operation, the least that a wait costs.
  [[nodiscard]] Clock small() const { return send_fixed(0); }
  [[nodiscard]] Clock post_send(uint64_t k) const {
    return is_loggops() ? send_fixed(k) + send_slope(k, false) : small();
  }
  [[nodiscard]] Clock post_recv() const { return is_loggops() ? Clock{} : recv_fixed(0); }
  [[nodiscard]] Clock least_wait() const { return post_recv(); }
  // A request or grant on its way to the other processor; what its receiver is busy with it.
  [[nodiscard]] Clock notice() const { return small() + wire(); }
  [[nodiscard]] Clock take_notice() const { return is_loggops() ? Clock{} : recv_fixed(0); }
  // Handshakes cost nothing there, and the sender's overhead is spent before them.
  [[nodiscard]] bool is_loggops() const { return p_.model == Model::loggops; }

  [[nodiscard]] Clock of(Term term, double count) const { return amount<Clock>(p_, term, count); }

 private:
  static double bytes(uint64_t k) { return static_cast<double>(k); }
  static double less_one(uint64_t k) { return k == 0 ? 0 : bytes(k - 1); }

  // The largest of the slopes that such a message's costs have; the first of the paper's order if several are.
  Carrier find_carrier(bool above_s, bool rendezvous) const {
    if (p_.model == Model::loggp1 || p_.model == Model::loggp2) return Carrier::gap;
    const double send = p_.value[rendezvous && !is_loggops() ? send_long : send_short];
    const double recv = is_loggops() ? send : p_.value[rendezvous ? recv_long : recv_short];
    const double gap = p_.value[above_s && !is_loggops() ? gap_long : gap_short];
    const double most = std::max({send, recv, gap});
    if (most == 0) return Carrier::none;
    if (send == most) return Carrier::send;
    return recv == most ? Carrier::recv : Carrier::gap;
  }

  [[nodiscard]] LengthRow row(uint64_t k) const {
    const auto above = std::ranges::lower_bound(p_.rows, k, {}, &LengthRow::bytes);
    if (above == p_.rows.end()) return p_.rows.back();
    if (above == p_.rows.begin()) return *above;
    const LengthRow& below = *(above - 1);
    const double part = bytes(k - below.bytes) / bytes(above->bytes - below.bytes);
    const auto between = [part](double a, double b) { return a + part * (b - a); };
    return {k, between(below.send, above->send), between(below.recv, above->recv),
            between(below.gap, above->gap)};
  }

  Parameters p_;
  Carrier carrier_[4];
};

}  // namespace ompl::model
