// SPDX-License-Identifier: BSD-3-Clause
#include "solver/local.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace ompl::solver {

namespace {

// What passes between this part and another, as rows of the matrix in their order.
struct Traffic {
  std::vector<uint32_t> send, receive;
};
using Traffics = std::map<uint32_t, Traffic>;  // by the other part

void sort_out(std::vector<uint32_t>& rows) {
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

// Rows of the slice, by their numbers there.
struct Order {
  std::vector<uint32_t> rows;  // interior ones first
  uint32_t interior = 0;
};

// Adds what must come; where others want a row for each column that comes from them, also what must go.
Order look(const Slice& mine, const Partition& partition, uint32_t part, bool symmetric,
           Traffics& traffic) {
  Order out;
  std::vector<uint32_t> boundary;
  for (uint32_t row = 0; row < mine.rows.rows; ++row) {
    bool inside = true;
    for (const uint32_t column : mine.rows.columns_of(row)) {
      const uint32_t owner = partition.part_of[column];
      if (owner == part) continue;
      Traffic& with = traffic[owner];
      with.receive.push_back(column);
      if (symmetric) with.send.push_back(mine.global[row]);
      inside = false;
    }
    (inside ? out.rows : boundary).push_back(row);
  }
  out.interior = static_cast<uint32_t>(out.rows.size());
  out.rows.insert(out.rows.end(), boundary.begin(), boundary.end());
  for (auto& [other, t] : traffic) {
    sort_out(t.send);
    sort_out(t.receive);
  }
  return out;
}

// The rows of a slice in their order, their columns counted as in LocalMatrix.
class Cut {
 public:
  Cut(const Slice& mine, const Partition& partition, uint32_t part, const Order& order,
      const Traffics& traffic)
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
    for (const auto& [other, t] : traffic) add_neighbour(other, t);
    out_.own.rows = out_.own.columns = static_cast<uint32_t>(out_.global.size());
    for (const uint32_t row : order.rows) add_row(row);
  }
  LocalMatrix take() { return std::move(out_); }

 private:
  void add_neighbour(uint32_t other, const Traffic& traffic) {
    auto& neighbours = out_.pattern.neighbours;
    number_[other] = static_cast<uint32_t>(neighbours.size());
    Pattern::Neighbour& neighbour = neighbours.emplace_back();
    neighbour.part = other;
    for (const uint32_t row : traffic.send) neighbour.send.push_back(place_[row]);
    for (const uint32_t row : traffic.receive) place_[row] = neighbour.receive++;
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

LocalMatrix localize(const Csr& whole, const Partition& partition, uint32_t part) {
  Slice mine;
  mine.rows.columns = whole.columns;
  Traffics traffic;
  for (uint32_t row = 0; row < whole.rows; ++row) {
    const uint32_t owner = partition.part_of[row];
    if (owner == part) {
      mine.global.push_back(row);
      append_row(whole, row, mine.rows);
      continue;
    }
    for (const uint32_t column : whole.columns_of(row))
      if (partition.part_of[column] == part) traffic[owner].send.push_back(column);
  }
  const Order order = look(mine, partition, part, false, traffic);
  return Cut(mine, partition, part, order, traffic).take();
}

LocalMatrix localize(const Slice& mine, const Partition& partition, uint32_t part) {
  Traffics traffic;
  const Order order = look(mine, partition, part, true, traffic);
  return Cut(mine, partition, part, order, traffic).take();
}

}  // namespace ompl::solver
