// SPDX-License-Identifier: BSD-3-Clause
// Adapter of ARMCI, which ARMCI-MPI and ComEX provide: put + flag is ARMCI_Put of the data, ARMCI_Fence, and
// ARMCI_PutValueInt of the flag, which the target reads in its own memory. ARMCI says nothing of threads: over MPI they are
// allowed where it gives MPI_THREAD_MULTIPLE.
#include <mpi.h>
extern "C" {
#include <armci.h>  // of C only
}

#include <vector>

#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "mpi_about.hpp"

namespace {

void check(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(result));
}

class Armci {
 public:
  Armci(const bench::Setup& setup, int argc, char** argv) : window_(setup) {
    granted_ = bench::start_mpi(&argc, &argv, MPI_THREAD_MULTIPLE);
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) throw std::runtime_error("needs two ranks");
    if (granted_ < MPI_THREAD_MULTIPLE && setup.threads > 1)
      throw std::runtime_error("its MPI does not grant MPI_THREAD_MULTIPLE");
    check(ARMCI_Init_args(&argc, &argv), "ARMCI_Init_args");
    check(ARMCI_Malloc(memory_.data(), static_cast<armci_size_t>(window_.size() + bench::kPage)),
          "ARMCI_Malloc");
    window_.place(page(memory_[static_cast<std::size_t>(rank_)]));
    peer_ = static_cast<std::byte*>(page(memory_[static_cast<std::size_t>(1 - rank_)]));
    ARMCI_Barrier();
  }
  ~Armci() {
    ARMCI_Barrier();
    ARMCI_Free(memory_[static_cast<std::size_t>(rank_)]);
    ARMCI_Finalize();
    MPI_Finalize();
  }
  Armci(const Armci&) = delete;
  Armci& operator=(const Armci&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    return {"ARMCI",
            "chosen by the library",
            std::nullopt,
            {{"thread level asked", "MPI_THREAD_MULTIPLE, of its MPI"},
             {"thread level granted", bench::mpi_level(granted_)}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return window_.source(i); }
  [[nodiscard]] std::byte* target(int i) const { return window_.target(i); }
  void put(int i, std::size_t offset, std::size_t bytes) {
    check(ARMCI_Put(source(i) + offset, peer_ + window_.target_offset(i) + offset,
                    static_cast<int>(bytes), 1 - rank_),
          "ARMCI_Put");
  }
  void put_alone(int i, std::size_t offset, std::size_t bytes) { put(i, offset, bytes); }
  void signal(int i) {
    flush(i);
    check(
        ARMCI_PutValueInt(static_cast<int>(window_.next(i)), peer_ + window_.flag_offset(i), 1 - rank_),
        "ARMCI_PutValueInt");
  }
  void wait(int i) {
    window_.wait(i, [] {});
  }
  void flush(int /*i*/) { ARMCI_Fence(1 - rank_); }
  void look(int /*i*/) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

 private:
  // ARMCI_Malloc promises no page.
  static void* page(void* memory) {
    return reinterpret_cast<void*>(bench::pages(reinterpret_cast<std::size_t>(memory)));
  }

  bench::Window window_;
  std::array<void*, 2> memory_{};
  std::byte* peer_ = nullptr;
  int rank_ = 0;
  int granted_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Armci>(argc, argv); }
