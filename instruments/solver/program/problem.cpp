// SPDX-License-Identifier: BSD-3-Clause
#include "solver/program/problem.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "common/input_error.hpp"
#include "solver/program/input.hpp"
#include "solver/ranks/layer.hpp"
#include "solver/ranks/rows.hpp"
#include "solver/ranks/whole.hpp"

namespace ompl::solver {

namespace {

class Maker {
 public:
  Maker(const Options& options, Sums& sums)
      : options_(options), sums_(sums), rank_(my_rank()), ranks_(all_ranks()) {}

  Problem make() {
    if (!generated()) read();
    together(sums_, [&] {
      if (!generated() && !options_.spmv)
        check_no_empty_row(block_.rows, row_block(out_.rows, ranks_, rank_).first);
      if (generated()) begin_grid();
      check_parts(out_.rows, ranks_);
      if (generated() && looks_at_rows()) {
        block_.global = own_rows();
        block_.rows = generate(generator_.stencil, generator_.grid, block_.global);
      }
    });
    find_partition();
    out_.local = generated() ? local_of_grid() : local_of_file();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool generated() const { return !options_.generate.empty(); }
  [[nodiscard]] bool by_metis() const { return needs_pattern(options_.partition); }
  [[nodiscard]] bool looks_at_rows() const { return by_metis() || options_.partition == "entries"; }

  // All refuse alike; rank 0 speaks.
  void read() {
    try {
      FileRows file = read_rows(options_.matrix, options_.threads);
      out_.rows = file.rows;
      out_.symmetric = file.mirrored || is_symmetric(file.mine);
      block_ = std::move(file.mine);
    } catch (const InputError& error) {
      throw Refused(rank_ == 0 ? error.what() : "");
    }
  }

  void begin_grid() {
    generator_ = generator_of(options_.generate);
    out_.rows = rows_of(generator_.grid);
  }

  void find_partition() {
    std::vector<uint32_t> lengths;
    Csr pattern;
    if (options_.partition == "entries") lengths = all_row_lengths(block_);
    if (by_metis()) pattern = whole_pattern(block_);
    together(sums_, [&] { out_.partition = partition(lengths, pattern); });
    if (by_metis() && ranks_ > 1) share(out_.partition.part_of);
  }

  // lengths: of all rows; pattern: at rank 0, for METIS.
  [[nodiscard]] Partition partition(std::span<const uint32_t> lengths, const Csr& pattern) const {
    if (by_metis() && rank_ != 0) return {ranks_, std::vector<uint32_t>(out_.rows)};
    return partition_by(options_.partition, ranks_, out_.rows, generated() ? &generator_.grid : nullptr,
                        lengths, pattern);
  }

  // By the partition; before there is one, a block of rows.
  [[nodiscard]] std::vector<uint32_t> own_rows() const {
    const std::vector<uint32_t>& part_of = out_.partition.part_of;
    if (part_of.empty()) return row_block(out_.rows, ranks_, rank_).numbers();
    std::vector<uint32_t> out;
    for (uint32_t row = 0; row < part_of.size(); ++row)
      if (part_of[row] == rank_) out.push_back(row);
    return out;
  }

  // Preconditioners are made of rows.
  [[nodiscard]] Storage storage() const {
    return options_.format == "sell" && options_.precondition == "none" ? Storage::chunks
                                                                        : Storage::rows;
  }

  // Rows are made as often as they are looked at, and never kept: that takes less time than new memory.
  LocalMatrix local_of_grid() {
    block_ = {};
    const std::vector<uint32_t> mine = own_rows();
    GridRows grid(generator_.stencil, generator_.grid);
    return localize({mine, mine.size() * generator_.stencil.legs.size(),
                     [&](uint32_t row) { return grid[mine[row]]; }},
                    out_.partition, storage());
  }

  LocalMatrix local_of_file() {
    Slice mine = std::move(block_);
    if (looks_at_rows() && ranks_ > 1) mine = move_to_owners(std::move(mine), out_.partition);
    return localize(mine, out_.partition, storage());
  }

  const Options& options_;
  Sums& sums_;
  const uint32_t rank_, ranks_;
  Generator generator_;
  Slice block_;  // rows as they come; of a grid only where a partition looks at them
  Problem out_;
};

}  // namespace

void together(Sums& sums, const std::function<void()>& f) {
  std::string why = refusal_of(f);
  // The lowest of the ranks that failed speaks.
  const uint32_t ranks = all_ranks(), rank = my_rank();
  std::array failed{why.empty() ? 0.0 : static_cast<double>(ranks - rank)};
  sums.max(failed);
  if (failed[0] == 0) return;
  if (failed[0] != ranks - rank) why.clear();
  throw Refused(why.empty() || rank == 0 ? why : fmt::format("rank {}: {}", rank, why));
}

Problem make_problem(const Options& options, Sums& sums) { return Maker(options, sums).make(); }

Cost cost_of(const Problem& problem, Sums& sums) {
  const LocalMatrix& local = problem.local;
  const double rows = local.own.rows, ranks = all_ranks();
  double halo = 0, from = 0, smallest = std::numeric_limits<double>::infinity();
  for (const Pattern::Neighbour& n : local.pattern.neighbours) {
    if (n.receive == 0) continue;
    halo += n.receive;
    ++from;
    smallest = std::min(smallest, static_cast<double>(n.receive * sizeof(double)));
  }
  const auto cut = static_cast<double>(local.coupling.entries());
  std::array sum{cut + static_cast<double>(local.entries), cut, halo, from};
  std::array most{from, rows, -smallest, -static_cast<double>(local.interior) / rows};
  sums.sum(sum);
  sums.max(most);
  Cost out;
  out.entries = static_cast<uint64_t>(sum[0]);
  out.quality = {.cut = static_cast<uint64_t>(sum[1]),
                 .halo = static_cast<uint64_t>(sum[2]),
                 .neighbours_mean = sum[3] / ranks,
                 .neighbours_most = static_cast<uint32_t>(most[0]),
                 .smallest_message = sum[2] > 0 ? static_cast<uint64_t>(-most[2]) : 0,
                 .interior_least = -most[3],
                 .rows_most = most[1] * ranks / problem.rows};
  return out;
}

}  // namespace ompl::solver
