// SPDX-License-Identifier: BSD-3-Clause
// MPI_Isend and MPI_Irecv, anew for each exchange or persistent.
#pragma once

#include "halo/mpi/carrier.hpp"

namespace ompl::halo {

// Requests of receives first, then of sends; owners_ tells whose. Persistent sends that do not lie ready are gathered to
// one place; those that do are made anew when the vector is another one.
template <class Handle>
class TwoSided final : public MpiCarrier<Handle> {
  using Base = MpiCarrier<Handle>;

 public:
  TwoSided(const Pattern& pattern, std::byte* region, bool persistent)
      : Base(pattern, region), persistent_(persistent) {
    for (const bool sends : {false, true}) {
      for (std::size_t i = 0; i < pattern.neighbors.size(); ++i) {
        const Neighbor& n = pattern.neighbors[i];
        if ((sends ? n.send.count : n.receive.count) > 0) owners_.push_back(i);
      }
      if (!sends) receives_ = owners_.size();
    }
    requests_.resize(owners_.size());
    finished_.resize(owners_.size());
    made_from_.resize(owners_.size());
  }

 private:
  static constexpr int kTag = 0;

  int begin(const void* const* vectors) override {
    under_way_ = 0;
    for (std::size_t i = 0; i < owners_.size(); ++i, ++under_way_) {
      const Neighbor& n = this->pattern_.neighbors[owners_[i]];
      const std::byte* from = i < receives_ ? this->landing(owners_[i]) : this->message(n, vectors);
      const int code = persistent_ ? restart(i, n, from) : post(i, n, from);
      if (code != OMPL_OK) return code;
    }
    return OMPL_OK;
  }

  int post(std::size_t i, const Neighbor& n, const std::byte* at) {
    const auto& mpi = this->mpi_;
    const Handle byte = mpi.constants.byte;
    const int rank = static_cast<int>(n.rank);
    const bool receives = i < receives_;
    const int code =
        receives ? mpi.irecv(const_cast<std::byte*>(at), this->to_receive(n), byte, rank, kTag,
                             this->comm_, &requests_[i])
                 : mpi.isend(at, this->to_send(n), byte, rank, kTag, this->comm_, &requests_[i]);
    return code == 0 ? OMPL_OK : this->failed(receives ? "MPI_Irecv" : "MPI_Isend", code);
  }

  int restart(std::size_t i, const Neighbor& n, const std::byte* at) {
    const auto& mpi = this->mpi_;
    const Handle byte = mpi.constants.byte;
    const int rank = static_cast<int>(n.rank);
    if (made_from_[i] != at) {
      if (made_from_[i] != nullptr) mpi.request_free(&requests_[i]);
      const int code = i < receives_ ? mpi.recv_init(const_cast<std::byte*>(at), this->to_receive(n),
                                                     byte, rank, kTag, this->comm_, &requests_[i])
                                     : mpi.send_init(at, this->to_send(n), byte, rank, kTag,
                                                     this->comm_, &requests_[i]);
      made_from_[i] = code == 0 ? at : nullptr;
      if (code != 0) return this->failed("a persistent request of MPI", code);
    }
    const int code = mpi.start(&requests_[i]);
    return code == 0 ? OMPL_OK : this->failed("MPI_Start", code);
  }

  int look() override {
    int count = 0;
    if (under_way_ == 0) return 1;
    const int code = this->mpi_.testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                         finished_.data(), this->mpi_.constants.status_ignore);
    if (code != 0) return this->failed("MPI_Testsome", code);
    for (int i = 0; i < count; ++i) {
      const auto request = static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)]);
      if (request < receives_) this->note_arrival(owners_[request]);
      --under_way_;
    }
    return under_way_ == 0 ? 1 : 0;
  }

  void close() override {
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (made_from_[i] != nullptr) this->mpi_.request_free(&requests_[i]);
  }

  const bool persistent_;
  std::vector<std::size_t> owners_;  // neighbours, by request
  std::size_t receives_ = 0;
  std::vector<Handle> requests_;
  std::vector<int> finished_;
  std::vector<const std::byte*> made_from_;  // persistent: their buffers; null: not made
  std::size_t under_way_ = 0;
};

}  // namespace ompl::halo
