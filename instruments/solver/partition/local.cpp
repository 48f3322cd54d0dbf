// SPDX-License-Identifier: BSD-3-Clause
#include "solver/partition/local.hpp"

#include <algorithm>
#include <tuple>

#include "solver/matrix/csr.hpp"

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

Order order_of(const Rows& mine, const Partition& partition, uint32_t part) {
  Order out;
  std::vector<uint32_t> boundary;
  const auto is_own = [&](uint32_t column) { return partition.part_of[column] == part; };
  for (uint32_t row = 0; row < mine.global.size(); ++row)
    (std::ranges::all_of(mine.row(row).columns, is_own) ? out.rows : boundary).push_back(row);
  out.interior = static_cast<uint32_t>(out.rows.size());
  out.rows.insert(out.rows.end(), boundary.begin(), boundary.end());
  return out;
}

// The rows in their order, their columns counted as in LocalMatrix.
class Cut {
 public:
  Cut(const Rows& mine, const Partition& partition, const Order& order, const Traffic& traffic,
      Storage storage)
      : mine_(mine),
        partition_(partition),
        storage_(storage),
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
    out_.own.columns = out_.chunks.columns = static_cast<uint32_t>(out_.global.size());
    make_room();
    for (const uint32_t row : order.rows) add_row(row);
    if (storage == Storage::chunks) end_block();
    out_.own.rows = out_.own.columns;
  }
  LocalMatrix take() { return std::move(out_); }

 private:
  static constexpr uint32_t kElsewhere = uint32_t{1} << 31;  // kMostRows are fewer

  void make_room() {
    if (storage_ == Storage::chunks) return reserve(out_.chunks, mine_.entries);
    reserve_large(out_.own.start, uint64_t{out_.own.columns} + 1);
    reserve_large(out_.own.column, mine_.entries);
    reserve_large(out_.own.value, mine_.entries);
  }

  void add_neighbour(uint32_t other, std::span<const uint32_t> send,
                     std::span<const uint32_t> receive) {
    auto& neighbours = out_.pattern.neighbours;
    number_[other] = static_cast<uint32_t>(neighbours.size());
    Pattern::Neighbour& neighbour = neighbours.emplace_back();
    neighbour.part = other;
    for (const uint32_t row : send) neighbour.send.push_back(place_[row]);
    for (const uint32_t row : receive) place_[row] = kElsewhere | neighbour.receive++;
  }

  void add_row(uint32_t number) {
    const Row row = mine_.row(number);
    columns_.resize(row.columns.size());
    values_.resize(row.columns.size());
    std::size_t count = 0;
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      const uint32_t column = row.columns[k], place = place_[column];
      if ((place & kElsewhere) == 0) {
        columns_[count] = place;
        values_[count++] = row.values[k];
      } else {
        coupled_.emplace_back(number_[partition_.part_of[column]], place & ~kElsewhere, row.values[k]);
      }
    }
    columns_.resize(count);
    values_.resize(count);
    if (!std::ranges::is_sorted(columns_)) sort_own();
    out_.entries += count;
    out_.own.append({columns_, values_});
    if (storage_ == Storage::chunks && out_.own.rows == kBlock) end_block();
    add_runs(place_[mine_.global[number]]);
  }

  // The rows of `own` go into chunks.
  void end_block() {
    append_block(out_.own, 0, out_.own.rows, out_.chunks);
    out_.own.rows = 0;
    out_.own.start = {0};
    out_.own.column.clear();
    out_.own.value.clear();
  }

  void sort_own() {
    std::vector<std::pair<uint32_t, double>> entries;
    for (std::size_t k = 0; k < columns_.size(); ++k) entries.emplace_back(columns_[k], values_[k]);
    std::ranges::sort(entries);
    for (std::size_t k = 0; k < entries.size(); ++k) std::tie(columns_[k], values_[k]) = entries[k];
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

  const Rows& mine_;
  const Partition& partition_;
  const Storage storage_;
  std::vector<uint32_t> place_;    // of a row of the matrix: here, or kElsewhere and there
  std::vector<uint32_t> number_;   // of a part among the neighbours
  std::vector<uint32_t> columns_;  // of one row, this part's
  std::vector<double> values_;
  std::vector<std::tuple<uint32_t, uint32_t, double>> coupled_;
  LocalMatrix out_;
};

}  // namespace

void multiply_add(const Coupling& coupling, uint32_t first, uint32_t last, const double* const* halo,
                  double* y) {
  const auto begin = std::ranges::lower_bound(coupling.runs, first, {}, &Coupling::Run::row);
  for (auto run = static_cast<std::size_t>(begin - coupling.runs.begin());
       run < coupling.runs.size() && coupling.runs[run].row < last; ++run) {
    const auto [row, neighbour] = coupling.runs[run];
    const double* const x = halo[neighbour];
    double sum = y[row];
    for (uint64_t k = coupling.start[run]; k < coupling.start[run + 1]; ++k)
      sum += coupling.value[k] * x[coupling.column[k]];
    y[row] = sum;
  }
}

std::vector<std::vector<uint32_t>> needed_by(const Rows& mine, const Partition& partition,
                                             uint32_t part) {
  std::vector<std::vector<uint32_t>> out(partition.parts);
  for (uint32_t row = 0; row < mine.global.size(); ++row)
    for (const uint32_t column : mine.row(row).columns)
      if (partition.part_of[column] != part) out[partition.part_of[column]].push_back(column);
  for (auto& rows : out) sort_out(rows);
  return out;
}

LocalMatrix localize(const Rows& mine, const Partition& partition, uint32_t part,
                     const Traffic& traffic, Storage storage) {
  return Cut(mine, partition, order_of(mine, partition, part), traffic, storage).take();
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
      mine.rows.append(whole[row]);
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
