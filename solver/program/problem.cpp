// SPDX-License-Identifier: BSD-3-Clause
#include "solver/program/problem.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <system_error>
#include <vector>

#include "solver/error.hpp"
#include "solver/matrix_file.hpp"
#include "solver/program/input.hpp"
#include "solver/ranks/layer.hpp"
#include "solver/ranks/whole.hpp"

namespace ompl::solver {

namespace {

class Maker {
 public:
  Maker(const Options& options, Sums& sums)
      : options_(options), sums_(sums), rank_(my_rank()), ranks_(all_ranks()) {}

  Problem make() {
    together(sums_, [&] { read(); });
    together(sums_, [&] { partition(); });
    if (needs_whole(options_.partition) && ranks_ > 1) share(out_.partition.part_of);
    together(sums_, [&] { localize_mine(); });
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool generated() const { return !options_.generate.empty(); }

  void read() {
    if (generated()) {
      generator_ = generator_of(options_.generate);
      out_.rows = rows_of(generator_.grid);
    } else {
      whole_ = read_matrix(options_.matrix);
      check_solvable(whole_);
      out_.rows = whole_.rows;
      out_.symmetric = rank_ != 0 || is_symmetric(whole_);  // who speaks of it
    }
    check_parts(out_.rows, ranks_);
  }

  void partition() {
    const std::string& how = options_.partition;
    const Grid* const grid = generated() ? &generator_.grid : nullptr;
    if (!needs_whole(how)) {
      out_.partition = partition_by(how, ranks_, out_.rows, grid, nullptr);
    } else if (rank_ != 0) {
      out_.partition = {ranks_, std::vector<uint32_t>(out_.rows)};
    } else if (generated()) {
      const Csr whole = generate(generator_.stencil, generator_.grid);
      out_.partition = partition_by(how, ranks_, out_.rows, grid, &whole);
    } else {
      out_.partition = partition_by(how, ranks_, out_.rows, grid, &whole_);
    }
  }

  void localize_mine() {
    if (!generated()) {
      out_.local = localize(whole_, out_.partition, rank_);
      whole_ = {};
      return;
    }
    Slice mine;
    for (uint32_t row = 0; row < out_.rows; ++row)
      if (out_.partition.part_of[row] == rank_) mine.global.push_back(row);
    mine.rows = generate(generator_.stencil, generator_.grid, mine.global);
    out_.local = localize(mine, out_.partition, rank_);
  }

  const Options& options_;
  Sums& sums_;
  const uint32_t rank_, ranks_;
  Generator generator_;
  Csr whole_;
  Problem out_;
};

}  // namespace

void together(Sums& sums, const std::function<void()>& f) {
  std::string why;
  try {
    f();
  } catch (const InputError& error) {
    why = error.what();
  } catch (const std::bad_alloc&) {
    why = "not enough memory; take a smaller matrix or more machines";
  } catch (const std::system_error& error) {
    why = error.what();
  }
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
  std::array sum{cut + static_cast<double>(local.own.entries()), cut, halo, from};
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
