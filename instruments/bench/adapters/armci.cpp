// SPDX-License-Identifier: BSD-3-Clause
// Adapter of ARMCI, which ARMCI-MPI and ComEX provide: put + flag is ARMCI_Put of the data, ARMCI_Fence, and
// ARMCI_PutValueInt of the flag, which the target reads in its own memory. ARMCI says nothing of threads: over MPI they are
// allowed where it gives MPI_THREAD_MULTIPLE.
#include <mpi.h>
extern "C" {
#include <armci.h>  // of C only
}

#include <array>

#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "mpi_about.hpp"

namespace {

void check(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(result));
}

class Armci : public bench::WindowAdapter {
 public:
  Armci(const bench::Setup& setup, int argc, char** argv)
      : WindowAdapter(setup), mpi_(argc, argv, MPI_THREAD_MULTIPLE, MPI_THREAD_SINGLE, true) {
    rank_ = mpi_.rank;
    if (mpi_.granted < MPI_THREAD_MULTIPLE && setup.threads > 1)
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
  }

  [[nodiscard]] bench::Description describe() const {
    return {"ARMCI",
            "chosen by the library",
            std::nullopt,
            {{"thread level asked", "MPI_THREAD_MULTIPLE, of its MPI"},
             {"thread level granted", bench::mpi_level(mpi_.granted)}}};
  }

  void put(int i, std::size_t offset, std::size_t bytes) {
    check(ARMCI_Put(source(i) + offset, peer_ + window_.target_offset(i) + offset,
                    static_cast<int>(bytes), 1 - rank_),
          "ARMCI_Put");
  }
  void signal(int i) {
    flush(i);
    check(
        ARMCI_PutValueInt(static_cast<int>(window_.next(i)), peer_ + window_.flag_offset(i), 1 - rank_),
        "ARMCI_PutValueInt");
  }
  void flush(int /*i*/) { ARMCI_Fence(1 - rank_); }
  void look(int /*i*/) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

 private:
  // ARMCI_Malloc promises no page.
  static void* page(void* memory) {
    return reinterpret_cast<void*>(bench::pages(reinterpret_cast<std::size_t>(memory)));
  }

  bench::MpiRank mpi_;
  std::array<void*, 2> memory_{};
  std::byte* peer_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Armci>(argc, argv); }
