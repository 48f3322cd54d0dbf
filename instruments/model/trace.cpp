// SPDX-License-Identifier: BSD-3-Clause
#include "model/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ompl::model {

std::vector<uint32_t> Trace::threads_by_rank() const {
  std::vector<uint32_t> out(threads());
  std::iota(out.begin(), out.end(), 0);
  std::ranges::stable_sort(out, {}, [this](uint32_t thread) { return rank_of(thread); });
  return out;
}

uint32_t Trace::number_in_rank(uint32_t thread) const {
  if (thread < ranks()) return 1;
  const auto before = further_threads().first(thread - ranks());
  return 2 + static_cast<uint32_t>(std::ranges::count(before, rank_of(thread)));
}

std::string Trace::thread_name(uint32_t thread) const {
  const uint32_t rank = rank_of(thread);
  if (std::ranges::find(further_threads(), rank) == further_threads().end())
    return fmt::format("rank {}", rank);
  return fmt::format("rank {}, thread {}", rank, number_in_rank(thread));
}

}  // namespace ompl::model
