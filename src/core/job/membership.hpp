// SPDX-License-Identifier: BSD-3-Clause
// Who is in the job: this rank, those that share its node, and how each other one is reached. Constant once the job is joined.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/memory/global_memory.hpp"

namespace ompl {

// How another rank is reached.
struct Peer {
  std::string conduit;
  std::string why;    // the answers of all conduits asked
  int death_fd = -1;  // see conduit::Reach
  int segment_fd = -1;
  int wake_fd = -1;
};

// The processes of the node that may use some of this one's processors, and how many of them come before this one.
struct Sharing {
  uint32_t place = 0;
  uint32_t processes = 1;
};

class Membership {
 public:
  Membership(uint32_t rank, uint32_t size, const GlobalMemory& memory)
      : rank_(rank), size_(size), memory_(memory), peers_(std::make_unique<Peer[]>(size)) {}

  [[nodiscard]] uint32_t rank() const { return rank_; }
  [[nodiscard]] uint32_t size() const { return size_; }
  [[nodiscard]] Peer& peer(uint32_t rank) { return peers_[rank]; }
  [[nodiscard]] const Peer& peer(uint32_t rank) const { return peers_[rank]; }

  // Once it is known whom this rank maps: those are its node.
  void settle_node();
  // The ranks that share memory with this one, which is among them, ascending.
  [[nodiscard]] const std::vector<uint32_t>& node_ranks() const { return node_ranks_; }
  [[nodiscard]] uint32_t first_of_node() const { return node_ranks_.front(); }
  [[nodiscard]] uint32_t node_rank() const { return node_rank_; }
  [[nodiscard]] uint32_t node_size() const { return static_cast<uint32_t>(node_ranks_.size()); }
  // The cores that these ranks may use together, and those of this one alone.
  [[nodiscard]] unsigned node_cores() const { return node_cores_; }
  [[nodiscard]] unsigned own_cores() const;
  // The processors that this process might use when it joined: bit i of word i / 64.
  [[nodiscard]] std::span<const uint64_t> processors() const { return memory_.header().cores; }
  [[nodiscard]] Sharing sharing() const;

 private:
  const uint32_t rank_;
  const uint32_t size_;
  const GlobalMemory& memory_;
  std::unique_ptr<Peer[]> peers_;
  std::vector<uint32_t> node_ranks_;
  uint32_t node_rank_ = 0;
  unsigned node_cores_ = 1;
};

}  // namespace ompl
