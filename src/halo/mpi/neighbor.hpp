// SPDX-License-Identifier: BSD-3-Clause
// MPI_Ineighbor_alltoallw on a graph of the neighbours.
#pragma once

#include <numeric>

#include "halo/mpi/carrier.hpp"

namespace ompl::halo {

template <class Handle>
class NeighborCollective final : public MpiCarrier<Handle> {
  using Base = MpiCarrier<Handle>;

 public:
  using Base::Base;

 private:
  // All neighbours stand in both lists, with nothing to send where nothing goes.
  int make() override {
    if (const int code = Base::make(); code != OMPL_OK) return code;
    std::vector<int> ranks;
    for (std::size_t i = 0; i < this->pattern_.neighbors.size(); ++i) {
      const Neighbor& n = this->pattern_.neighbors[i];
      ranks.push_back(static_cast<int>(n.rank));
      send_counts_.push_back(this->to_send(n));
      receive_counts_.push_back(this->to_receive(n));
      receive_at_.push_back(this->landing(i) - this->region_);
    }
    send_at_.resize(ranks.size());
    types_.assign(ranks.size() + 1, this->mpi_.constants.byte);  // never empty: data() is not null
    const std::vector<int> weights(ranks.size() + 1, 1);
    ranks.push_back(0);
    const int count = static_cast<int>(ranks.size()) - 1;
    Handle graph{};
    const auto& mpi = this->mpi_;
    const int code = mpi.dist_graph_create_adjacent(this->comm_, count, ranks.data(), weights.data(),
                                                    count, ranks.data(), weights.data(),
                                                    mpi.constants.info_null, 0, &graph);
    if (code != 0) return this->failed("MPI_Dist_graph_create_adjacent", code);
    mpi.comm_free(&this->comm_);
    this->comm_ = graph;
    mpi.comm_set_errhandler(graph, mpi.constants.errors_return);
    return OMPL_OK;
  }

  // Addresses count from the beginning of the region, also those in the vectors.
  int begin(const void* const* vectors) override {
    const auto& neighbors = this->pattern_.neighbors;
    for (std::size_t i = 0; i < neighbors.size(); ++i) {
      if (neighbors[i].send.count > 0)
        send_at_[i] = reinterpret_cast<std::ptrdiff_t>(this->message(neighbors[i], vectors)) -
                      reinterpret_cast<std::ptrdiff_t>(this->region_);
    }
    const int code = this->mpi_.ineighbor_alltoallw(
        this->region_, send_counts_.data(), send_at_.data(), types_.data(), this->region_,
        receive_counts_.data(), receive_at_.data(), types_.data(), this->comm_, &request_);
    return code == 0 ? OMPL_OK : this->failed("MPI_Ineighbor_alltoallw", code);
  }

  int look() override {
    int done = 0;
    const int code = this->mpi_.test(&request_, &done, this->mpi_.constants.status_ignore);
    if (code != 0) return this->failed("MPI_Test", code);
    if (done != 0) this->note_all();
    return done != 0 ? 1 : 0;
  }

  std::vector<int> send_counts_, receive_counts_;
  std::vector<std::ptrdiff_t> send_at_, receive_at_;
  std::vector<Handle> types_;
  Handle request_{};
};

}  // namespace ompl::halo
