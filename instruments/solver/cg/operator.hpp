// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "solver/cg/exchange.hpp"
#include "solver/cg/vectors.hpp"
#include "solver/matrix/sell.hpp"
#include "solver/partition/local.hpp"

namespace ompl::solver {

// What CG solves with: symmetric and positive definite, spread over ranks by rows. One call at a time.
class Operator {
 public:
  virtual ~Operator() = default;
  // Rows of this rank.
  [[nodiscard]] virtual uint32_t size() const = 0;
  // y = A x on this rank's rows; returns x . y over them.
  virtual double apply(const double* x, double* y) = 0;
  // Seconds spent waiting for other ranks so far.
  [[nodiscard]] virtual double wait_seconds() const { return 0; }
};

// The user's function as an operator: f(x, y) computes y = A x.
class FunctionOperator final : public Operator {
 public:
  using Function = std::function<void(const double* x, double* y)>;
  FunctionOperator(uint32_t size, Team& team, Function f)
      : function_(std::move(f)), vectors_(team, size), size_(size) {}
  [[nodiscard]] uint32_t size() const override { return size_; }
  double apply(const double* x, double* y) override {
    function_(x, y);
    return vectors_.dot(x, y);
  }

 private:
  Function function_;
  Vectors vectors_;
  uint32_t size_;
};

// A part of a matrix, its own columns as Csr or Sell. They are multiplied while the halo is on its way.
template <class Format>
class MatrixOperator final : public Operator {
 public:
  // interior, coupling: as in LocalMatrix. beside: is moved on with each product, if given. All must outlive this.
  MatrixOperator(const Format& own, const Coupling& coupling, uint32_t interior, Exchange& exchange,
                 Team& team, InBackground* beside = nullptr)
      : own_(own),
        coupling_(coupling),
        exchange_(exchange),
        team_(team),
        beside_(beside),
        first_coupled_(interior / kBlock),
        partial_(blocks_of(own.rows)) {
    if (interior == own.rows) first_coupled_ = blocks_of(own.rows);
  }
  [[nodiscard]] uint32_t size() const override { return own_.rows; }
  [[nodiscard]] double wait_seconds() const override { return wait_seconds_; }

  double apply(const double* x, double* y) override {
    exchange_.start(x);
    const uint32_t blocks = blocks_of(own_.rows);
    team_.for_blocks(0, blocks, [&](uint32_t block, uint32_t thread) {
      const auto [first, last] = rows_of(block);
      multiply(own_, first, last, x, y);
      if (thread == 0) progress();
      if (block < first_coupled_) partial_[block] = block_dot(x + first, y + first, last - first);
    });
    const auto begin = std::chrono::steady_clock::now();
    const double* const* const halo = exchange_.wait();
    wait_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (first_coupled_ < blocks) {
      team_.for_blocks(first_coupled_, blocks, [&](uint32_t block, uint32_t thread) {
        const auto [first, last] = rows_of(block);
        multiply_add(coupling_, first, last, halo, y);
        if (thread == 0 && beside_ != nullptr) beside_->progress();
        partial_[block] = block_dot(x + first, y + first, last - first);
      });
    }
    return sum_in_order(partial_);
  }

 private:
  [[nodiscard]] std::pair<uint32_t, uint32_t> rows_of(uint32_t block) const {
    return {block * kBlock, std::min(own_.rows, (block + 1) * kBlock)};
  }

  void progress() noexcept {
    exchange_.progress();
    if (beside_ != nullptr) beside_->progress();
  }

  const Format& own_;
  const Coupling& coupling_;
  Exchange& exchange_;
  Team& team_;
  InBackground* const beside_;
  uint32_t first_coupled_;  // the first block with a row that needs the halo
  std::vector<double> partial_;
  double wait_seconds_ = 0;
};

}  // namespace ompl::solver
