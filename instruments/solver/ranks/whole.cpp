// SPDX-License-Identifier: BSD-3-Clause
#include "solver/ranks/whole.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <system_error>

#include "common/input_error.hpp"
#include "solver/ranks/all_to_all.hpp"
#include "solver/ranks/layer.hpp"

namespace ompl::solver {

void share(std::span<uint32_t> values) {
  const Place<uint32_t> place(values.size());
  if (my_rank() == 0) {
    for (uint32_t rank = 1; rank < all_ranks(); ++rank)
      check(
          ompl_put(reinterpret_cast<uintptr_t>(values.data()), rank, place.offset, values.size_bytes()),
          "ompl_put");
  }
  check(ompl_barrier(), "ompl_barrier");
  if (my_rank() != 0) std::copy_n(place.own(), values.size(), values.data());
  place.free();
}

std::vector<double> gather(const Partition& partition, std::span<const uint32_t> global,
                           std::span<const double> mine) {
  std::vector<std::size_t> rows(partition.parts);
  for (const uint32_t part : partition.part_of) ++rows[part];
  const Place<double> place(std::ranges::max(rows));
  // In the matrix's order: whoever knows the partition knows which they are.
  std::vector<uint32_t> order(global.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](uint32_t i) { return global[i]; });
  std::ranges::transform(order, place.own(), [&](uint32_t i) { return mine[i]; });
  check(ompl_barrier(), "ompl_barrier");
  std::vector<double> out;
  if (my_rank() == 0) {
    std::vector<std::vector<double>> parts;
    for (uint32_t rank = 0; rank < partition.parts; ++rank) {
      std::vector<double>& part = parts.emplace_back(rows[rank]);
      check(ompl_get(reinterpret_cast<uintptr_t>(part.data()), rank, place.offset,
                     part.size() * sizeof(double)),
            "ompl_get");
    }
    std::vector<std::size_t> next(partition.parts);
    out.reserve(partition.part_of.size());
    for (const uint32_t part : partition.part_of) out.push_back(parts[part][next[part]++]);
  }
  place.free();
  return out;
}

std::string refusal_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "not enough memory; take a smaller matrix or more machines";
  } catch (const std::system_error& error) {
    return error.what();
  }
  return "";
}

void alike(const std::function<void()>& f) {
  const std::string mine = refusal_of(f);
  const Received<char> all = gather_everywhere<char>(mine, all_ranks());
  for (uint32_t rank = 0; rank < all_ranks(); ++rank) {
    const std::span<const char> why = all.from(rank);
    if (!why.empty()) throw InputError(std::string(why.begin(), why.end()));
  }
}

}  // namespace ompl::solver
