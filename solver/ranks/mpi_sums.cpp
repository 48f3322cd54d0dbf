// SPDX-License-Identifier: BSD-3-Clause
#include "solver/ranks/mpi_sums.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "arch/mpi.hpp"

namespace ompl::solver {

namespace {

// Handle: int or void*, as arch::mpi_abi() says.
template <class Handle>
class MpiSums final : public OverlappedReduction {
 public:
  MpiSums() {
    if (iallreduce_ == nullptr || test_ == nullptr || wait_ == nullptr)
      throw std::runtime_error("the MPI library of this process is older than MPI 3.0");
  }
  void start(std::span<const double> values) override {
    std::ranges::copy(values, values_.begin());
    count_ = values.size();
    check(iallreduce_(values_.data(), sums_.data(), static_cast<int>(count_), mpi_.real, mpi_.sum,
                      mpi_.world, &request_),
          "MPI_Iallreduce");
    under_way_ = true;
  }
  void progress() noexcept override {
    if (!under_way_) return;
    int done = 0;
    const int code = test_(&request_, &done, mpi_.status_ignore);
    under_way_ = code != 0 || done == 0;  // an error comes again in wait()
  }
  [[nodiscard]] std::span<const double> wait() override {
    if (under_way_) check(wait_(&request_, mpi_.status_ignore), "MPI_Wait");
    under_way_ = false;
    return {sums_.data(), count_};
  }

 private:
  static void check(int code, const char* function) {
    if (code != 0)
      throw std::runtime_error(std::string(function) + " failed: code " + std::to_string(code));
  }

  using Iallreduce = int(const void*, void*, int, Handle, Handle, Handle, Handle*);
  Iallreduce* const iallreduce_ = arch::mpi_function<Iallreduce>("MPI_Iallreduce");
  int (*const test_)(Handle*, int*, void*) = arch::mpi_function<int(Handle*, int*, void*)>("MPI_Test");
  int (*const wait_)(Handle*, void*) = arch::mpi_function<int(Handle*, void*)>("MPI_Wait");
  const arch::MpiConstants<Handle> mpi_ = arch::mpi_constants<Handle>();
  Handle request_{};
  bool under_way_ = false;
  std::size_t count_ = 0;
  std::array<double, kMostSums> values_{}, sums_{};
};

}  // namespace

std::unique_ptr<OverlappedReduction> make_mpi_sums() {
  if (arch::mpi_abi() == arch::MpiAbi::mpich) return std::make_unique<MpiSums<int>>();
  return std::make_unique<MpiSums<void*>>();
}

}  // namespace ompl::solver
