// SPDX-License-Identifier: BSD-3-Clause
// A rank has one slot for each other one. A piece is put there with a signal; once it is copied out, its sender gets a
// signal and may put the next. In each round a rank first sends to all, then receives from all: who waits for a slot waits
// for a receiver that is a round behind, and the ranks furthest behind wait for nobody.
#include "solver/ranks/all_to_all.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "solver/ranks/layer.hpp"

namespace ompl::solver {

namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20, kLeastPiece = 4096;

// What a rank has for one other: at the same place everywhere, found by the other's number.
constexpr uint64_t kArrived = 8, kFree = 12, kPiece = 64;  // after the size of all that comes

class Transfer {
 public:
  Transfer(std::span<const Bytes> out, std::size_t piece)
      : rank_(my_rank()), ranks_(all_ranks()), piece_(piece), out_(out), place_(ranks_ * slot_size()) {
    // Each rank begins with the next one, so that not all send to the same.
    for (uint32_t i = 1; i < ranks_; ++i) others_.push_back((rank_ + i) % ranks_);
  }

  void run(const std::function<std::byte*(std::span<const uint64_t>)>& room) {
    std::byte* const memory = room(exchange_sizes());
    std::vector<std::byte*> into(ranks_, memory);
    for (uint32_t r = 1; r < ranks_; ++r) into[r] = into[r - 1] + in_[r - 1];
    std::ranges::copy(out_[rank_], into[rank_]);
    for (std::size_t done = 0; done < most_; done += piece_) {
      for (const uint32_t to : others_) send(to, done);
      for (const uint32_t from : others_) receive(from, done, into[from]);
    }
    for (const uint32_t to : others_)
      if (!out_[to].empty()) wait(to, kFree);
    place_.free();
  }

 private:
  [[nodiscard]] uint64_t slot_size() const { return kPiece + piece_; }
  [[nodiscard]] uint64_t slot(uint32_t of) const { return place_.offset + of * slot_size(); }
  void wait(uint32_t other, uint64_t flag) { check(ompl_wait(slot(other) + flag), "ompl_wait"); }
  void put(const void* data, std::size_t size, uint32_t to, uint64_t at) {
    check(ompl_put_signal(reinterpret_cast<uintptr_t>(data), to, slot(rank_) + at, size,
                          slot(rank_) + kArrived),
          "ompl_put_signal");
  }

  std::span<const uint64_t> exchange_sizes() {
    in_.resize(ranks_);
    in_[rank_] = out_[rank_].size();
    for (const uint32_t to : others_) {
      const uint64_t size = out_[to].size();
      most_ = std::max(most_, size);
      put(&size, sizeof size, to, 0);
    }
    for (const uint32_t from : others_) {
      wait(from, kArrived);
      std::memcpy(&in_[from], ompl_ptr(rank_, slot(from)), sizeof(uint64_t));
      most_ = std::max(most_, in_[from]);
    }
    return in_;
  }

  void send(uint32_t to, std::size_t done) {
    if (done >= out_[to].size()) return;
    if (done > 0) wait(to, kFree);
    put(out_[to].data() + done, std::min(piece_, out_[to].size() - done), to, kPiece);
  }

  void receive(uint32_t from, std::size_t done, std::byte* into) {
    if (done >= in_[from]) return;
    wait(from, kArrived);
    std::memcpy(into + done, ompl_ptr(rank_, slot(from) + kPiece),
                std::min<std::size_t>(piece_, in_[from] - done));
    check(ompl_put_word(from, slot(rank_) + kFree), "ompl_put_word");
  }

  const uint32_t rank_, ranks_;
  const std::size_t piece_;
  const std::span<const Bytes> out_;
  const Place<std::byte> place_;
  std::vector<uint32_t> others_;
  std::vector<uint64_t> in_;  // bytes from each rank
  uint64_t most_ = 0;         // bytes between this rank and another, either way
};

}  // namespace

void exchange_bytes(std::span<const Bytes> out,
                    const std::function<std::byte*(std::span<const uint64_t>)>& room) {
  try {
    // Lines of their own for each slot.
    const std::size_t piece = std::max(kLeastPiece, kWindow / all_ranks() / kPiece * kPiece);
    Transfer(out, piece).run(room);
  } catch (const std::bad_alloc&) {
    throw LayerError("not enough memory for what other ranks send; take more machines");
  }
}

}  // namespace ompl::solver
