// SPDX-License-Identifier: BSD-3-Clause
#include "solver/local.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace ompl::solver {

namespace {

// In the matrix's order, each once.
void sort_out(std::vector<uint32_t>& rows) {
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

// Rows of the slice, by their numbers there.
struct Order {
  std::vector<uint32_t> rows;  // interior ones first
  uint32_t interior = 0;
};

Order order_of(const Slice& mine, const Partition& partition, uint32_t part) {
  Order out;
  std::vector<uint32_t> boundary;
  const auto is_own = [&](uint32_t column) { return partition.part_of[column] == part; };
  for (uint32_t row = 0; row < mine.rows.rows; ++row)
    (std::ranges::all_of(mine.rows.columns_of(row), is_own) ? out.rows : boundary).push_back(row);
  out.interior = static_cast<uint32_t>(out.rows.size());
  out.rows.insert(out.rows.end(), boundary.begin(), boundary.end());
  return out;
}

// The rows of a slice in their order, their columns counted as in LocalMatrix.
class Cut {
 public:
  Cut(const Slice& mine, const Partition& partition, uint32_t part, const Order& order,
      const Traffic& traffic)
      : mine_(mine),
        partition_(partition),
        part_(part),
        place_(partition.part_of.size()),
        number_(partition.parts) {
    out_.interior = order.interior;
    for (const uint32_t row : order.rows) {
      place_[mine.global[row]] = static_cast<uint32_t>(out_.global.size());
      out_.global.push_back(mine.global[row]);
    }
    for (uint32_t other = 0; other < partition.parts; ++other)
      if (!traffic.send[other].empty() || !traffic.receive[other].empty())
        add_neighbour(other, traffic.send[other], traffic.receive[other]);
    out_.own.rows = out_.own.columns = static_cast<uint32_t>(out_.global.size());
    for (const uint32_t row : order.rows) add_row(row);
  }
  LocalMatrix take() { return std::move(out_); }

 private:
  void add_neighbour(uint32_t other, std::span<const uint32_t> send,
                     std::span<const uint32_t> receive) {
    auto& neighbours = out_.pattern.neighbours;
    number_[other] = static_cast<uint32_t>(neighbours.size());
    Pattern::Neighbour& neighbour = neighbours.emplace_back();
    neighbour.part = other;
    for (const uint32_t row : send) neighbour.send.push_back(place_[row]);
    for (const uint32_t row : receive) place_[row] = neighbour.receive++;
  }

  void add_row(uint32_t row) {
    const auto here = static_cast<uint32_t>(out_.own.start.size() - 1);
    for (uint64_t k = mine_.rows.start[row]; k < mine_.rows.start[row + 1]; ++k) {
      const uint32_t column = mine_.rows.column[k], owner = partition_.part_of[column];
      if (owner == part_)
        own_.emplace_back(place_[column], mine_.rows.value[k]);
      else
        coupled_.emplace_back(number_[owner], place_[column], mine_.rows.value[k]);
    }
    std::ranges::sort(own_);
    for (const auto& [column, value] : own_) {
      out_.own.column.push_back(column);
      out_.own.value.push_back(value);
    }
    out_.own.start.push_back(out_.own.column.size());
    own_.clear();
    add_runs(here);
  }

  void add_runs(uint32_t row) {
    Coupling& to = out_.coupling;
    std::ranges::sort(coupled_);
    for (const auto& [neighbour, column, value] : coupled_) {
      if (to.runs.empty() || to.runs.back().row != row || to.runs.back().neighbour != neighbour) {
        to.runs.push_back({row, neighbour});
        to.start.push_back(to.column.size());
      }
      to.column.push_back(column);
      to.value.push_back(value);
      to.start.back() = to.column.size();
    }
    coupled_.clear();
  }

  const Slice& mine_;
  const Partition& partition_;
  const uint32_t part_;
  std::vector<uint32_t> place_;   // of a row of the matrix, here or among what comes from its part
  std::vector<uint32_t> number_;  // of a part among the neighbours
  std::vector<std::pair<uint32_t, double>> own_;
  std::vector<std::tuple<uint32_t, uint32_t, double>> coupled_;
  LocalMatrix out_;
};

void append_row(const Csr& from, uint32_t row, Csr& to) {
  const auto begin = static_cast<int64_t>(from.start[row]),
             end = static_cast<int64_t>(from.start[row + 1]);
  to.column.insert(to.column.end(), from.column.begin() + begin, from.column.begin() + end);
  to.value.insert(to.value.end(), from.value.begin() + begin, from.value.begin() + end);
  to.start.push_back(to.column.size());
  ++to.rows;
}

}  // namespace

std::vector<std::vector<uint32_t>> needed_by(const Slice& mine, const Partition& partition,
                                             uint32_t part) {
  std::vector<std::vector<uint32_t>> out(partition.parts);
  for (const uint32_t column : mine.rows.column)
    if (partition.part_of[column] != part) out[partition.part_of[column]].push_back(column);
  for (auto& rows : out) sort_out(rows);
  return out;
}

LocalMatrix localize(const Slice& mine, const Partition& partition, uint32_t part,
                     const Traffic& traffic) {
  return Cut(mine, partition, part, order_of(mine, partition, part), traffic).take();
}

LocalMatrix localize(const Csr& whole, const Partition& partition, uint32_t part) {
  Slice mine;
  mine.rows.columns = whole.columns;
  Traffic traffic;
  traffic.send.resize(partition.parts);
  for (uint32_t row = 0; row < whole.rows; ++row) {
    const uint32_t owner = partition.part_of[row];
    if (owner == part) {
      mine.global.push_back(row);
      append_row(whole, row, mine.rows);
      continue;
    }
    for (const uint32_t column : whole.columns_of(row))
      if (partition.part_of[column] == part) traffic.send[owner].push_back(column);
  }
  for (auto& rows : traffic.send) sort_out(rows);
  traffic.receive = needed_by(mine, partition, part);
  return localize(mine, partition, part, traffic);
}

}  // namespace ompl::solver
