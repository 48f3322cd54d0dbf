// SPDX-License-Identifier: BSD-3-Clause
// The computation that shall hide the communication: x = x + a * a + y for every element (the paper's equation 1), by
// OpenMP. `memory` goes through three arrays; `registers` does as much to values that never leave the processor.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/team.hpp"

// Of OpenMP, whose header only the compiler that measures has.
extern "C" int omp_get_thread_num();

namespace bench::overlap {

class Computation {
 public:
  // Of so many elements on a thread bound to each of the cores; the first is the calling thread. A program has one at
  // once.
  Computation(bool in_registers, std::size_t elements, const std::vector<int>& cores)
      : in_registers_(in_registers),
        elements_(elements),
        cores_(cores),
        threads_(static_cast<int>(cores.size())),
        ids_(cores.size()),
        lanes_(cores.size()) {
    if (!in_registers_) {
      x_.reset(new double[elements_]);
      a_.reset(new double[elements_]);
      y_.reset(new double[elements_]);
    }
#pragma omp parallel num_threads(threads_)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      bind_to({cores_[thread]});
      ids_[thread] = static_cast<pid_t>(syscall(SYS_gettid));
    }
    if (in_registers_) return;
      // Each thread touches first what it will use.
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::size_t i = 0; i < elements_; ++i) x_[i] = 0, a_[i] = kA, y_[i] = kY;
  }

  [[nodiscard]] bool is(bool in_registers, std::size_t elements, const std::vector<int>& cores) const {
    return in_registers == in_registers_ && elements == elements_ && cores == cores_;
  }
  // Its threads, by the kernel's numbers.
  [[nodiscard]] const std::vector<pid_t>& ids() const { return ids_; }

  void run() {
    ++runs_;
    if (in_registers_)
      run_in_registers();
    else
      run_in_memory();
  }

  // What is not as that many runs leave it; nothing if all is right.
  [[nodiscard]] std::optional<std::string> wrong() const {
    const double step = kA * kA + kY;
    const auto runs = static_cast<double>(runs_);
    for (std::size_t t = 0; in_registers_ && t < lanes_.size(); ++t)
      for (const double x : lanes_[t].x)
        if (x != runs * static_cast<double>(turns(t)) * step)
          return "the registers of thread " + std::to_string(t) + " are wrong after " +
                 std::to_string(runs_) + " computations";
    for (std::size_t i = 0; !in_registers_ && i < elements_; ++i)
      if (x_[i] != runs * step)
        return "element " + std::to_string(i) + " is wrong after " + std::to_string(runs_) +
               " computations";
    return std::nullopt;
  }

 private:
  static constexpr double kA = 0.5;  // with kY every value of x is exact
  static constexpr double kY = 0.25;
  static constexpr std::size_t kLanes = 8;
  struct alignas(64) Lanes {
    std::array<double, kLanes> x{};
  };

  void run_in_memory() {
    double* const x = x_.get();
    const double* const a = a_.get();
    const double* const y = y_.get();
    const std::size_t n = elements_;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::size_t i = 0; i < n; ++i) x[i] = x[i] + a[i] * a[i] + y[i];
  }

  void run_in_registers() {
#pragma omp parallel num_threads(threads_)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      Lanes lanes = lanes_[thread];
      for (std::size_t turn = turns(thread); turn > 0; --turn)
        for (double& x : lanes.x) x = x + kA * kA + kY;
      lanes_[thread] = lanes;
    }
  }
  // How often a thread goes over its lanes: its share of the elements, rounded up.
  [[nodiscard]] std::size_t turns(std::size_t thread) const {
    const std::size_t threads = lanes_.size();
    const std::size_t mine = elements_ / threads + (thread < elements_ % threads ? 1 : 0);
    return (mine + kLanes - 1) / kLanes;
  }

  bool in_registers_;
  std::size_t elements_;
  std::vector<int> cores_;
  int threads_;
  std::vector<pid_t> ids_;
  uint64_t runs_ = 0;
  std::unique_ptr<double[]> x_, a_, y_;
  std::vector<Lanes> lanes_;  // one for each thread
};

}  // namespace bench::overlap
