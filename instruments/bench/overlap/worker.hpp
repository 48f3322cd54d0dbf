// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives with computation between start and wait: the measurement of figure 2 of the paper on progress
// threads (CITATION.cff), for one library. Only the main thread calls the library.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <stdexcept>

#include "collective.hpp"
#include "computation.hpp"
#include "harness/control.hpp"
#include "harness/report.hpp"
#include "threads.hpp"

namespace bench::overlap {

inline constexpr int kWarmUp = 2;  // of each block, not counted

// A library. The constructor B(int argc, char** argv) and the destructor are collective.
template <class B>
concept Backend = requires(B b, const B& fixed, const Shape& shape) {
  { fixed.rank() } -> std::convertible_to<int>;
  { fixed.ranks() } -> std::convertible_to<int>;
  { fixed.describe() } -> std::same_as<Description>;
  // Gets ready for start() of that shape, with new buffers; collective.
  b.create(shape);
  // The buffers, as large as the shape says.
  { b.outgoing() } -> std::same_as<std::byte*>;
  { b.incoming() } -> std::same_as<std::byte*>;
  b.start();
  b.wait();
  b.barrier();
};

template <Backend B>
class Overlap {
 public:
  Overlap(const Setup& /*setup*/, int argc, char** argv) : library_(argc, argv) {}

  [[nodiscard]] int rank() const { return library_.rank(); }
  [[nodiscard]] Description describe() const { return library_.describe(); }

  Report execute(const Command& command, Control& control) {
    if (command.what == "create") return create(command);
    if (command.what == "alone") return alone(command, control);
    if (command.what == "verify") return verify(command, control);
    if (command.what == "pure") return pure(command);
    if (command.what == "overlap") return overlap(command, control);
    throw std::runtime_error("this worker cannot do " + command.what);
  }

 private:
  // The collective, the computation, and the places of all threads.
  Report create(const Command& command) {
    const auto collective = collective_of(command.op);
    if (!collective) throw std::runtime_error("there is no collective " + command.op);
    shape_ = {*collective, command.size, static_cast<uint32_t>(rank()),
              static_cast<uint32_t>(library_.ranks())};
    library_.create(shape_);
    write(shape_, library_.outgoing(), library_.incoming(), 0);
    prepare(command);
    return {{"helpers", bind_helpers(computation_->ids(), command.helpers)}};
  }

  void prepare(const Command& command) {
    const bool in_registers = command.kernel == "registers";
    if (computation_ && computation_->is(in_registers, command.elements, command.cores)) return;
    computation_.reset();
    computation_ = std::make_unique<Computation>(in_registers, command.elements, command.cores);
  }

  // The computation on the command's cores, with nothing to communicate.
  Report alone(const Command& command, Control& control) {
    prepare(command);
    for (int i = 0; i < kWarmUp; ++i) computation_->run();
    library_.barrier();
    const auto start = Clock::now();
    for (uint64_t i = 0; i < command.iterations; ++i) computation_->run();
    const double seconds = seconds_since(start);
    library_.barrier();
    check_computation(control);
    return {{"compute", seconds}};
  }

  // Every byte of the results, with the computation between start and wait.
  Report verify(const Command& command, Control& control) {
    for (uint64_t i = 0; i < command.iterations; ++i) {
      const uint64_t number = command.sequence << 8U | i;
      write(shape_, library_.outgoing(), library_.incoming(), number);
      library_.start();
      computation_->run();
      library_.wait();
      if (const auto what = wrong(shape_, library_.incoming(), number)) control.corrupt(*what);
      library_.barrier();
    }
    check_computation(control);
    return {{"verified", command.iterations}};
  }

  Report pure(const Command& command) {
    Times times;
    repeat(command, [&](bool counts) {
      const auto start = Clock::now();
      library_.start();
      library_.wait();
      if (counts) times.overall(Clock::now() - start);
    });
    return times.report();
  }

  Report overlap(const Command& command, Control& control) {
    Times times;
    ProcessorTime processor;
    repeat(command, [&](bool counts) {
      const auto since = Clock::now();
      const double before = processor.seconds();
      const auto start = Clock::now();
      library_.start();
      const auto started = Clock::now();
      computation_->run();
      const auto computed = Clock::now();
      library_.wait();
      const auto end = Clock::now();
      const double used = processor.seconds() - before;
      if (!counts) return;
      times.add(start, started, computed, end);
      times.charge(used, Clock::now() - since);
    });
    check_computation(control);
    return times.report();
  }

  template <class Body>
  void repeat(const Command& command, const Body& body) {
    // The last rank comes so many seconds late, the others in proportion.
    const double late = command.skew * rank() / std::max(1, library_.ranks() - 1);
    for (uint64_t i = 0; i < kWarmUp + command.iterations; ++i) {
      library_.barrier();
      for (const auto start = Clock::now(); seconds_since(start) < late;) continue;
      body(i >= kWarmUp);
    }
    library_.barrier();
  }

  void check_computation(Control& control) const {
    if (const auto what = computation_->wrong()) control.corrupt(*what);
  }

  // Sums over iterations, in seconds, and the histogram of the whole.
  class Times {
   public:
    // Processor time, and how long it took, its readings too, which are long beside a short collective.
    void charge(double processor, Clock::duration span) {
      processor_ += processor;
      charged_ += span;
    }
    void overall(Clock::duration took) {
      overall_ += took;
      histogram_.add(static_cast<uint64_t>(std::chrono::nanoseconds(took).count()));
    }
    void add(Clock::time_point start, Clock::time_point started, Clock::time_point computed,
             Clock::time_point end) {
      init_ += started - start;
      compute_ += computed - started;
      wait_ += end - computed;
      overall(end - start);
    }
    [[nodiscard]] Report report() const {
      const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
      return {{"init", seconds(init_)},  {"compute", seconds(compute_)},
              {"wait", seconds(wait_)},  {"overall", seconds(overall_)},
              {"processor", processor_}, {"charged", seconds(charged_)},
              {"histogram", histogram_}};
    }

   private:
    Clock::duration init_{}, compute_{}, wait_{}, overall_{}, charged_{};
    double processor_ = 0;
    Histogram histogram_;
  };

  B library_;
  Shape shape_;
  std::unique_ptr<Computation> computation_;
};

// main() of these workers.
template <Backend B>
int worker_main(int argc, char** argv) {
  return run_worker<Overlap<B>>(argc, argv, [](Overlap<B>& job, const Setup&, Control& control) {
    while (const auto command = control.next()) control.report(job.execute(*command, control));
  });
}

}  // namespace bench::overlap
