// SPDX-License-Identifier: BSD-3-Clause
// MPI_Put between MPI_Win_post, MPI_Win_start, MPI_Win_complete and MPI_Win_wait.
#pragma once

#include "halo/mpi/carrier.hpp"

namespace ompl::halo {

template <class Handle>
class WindowPut final : public MpiCarrier<Handle> {
  using Base = MpiCarrier<Handle>;

 public:
  WindowPut(const Pattern& pattern, std::byte* region, std::size_t bytes)
      : Base(pattern, region), bytes_(bytes) {}

 private:
  int make() override {
    if (const int code = Base::make(); code != OMPL_OK) return code;
    const auto& mpi = this->mpi_;
    std::byte* base = nullptr;
    int code = mpi.win_allocate(static_cast<std::ptrdiff_t>(bytes_ + kLine), 1, mpi.constants.info_null,
                                this->comm_, &base, &window_);
    if (code != 0) return this->failed("MPI_Win_allocate", code);
    mpi.win_set_errhandler(window_, mpi.constants.errors_return);
    const auto shift = static_cast<uint8_t>(-reinterpret_cast<uintptr_t>(base) % kLine);
    this->region_ = base + shift;
    int ranks = 0;
    mpi.comm_size(this->comm_, &ranks);
    shifts_.resize(static_cast<std::size_t>(ranks));
    code = mpi.allgather(&shift, 1, mpi.constants.byte, shifts_.data(), 1, mpi.constants.byte,
                         this->comm_);
    if (code != 0) return this->failed("MPI_Allgather", code);
    Handle all{};
    code = mpi.comm_group(this->comm_, &all);
    if (code == 0) code = make_group(all, &Neighbor::send, &targets_);
    if (code == 0) code = make_group(all, &Neighbor::receive, &origins_);
    if (code != 0) return this->failed("MPI_Group_incl", code);
    mpi.group_free(&all);
    return OMPL_OK;
  }

  int make_group(Handle all, Elements Neighbor::*way, Handle* group) {
    std::vector<int> ranks;
    for (const Neighbor& n : this->pattern_.neighbors)
      if ((n.*way).count > 0) ranks.push_back(static_cast<int>(n.rank));
    return this->mpi_.group_incl(all, static_cast<int>(ranks.size()), ranks.data(), group);
  }

  // MPI_Win_complete waits until the targets have called this too.
  int begin(const void* const* vectors) override {
    const auto& mpi = this->mpi_;
    int code = mpi.win_post(origins_, 0, window_);
    if (code == 0) code = mpi.win_start(targets_, 0, window_);
    if (code != 0) return this->failed("MPI_Win_start", code);
    for (const Neighbor& n : this->pattern_.neighbors) {
      if (n.send.count == 0) continue;
      const int bytes = this->to_send(n);
      code = mpi.put(this->message(n, vectors), bytes, mpi.constants.byte, static_cast<int>(n.rank),
                     static_cast<std::ptrdiff_t>(n.there.landing + shifts_[n.rank]), bytes,
                     mpi.constants.byte, window_);
      if (code != 0) return this->failed("MPI_Put", code);
    }
    code = mpi.win_complete(window_);
    return code == 0 ? OMPL_OK : this->failed("MPI_Win_complete", code);
  }

  int look() override {
    int done = 0;
    const int code = this->mpi_.win_test(window_, &done);
    if (code != 0) return this->failed("MPI_Win_test", code);
    if (done != 0) this->note_all();
    return done != 0 ? 1 : 0;
  }

  void close() override {
    this->mpi_.group_free(&targets_);
    this->mpi_.group_free(&origins_);
    this->mpi_.win_free(&window_);
  }

  static constexpr std::size_t kLine = 64;

  const std::size_t bytes_;
  std::vector<uint8_t> shifts_;  // by rank: how far its region begins behind what MPI allocated
  Handle window_{}, targets_{}, origins_{};
};

}  // namespace ompl::halo
