// SPDX-License-Identifier: BSD-3-Clause
// Two sets of slots suffice, as in a double-buffered halo: who sends to a slot again has finished the reduction between,
// for which it needed a message that its partner sent after it had read the slot.
#include "solver/ranks/sums.hpp"

#include <algorithm>
#include <bit>

#include "solver/ranks/layer.hpp"

namespace ompl::solver {

namespace {

constexpr std::size_t kMost = 8;                        // values at once
constexpr uint64_t kSlot = 2 * kMost * sizeof(double);  // values, and the flag in a line of its own
constexpr uint64_t kFlag = kMost * sizeof(double);

}  // namespace

Sums::Sums()
    : rank_(my_rank()),
      size_(all_ranks()),
      paired_(std::bit_floor(size_)),
      rounds_(static_cast<uint32_t>(std::countr_zero(paired_))) {
  check(ompl_alloc(uint64_t{2} * (rounds_ + 2) * kSlot, &slots_), "ompl_alloc");
}

uint64_t Sums::slot(uint32_t round) const {
  return slots_ + ((turn_ % 2) * (rounds_ + 2) + round) * kSlot;
}

void Sums::send(uint32_t to, uint32_t round, std::span<const double> values) {
  check(ompl_put_signal(reinterpret_cast<uintptr_t>(values.data()), to, slot(round),
                        values.size_bytes(), slot(round) + kFlag),
        "ompl_put_signal");
}

template <class Op>
void Sums::receive(uint32_t round, std::span<double> values, Op op) {
  check(ompl_wait(slot(round) + kFlag), "ompl_wait");
  const auto* const other = static_cast<const double*>(ompl_ptr(rank_, slot(round)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = op(values[i], other[i]);
}

template <class Op>
void Sums::combine_few(std::span<double> values, Op op) {
  const uint32_t give = rounds_, take = rounds_ + 1;
  ++turn_;
  if (rank_ >= paired_) {
    send(rank_ - paired_, give, values);
    return receive(take, values, [](double, double total) { return total; });
  }
  const bool has_other = rank_ + paired_ < size_;
  if (has_other) receive(give, values, op);
  for (uint32_t round = 0; round < rounds_; ++round) {
    send(rank_ ^ (1U << round), round, values);
    receive(round, values, op);
  }
  if (has_other) send(rank_ + paired_, take, values);
}

template <class Op>
void Sums::combine(std::span<double> values, Op op) {
  while (!values.empty()) {
    const std::size_t count = std::min(kMost, values.size());
    combine_few(values.first(count), op);
    values = values.subspan(count);
  }
}

void Sums::sum(std::span<double> values) {
  combine(values, [](double a, double b) { return a + b; });
}

void Sums::max(std::span<double> values) {
  combine(values, [](double a, double b) { return std::max(a, b); });
}

OverlappedSums::OverlappedSums() { check(ompl_team_world(&team_), "ompl_team_world"); }

void OverlappedSums::start(std::span<const double> values) {
  std::ranges::copy(values, values_.begin());
  count_ = values.size();
  tested_ = OMPL_OK;
  ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
  options.algorithm = OMPL_COLL_RECURSIVE_DOUBLING;
  check(ompl_allreduce(team_, OMPL_IN_PLACE, values_.data(), count_, OMPL_DOUBLE, OMPL_SUM, &options,
                       &request_),
        "ompl_allreduce");
}

void OverlappedSums::progress() noexcept {
  if (request_ != nullptr) tested_ = ompl_request_test(OMPL_CTX_DEFAULT, &request_);
}

std::span<const double> OverlappedSums::wait() {
  check(tested_, "ompl_request_test");
  check(ompl_request_wait(OMPL_CTX_DEFAULT, &request_, OMPL_FOREVER), "ompl_request_wait");
  return {values_.data(), count_};
}

}  // namespace ompl::solver
