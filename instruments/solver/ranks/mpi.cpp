// SPDX-License-Identifier: BSD-3-Clause
#include "solver/ranks/mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace ompl::solver {

namespace {

// What differs between binary interfaces. Handle: int in MPICH's, which Intel MPI shares, else void*.
template <class Handle>
struct Constants {
  Handle world, real, sum;  // real: MPI_DOUBLE
  void* status_ignore;
};

bool is_open_mpi() { return ::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != nullptr; }

bool is_standard() {  // of MPI 5.0; only the name of the file tells
  Dl_info info{};
  return ::dladdr(::dlsym(RTLD_DEFAULT, "MPI_Init_thread"), &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libmpi_abi") != nullptr;
}

Constants<int> mpich() {
  return {0x44000000, 0x4c00080b, 0x58000003, reinterpret_cast<void*>(uintptr_t{1})};
}
Constants<void*> open_mpi() {
  const auto handle = [](const char* name) { return ::dlsym(RTLD_DEFAULT, name); };
  return {handle("ompi_mpi_comm_world"), handle("ompi_mpi_double"), handle("ompi_mpi_op_sum"), nullptr};
}
Constants<void*> standard() {
  const auto handle = [](uintptr_t value) { return reinterpret_cast<void*>(value); };
  return {handle(0x101), handle(0x214), handle(0x21), nullptr};
}

template <class Handle>
class MpiSums final : public OverlappedReduction {
 public:
  explicit MpiSums(const Constants<Handle>& mpi) : mpi_(mpi) {
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
  static void check(int code, const char* call) {
    if (code != 0)
      throw std::runtime_error(std::string(call) + " failed: code " + std::to_string(code));
  }

  using Iallreduce = int(const void*, void*, int, Handle, Handle, Handle, Handle*);
  Iallreduce* const iallreduce_ = mpi_function<Iallreduce>("MPI_Iallreduce");
  int (*const test_)(Handle*, int*, void*) = mpi_function<int(Handle*, int*, void*)>("MPI_Test");
  int (*const wait_)(Handle*, void*) = mpi_function<int(Handle*, void*)>("MPI_Wait");
  const Constants<Handle> mpi_;
  Handle request_{};
  bool under_way_ = false;
  std::size_t count_ = 0;
  std::array<double, kMostSums> values_{}, sums_{};
};

}  // namespace

std::unique_ptr<OverlappedReduction> make_mpi_sums() {
  if (is_open_mpi()) return std::make_unique<MpiSums<void*>>(open_mpi());
  if (is_standard()) return std::make_unique<MpiSums<void*>>(standard());
  return std::make_unique<MpiSums<int>>(mpich());
}

}  // namespace ompl::solver
