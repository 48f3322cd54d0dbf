// SPDX-License-Identifier: BSD-3-Clause
#include "solver/program/problem.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "common/input_error.hpp"
#include "solver/matrix/csr.hpp"
#include "solver/matrix/matrix_market.hpp"
#include "solver/program/report.hpp"
#include "solver/ranks/halo_exchange.hpp"
#include "solver/ranks/layer.hpp"
#include "solver/ranks/mpi.hpp"
#include "solver/ranks/sums.hpp"
#include "solver/ranks/whole.hpp"

namespace ompl::solver {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenLines(200);

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Job {
 public:
  Job(const Options& options, Sums& sums) : options_(options), sums_(sums), rank_(my_rank()) {}

  bool run() {
    const auto begin = Clock::now();
    problem_ = make_problem(options_, sums_);
    if (!options_.spmv && !problem_.symmetric && rank_ == 0)
      fmt::print(
          stderr,
          "ompl_cg: warning: the matrix is not symmetric; conjugate gradients may not converge\n");
    report_.cost = cost_of(problem_, sums_);
    together(sums_, [&] { set_up(); });
    if (options_.solver != "cg") overlapped_ = make_overlapped_sums();
    HaloExchange exchange(problem_.local, options_.strategy_number);
    std::unique_ptr<Operator> op;
    together(sums_, [&] { op = make_operator(exchange); });
    check(ompl_barrier(), "ompl_barrier");
    report_.setup_seconds = seconds_since(begin);
    const bool solved = options_.spmv ? multiply(*op) : conjugate_gradients(*op);
    report_.carriers = exchange.describe();
    if (rank_ == 0) write_report(options_, problem_, report_);
    exchange.end();
    return solved;
  }

 private:
  [[nodiscard]] uint32_t rows() const { return problem_.local.own.rows; }

  [[nodiscard]] bool by_mpi() const { return options_.strategy.starts_with("mpi"); }

  // By what carries the halo. Collective.
  std::unique_ptr<OverlappedReduction> make_overlapped_sums() {
    report_.reductions_by = by_mpi() ? "MPI_Iallreduce" : "ompl_allreduce";
    if (by_mpi()) return make_mpi_sums();
    return std::make_unique<OverlappedSums>();
  }

  // The values of this rank's rows of a vector in a file.
  std::vector<double> read_mine(const std::string& path) const {
    const std::vector<double> whole = read_vector(path, problem_.rows);
    std::vector<double> out;
    for (const uint32_t row : problem_.local.global) out.push_back(whole[row]);
    return out;
  }

  void set_up() {
    if (by_mpi() && !Mpi::present())
      refuse("--strategy {}: there is no MPI in this process; start it by omni with --mpi",
             options_.strategy);
    team_.emplace(options_.threads);
    x_ = large_vector<double>(rows());
    b_ = large_vector<double>(rows());
    if (!options_.rhs.empty()) b_ = read_mine(options_.rhs);
    if (!options_.start.empty()) x_ = read_mine(options_.start);
    const Csr& own = problem_.local.own;
    if (options_.precondition == "jacobi") preconditioner_ = std::make_unique<Jacobi>(own, *team_);
    if (options_.precondition == "bjacobi")
      preconditioner_ =
          std::make_unique<BlockJacobi>(own, options_.blocks, *team_, problem_.local.global);
  }

  std::unique_ptr<Operator> make_operator(Exchange& exchange) {
    LocalMatrix& m = problem_.local;
    if (options_.format == "csr")
      return std::make_unique<MatrixOperator<Csr>>(m.own, m.coupling, m.interior, exchange, *team_,
                                                   overlapped_.get());
    if (m.chunks.rows == 0) m.chunks = to_sell(m.own);
    m.own = {.rows = rows(), .columns = rows(), .start = {}, .column = {}, .value = {}};
    return std::make_unique<MatrixOperator<Sell>>(m.chunks, m.coupling, m.interior, exchange, *team_,
                                                  overlapped_.get());
  }

  bool multiply(Operator& op) {
    for (uint32_t i = 0; i < rows(); ++i) x_[i] = 1 + problem_.local.global[i] % 7;
    op.apply(x_.data(), b_.data());  // memory is touched, ways are tried
    check(ompl_barrier(), "ompl_barrier");
    const double wait_before = op.wait_seconds();
    const auto begin = Clock::now();
    CgSplit mine;
    for (uint32_t i = 0; i < options_.max_iterations; ++i) {
      std::array dot{op.apply(x_.data(), b_.data())};
      if (!options_.dot) continue;
      const auto multiplied = Clock::now();
      sums_.sum(dot);
      report_.dot = dot[0];
      mine.reduction += seconds_since(multiplied);
    }
    mine.halo_wait = op.wait_seconds() - wait_before;
    mine.product = seconds_since(begin) - mine.halo_wait - mine.reduction;
    check(ompl_barrier(), "ompl_barrier");
    report_.seconds = seconds_since(begin);
    report_.cg.iterations = options_.max_iterations;
    add_split(mine);
    write_whole(options_.solution, b_, "A x");
    return true;
  }

  bool conjugate_gradients(Operator& op) {
    if (options_.rhs.empty()) {
      const std::vector<double> ones(rows(), 1.0);
      op.apply(ones.data(), b_.data());
    }
    CgOptions cg_options{.tolerance = options_.tolerance,
                         .max_iterations = options_.max_iterations,
                         .progress = [&](uint32_t iteration, double residual) {
                           on_the_way(iteration, residual);
                           return true;
                         }};
    check(ompl_barrier(), "ompl_barrier");
    const auto begin = Clock::now();
    report_.cg = solve_by(op, cg_options);
    report_.seconds = seconds_since(begin);
    add_split(report_.cg.seconds);
    report_.true_relative_residual = true_relative_residual(op, sums_, *team_, b_, x_);
    write_whole(options_.solution, x_, fmt::format("after iteration {}", report_.cg.iterations));
    return report_.cg.stop == Stop::converged;
  }

  CgResult solve_by(Operator& op, const CgOptions& cg_options) {
    Preconditioner* const preconditioner = preconditioner_.get();
    if (options_.solver == "groppcg")
      return gropp_cg(op, preconditioner, *overlapped_, *team_, b_, x_, cg_options);
    if (options_.solver == "pipecg")
      return pipelined_cg(op, preconditioner, *overlapped_, *team_, b_, x_, cg_options);
    return cg(op, preconditioner, sums_, *team_, b_, x_, cg_options);
  }

  void on_the_way(uint32_t iteration, double residual) {
    if (rank_ == 0 && options_.progress && Clock::now() - last_line_ > kBetweenLines) {
      write_progress(iteration, residual);
      last_line_ = Clock::now();
    }
    if (iteration % options_.checkpoint_every == 0)
      write_whole(
          options_.checkpoint, x_,
          fmt::format("{} iteration {}", options_.solver == "cg" ? "before" : "after", iteration));
  }

  void add_split(const CgSplit& mine) {
    std::array all{mine.product, mine.halo_wait, mine.preconditioner, mine.reduction, mine.vectors};
    sums_.sum(all);
    for (double& seconds : all) seconds /= all_ranks();
    report_.split = {all[0], all[1], all[2], all[3], all[4]};
  }

  // In the matrix's order; nothing if there is no path. Collective.
  void write_whole(const std::string& path, const std::vector<double>& mine, const std::string& what) {
    if (path.empty()) return;
    const std::vector<double> whole = gather(problem_.partition, problem_.local.global, mine);
    together(sums_, [&] {
      if (rank_ == 0) write_vector(path, what, whole);
    });
  }

  const Options& options_;
  Sums& sums_;
  const uint32_t rank_;
  Problem problem_;
  Report report_;
  std::optional<Team> team_;
  std::unique_ptr<Preconditioner> preconditioner_;
  std::unique_ptr<OverlappedReduction> overlapped_;  // of the solvers that overlap
  std::vector<double> b_, x_;
  Clock::time_point last_line_;
};

}  // namespace

bool solve(const Options& options, Sums& sums) { return Job(options, sums).run(); }

}  // namespace ompl::solver
