// SPDX-License-Identifier: BSD-3-Clause
// A reliable connected queue pair of Verbs, and RDMA writes by it into the other rank's memory, which arrive in the order of
// the calls. For one thread at a time. Every function throws std::runtime_error.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "harness/adapter.hpp"
#include "harness/meeting.hpp"
#include "verbs_connection.hpp"
#include "verbs_port.hpp"

namespace bench {

class alignas(128) QueuePair {
 public:
  // Collective with the other rank; `own` is what it may write, and where longer data are read.
  void open(const Port& port, const Registered& own, const Meeting& meeting) {
    own_ = own.memory;
    longest_ = port.limits().max_msg_sz;
    slots_ = static_cast<std::byte*>(std::aligned_alloc(kPage, kDepth * kSlot));
    copies_ = made(ibv_reg_mr(own.domain, slots_, kDepth * kSlot, 0), "ibv_reg_mr");
    completions_ = made(ibv_create_cq(port.context(), kDepth, nullptr, nullptr, 0), "ibv_create_cq");
    pair_ = create_pair(own.domain, completions_, kDepth, &inline_);
    peer_ = meeting.exchange(card_of(pair_, own_, port));
    connect(pair_, port, peer_);
  }
  ~QueuePair() {
    if (pair_ != nullptr) ibv_destroy_qp(pair_);
    if (completions_ != nullptr) ibv_destroy_cq(completions_);
    if (copies_ != nullptr) ibv_dereg_mr(copies_);
    std::free(slots_);
  }
  [[nodiscard]] std::size_t inlined() const { return inline_; }

  // The source may be used again on return: short data travel in the request, longer are copied, and the longest waited for.
  void put(const std::byte* from, std::size_t to, std::size_t bytes) {
    make_room();
    if (bytes <= inline_) {
      post(from, 0, to, bytes, IBV_SEND_INLINE);
    } else if (bytes <= kSlot) {
      std::byte* const slot = slots_ + posted_ % kDepth * kSlot;
      post(std::memcpy(slot, from, bytes), copies_->lkey, to, bytes);
    } else {
      for (std::size_t done = 0, now = 0; done < bytes; done += now) {
        now = std::min(bytes - done, longest_);
        post(from + done, own_->lkey, to + done, now, IBV_SEND_SIGNALED);
        make_room();
      }
      await_all();
    }
  }
  // Until the other side has what was put: by a write of nothing behind it, which reports.
  void flush() {
    make_room();
    post(nullptr, 0, 0, 0, IBV_SEND_SIGNALED);
    await_all();
  }

 private:
  static constexpr std::size_t kInline = 220;  // bytes in a request; perftest asks for as many
  static constexpr std::size_t kSlot = 8192;   // bytes that are copied
  static constexpr uint64_t kDepth = 64;       // requests under way, each with a slot,
  static constexpr uint64_t kReported = 16;    // of which each so many-th reports its completion

  // There is room for it.
  void post(const void* from, uint32_t key, std::size_t to, std::size_t bytes, unsigned flags = 0) {
    ++posted_;
    if (posted_ % kReported == 0) flags |= IBV_SEND_SIGNALED;
    write(pair_, peer_, from, key, to, bytes, flags, posted_);
  }
  void make_room() {
    while (posted_ - completed_ >= kDepth) progress();
  }
  // The last that was posted reports.
  void await_all() {
    while (completed_ < posted_) progress();
  }
  // Requests complete in order: one that reports speaks for those before it.
  void progress() {
    std::array<ibv_wc, 16> room;
    if (const auto done = take(completions_, room); !done.empty()) completed_ = done.back().wr_id;
  }

  ibv_qp* pair_ = nullptr;
  ibv_cq* completions_ = nullptr;
  const ibv_mr* own_ = nullptr;
  ibv_mr* copies_ = nullptr;
  std::byte* slots_ = nullptr;
  std::size_t inline_ = kInline, longest_ = 0;
  Card peer_{};
  uint64_t posted_ = 0, completed_ = 0;
};

}  // namespace bench
