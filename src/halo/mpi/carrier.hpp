// SPDX-License-Identifier: BSD-3-Clause
// What exchanges by MPI have in common: a communicator of their own, the right to call, and who has arrived.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "arch/libraries/mpi_library.hpp"
#include "halo/mpi/mpi.hpp"
#include "util/status.hpp"

namespace ompl::halo {

// The functions of MPI that exchanges call besides those of arch/libraries/mpi_library.hpp.
template <class Handle>
struct Functions : arch::MpiLibrary<Handle> {
  using Receive = int(void*, int, Handle, int, int, Handle, Handle*);
  using Send = int(const void*, int, Handle, int, int, Handle, Handle*);
  using Graph = int(Handle, int, const int*, const int*, int, const int*, const int*, Handle, int,
                    Handle*);
  using Alltoallw = int(const void*, const int*, const std::ptrdiff_t*, const Handle*, void*,
                        const int*, const std::ptrdiff_t*, const Handle*, Handle, Handle*);
  using Put = int(const void*, int, Handle, int, std::ptrdiff_t, int, Handle, Handle);

  Receive* irecv = arch::MpiFunction{"MPI_Irecv"};
  Receive* recv_init = arch::MpiFunction{"MPI_Recv_init"};
  Send* send_init = arch::MpiFunction{"MPI_Send_init"};
  int (*start)(Handle*) = arch::MpiFunction{"MPI_Start"};
  int (*request_free)(Handle*) = arch::MpiFunction{"MPI_Request_free"};

  Graph* dist_graph_create_adjacent = arch::MpiFunction{"MPI_Dist_graph_create_adjacent"};
  Alltoallw* ineighbor_alltoallw = arch::MpiFunction{"MPI_Ineighbor_alltoallw"};

  int (*comm_group)(Handle, Handle*) = arch::MpiFunction{"MPI_Comm_group"};
  int (*group_incl)(Handle, int, const int*, Handle*) = arch::MpiFunction{"MPI_Group_incl"};
  int (*group_free)(Handle*) = arch::MpiFunction{"MPI_Group_free"};
  int (*win_allocate)(std::ptrdiff_t, int, Handle, Handle, void*,
                      Handle*) = arch::MpiFunction{"MPI_Win_allocate"};
  int (*win_post)(Handle, int, Handle) = arch::MpiFunction{"MPI_Win_post"};
  int (*win_start)(Handle, int, Handle) = arch::MpiFunction{"MPI_Win_start"};
  int (*win_complete)(Handle) = arch::MpiFunction{"MPI_Win_complete"};
  int (*win_test)(Handle, int*) = arch::MpiFunction{"MPI_Win_test"};
  Put* put = arch::MpiFunction{"MPI_Put"};
};

// One thread at a time calls MPI for a carrier. At the level SERIALIZED one of the process does; at FUNNELED only the main
// thread may.
template <class Handle>
class MpiCarrier : public Carrier {
 public:
  MpiCarrier(const Pattern& pattern, std::byte* region) : pattern_(pattern), region_(region) {
    mpi_.query_thread(&level_);
    arrived_ = std::make_unique<std::atomic<bool>[]>(pattern.neighbors.size());
    note_all();
  }
  // Collective. Makes what the exchanges need.
  int open() {
    const auto turn = wait_for_turn();
    return make();
  }
  void release() override {
    if (arch::mpi_phase() != arch::MpiPhase::running) return;  // MPI_Finalize has freed it all
    const auto turn = wait_for_turn();
    close();
    mpi_.comm_free(&comm_);
  }

  int start(Context& /*c*/, const void* const* vectors, Deadline /*deadline*/) final {
    if (const int code = admits(); code != OMPL_OK) return code;
    const std::lock_guard own(mutex_);
    const auto turn = wait_for_turn();
    for (std::size_t i = 0; i < pattern_.neighbors.size(); ++i)
      arrived_[i].store(pattern_.neighbors[i].receive.count == 0, std::memory_order_relaxed);
    const int code = begin(vectors);
    is_complete_.store(false, std::memory_order_release);
    return code;
  }
  int test(Context& /*c*/) final {
    if (is_complete_.load(std::memory_order_acquire)) return 1;
    if (const int code = admits(); code != OMPL_OK) return code;
    const std::unique_lock own(mutex_, std::try_to_lock);
    if (!own) return 0;  // another thread looks
    if (is_complete_.load(std::memory_order_relaxed)) return 1;
    const auto turn = wait_for_turn();
    const int code = look();
    if (code == 1) is_complete_.store(true, std::memory_order_release);
    return code;
  }
  [[nodiscard]] bool arrived(std::size_t neighbor) const final {
    return arrived_[neighbor].load(std::memory_order_acquire);
  }
  [[nodiscard]] const std::byte* data(std::size_t neighbor) const final { return landing(neighbor); }
  [[nodiscard]] bool wakes_sleepers() const final { return false; }

 protected:
  // With the right to call MPI.
  virtual int make() {
    const int code = mpi_.comm_dup(mpi_.constants.world, &comm_);
    if (code != 0) return failed("MPI_Comm_dup", code);
    mpi_.comm_set_errhandler(comm_, mpi_.constants.errors_return);
    return OMPL_OK;
  }
  virtual int begin(const void* const* vectors) = 0;
  virtual int look() = 0;  // as test()
  virtual void close() {}

  int failed(const char* function, int code) const {
    return fail(OMPL_ERR_LINK, "{} failed: {}", function, mpi_.text(code));
  }
  void note_arrival(std::size_t neighbor) { arrived_[neighbor].store(true, std::memory_order_release); }
  void note_all() {
    for (std::size_t i = 0; i < pattern_.neighbors.size(); ++i) note_arrival(i);
  }
  [[nodiscard]] std::byte* landing(std::size_t neighbor) const {
    return region_ + pattern_.neighbors[neighbor].here.landing;
  }
  // What is to be sent, in one piece: where it lies in the only vector, or gathered.
  [[nodiscard]] bool lies_ready(const Neighbor& n) const {
    return pattern_.vectors == 1 && n.send.consecutive();
  }
  const std::byte* message(const Neighbor& n, const void* const* vectors) const {
    if (lies_ready(n)) return pattern_.consecutive(n, vectors[0]);
    pattern_.gather(n, vectors, region_ + n.gathered);
    return region_ + n.gathered;
  }
  // MPI counts in int; make_mpi() has seen to it that these fit.
  [[nodiscard]] int to_send(const Neighbor& n) const { return static_cast<int>(pattern_.to_send(n)); }
  [[nodiscard]] int to_receive(const Neighbor& n) const {
    return static_cast<int>(pattern_.to_receive(n));
  }

  const Functions<Handle> mpi_;
  const Pattern& pattern_;
  std::byte* region_;
  Handle comm_{};

 private:
  [[nodiscard]] int admits() const {
    if (level_ >= mpi_.constants.multiple) return OMPL_OK;
    if (arch::mpi_locked_by_user())
      return fail(OMPL_ERR_STATE, "this thread holds ompl_mpi_lock: the halo could not call MPI");
    int is_main = 1;
    if (level_ < mpi_.constants.serialized) mpi_.is_thread_main(&is_main);
    if (is_main != 0) return OMPL_OK;
    return fail(
        OMPL_ERR_STATE,
        "only the thread that initialised MPI may exchange halos by it; call MPI_Init_thread with "
        "MPI_THREAD_MULTIPLE for more");
  }
  [[nodiscard]] std::unique_lock<std::mutex> wait_for_turn() const {
    if (level_ >= mpi_.constants.multiple) return {};
    return std::unique_lock(arch::mpi_mutex());
  }

  int level_ = 0;
  std::mutex mutex_;
  std::unique_ptr<std::atomic<bool>[]> arrived_;
  std::atomic<bool> is_complete_{true};
};

}  // namespace ompl::halo
