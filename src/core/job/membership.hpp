// SPDX-License-Identifier: BSD-3-Clause
// Who is in the job: this rank, those that share its node, and how each other one is reached. Constant once the job is joined.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/memory/global_memory.hpp"

namespace ompl {

// How another rank is reached. The texts are Membership::keep()'s.
struct Peer {
  std::string_view conduit;
  std::string_view why;  // the answers of all conduits asked
  int death_fd = -1;     // see conduit::Reach
  int segment_fd = -1;
  int wake_fd = -1;
  uint64_t segment_offset = 0;
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

  // The same text, for as long as this lives, and once for all ranks of which it is said. One thread, while the job is joined.
  std::string_view keep(std::string text) { return *texts_.insert(std::move(text)).first; }

  // Once it is known whom this rank maps: those are its node.
  void settle_node();
  // The ranks that share memory with this one, which is among them, ascending.
  [[nodiscard]] const std::vector<uint32_t>& node_ranks() const { return node_ranks_; }
  [[nodiscard]] uint32_t first_of_node() const { return node_ranks_.front(); }
  [[nodiscard]] uint32_t node_rank() const { return node_rank_; }
  // Of them, those of which memory().node() tells nothing.
  [[nodiscard]] const std::vector<uint32_t>& strangers() const { return strangers_; }
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
  std::set<std::string, std::less<>> texts_;
  [[nodiscard]] const uint64_t* cores_of(uint32_t rank) const;

  std::vector<uint32_t> node_ranks_;
  std::vector<uint32_t> strangers_;
  uint32_t node_rank_ = 0;
  unsigned node_cores_ = 1;
};

}  // namespace ompl
