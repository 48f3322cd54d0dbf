// SPDX-License-Identifier: BSD-3-Clause
// What a message of k bytes costs, in the parts of table 3: T1 = send_fixed + send_slope, T2 = gap + wire,
// T3 = recv_fixed + recv_slope; and the handshake of T4 and T5. docs/explanation/model.md derives each from the paper.
#pragma once

#include <algorithm>

#include "model/replay/clock.hpp"

namespace ompl::model {

// Which part carries the bandwidth of the receiver and is stretched where messages share it (section 3.2).
enum class Carrier : uint8_t { none, send, recv, gap };

// The costs of one length.
template <class Clock>
struct Parts {
  uint64_t bytes = 0;
  bool rendezvous = false;
  Clock send_fixed{}, send_slope{}, gap{}, recv_fixed{}, recv_slope{};
  Clock post_send{};  // of posting it
  Carrier carrier = Carrier::none;
};

template <class Clock>
class Costs {
 public:
  explicit Costs(const Parameters& parameters)
      : p_(parameters),
        wire_(of(latency, 1)),
        small_(send_fixed(0)),
        post_recv_(is_loggops() ? Clock{} : recv_fixed(0)),
        notice_(small_ + wire_),
        last_(make_parts(0, false)) {}

  // Of a length as it is sent now. Valid until the next call; most messages have the length of the one before.
  const Parts<Clock>& parts(uint64_t k, bool rendezvous) const {
    if (k != last_.bytes || rendezvous != last_.rendezvous) last_ = make_parts(k, rendezvous);
    return last_;
  }

  [[nodiscard]] bool is_rendezvous(uint64_t k) const { return k > p_.longest_eager; }

  // L; g.
  [[nodiscard]] const Clock& wire() const { return wire_; }
  [[nodiscard]] Clock message_gap_time() const { return of(message_gap, 1); }

  // Of posting a receive, and the least that a wait costs: o'.
  [[nodiscard]] const Clock& post_recv() const { return post_recv_; }
  [[nodiscard]] const Clock& least_wait() const { return post_recv_; }
  // A request or grant on its way to the other processor, a message without content; what its receiver is busy with it.
  [[nodiscard]] const Clock& notice() const { return notice_; }
  [[nodiscard]] const Clock& take_notice() const { return post_recv_; }
  // Handshakes cost nothing there, and the sender's overhead is spent before them.
  [[nodiscard]] bool is_loggops() const { return p_.model == Model::loggops; }

  // Whatever a call does reaches another processor this much later, or more; 0 if there is no such bound.
  [[nodiscard]] double lookahead_ns() const {
    if (is_loggops()) return 0;  // a receive may let a message go on at once
    if (p_.model == Model::loggp2) return std::min(p_.value[overhead], p_.value[overhead_long]);
    double least = std::numeric_limits<double>::infinity();
    for (const LengthRow& row : p_.rows) least = std::min({least, row.send, row.recv});
    return p_.has_rows() ? least * p_.value[overhead] : p_.value[overhead];
  }

  [[nodiscard]] Clock of(Term term, double count) const { return amount<Clock>(p_, term, count); }

 private:
  Parts<Clock> make_parts(uint64_t k, bool rendezvous) const {
    return {.bytes = k,
            .rendezvous = rendezvous,
            .send_fixed = send_fixed(k),
            .send_slope = send_slope(k, rendezvous),
            .gap = gap(k),
            .recv_fixed = recv_fixed(k),
            .recv_slope = recv_slope(k, rendezvous),
            .post_send = is_loggops() ? send_fixed(k) + send_slope(k, false) : small_,
            .carrier = find_carrier(k > p_.longest_packet, rendezvous)};
  }

  [[nodiscard]] Clock send_fixed(uint64_t k) const {
    if (p_.has_rows()) return of(overhead, row(k).send);
    return of(p_.model == Model::loggp2 && k > p_.longest_packet ? overhead_long : overhead, 1);
  }
  [[nodiscard]] Clock recv_fixed(uint64_t k) const {
    if (p_.has_rows()) return of(overhead, row(k).recv);
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
      case Model::curve:
        return of(gap_short, row(k).gap);
      case Model::loggp2:
        return of(k > p_.longest_packet ? gap_long : gap_short, bytes(k));
      case Model::loggops:
        return of(gap_short, less_one(k));
      case Model::loggps:
        break;
    }
    return k <= p_.longest_packet
               ? of(gap_short, bytes(k))
               : of(gap_short, bytes(p_.longest_packet)) + of(gap_long, bytes(k - p_.longest_packet));
  }
  static double bytes(uint64_t k) { return static_cast<double>(k); }
  static double less_one(uint64_t k) { return k == 0 ? 0 : bytes(k - 1); }

  // The largest of the slopes that such a message's costs have; the first of the paper's order if several are.
  Carrier find_carrier(bool above_s, bool rendezvous) const {
    if (p_.has_rows() || p_.model == Model::loggp2) return Carrier::gap;
    const double send = p_.value[rendezvous && !is_loggops() ? send_long : send_short];
    const double recv = is_loggops() ? send : p_.value[rendezvous ? recv_long : recv_short];
    const double gap = p_.value[above_s && !is_loggops() ? gap_long : gap_short];
    const double most = std::max({send, recv, gap});
    if (most == 0) return Carrier::none;
    if (send == most) return Carrier::send;
    return recv == most ? Carrier::recv : Carrier::gap;
  }

  [[nodiscard]] LengthRow row(uint64_t k) const {
    auto above = std::ranges::lower_bound(p_.rows, k, {}, &LengthRow::bytes);
    if (above == p_.rows.end()) {
      if (p_.model != Model::curve || p_.rows.size() == 1) return p_.rows.back();
      --above;  // the last line goes on
    }
    if (above == p_.rows.begin()) return *above;
    const LengthRow& below = *(above - 1);
    const double part = (bytes(k) - bytes(below.bytes)) / bytes(above->bytes - below.bytes);
    const auto between = [part](double a, double b) { return std::max(0.0, a + part * (b - a)); };
    return {k, between(below.send, above->send), between(below.recv, above->recv),
            between(below.gap, above->gap)};
  }

  Parameters p_;
  Clock wire_, small_, post_recv_, notice_;
  mutable Parts<Clock> last_;
};

}  // namespace ompl::model
