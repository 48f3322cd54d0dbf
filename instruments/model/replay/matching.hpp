// SPDX-License-Identifier: BSD-3-Clause
// Which receive gets which message, in MPI's order, without searching lists.
#pragma once

#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "model/replay/message.hpp"

namespace ompl::model {

// For receives that name source and tag: of each (target, source, communicator, tag) the sends, or the receives,
// that have no partner yet, first come first served. Independent of time: the order of each side's calls decides.
template <class Clock>
class ExactMatches {
 public:
  explicit ExactMatches(Messages<Clock>& messages) : messages_(messages), slots_(1024) {}

  // The first partner of such a message, taken out; or kNone.
  uint32_t take(const Envelope& envelope, bool wants_send) {
    const std::size_t at = find(envelope);
    const uint32_t first = slots_[at].first;
    if (first == kNone || messages_[first].has_send != wants_send) return kNone;
    Message<Clock>& message = messages_[first];
    if (message.next == kNone) {
      erase(at);
    } else {
      messages_[message.next].last = message.last;
      slots_[at].first = message.next;
    }
    message.next = kNone;
    return first;
  }

  void add(uint32_t i) {
    const std::size_t at = find(messages_[i].envelope);
    if (slots_[at].first == kNone) {
      slots_[at] = {messages_[i].envelope.hash(), i};
      messages_[i].last = i;
      if (++used_ * 2 > slots_.size()) grow();
    } else {
      Message<Clock>& first = messages_[slots_[at].first];
      messages_[first.last].next = i;
      first.last = i;
    }
  }

  // All that wait for a partner at this target, taken out.
  std::vector<uint32_t> take_all(uint32_t target) {
    std::vector<uint32_t> out;
    std::vector<Slot> old(slots_.size());
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old) {
      if (slot.first == kNone) continue;
      if (messages_[slot.first].envelope.target != target) {
        slots_[find(messages_[slot.first].envelope)] = slot;
        ++used_;
        continue;
      }
      for (uint32_t i = slot.first; i != kNone; i = messages_[i].next) out.push_back(i);
    }
    return out;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t first = kNone;
  };

  // The slot of the list, or the empty one where it would be.
  std::size_t find(const Envelope& envelope) const {
    const uint32_t h = envelope.hash();
    for (std::size_t at = h & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.first == kNone || (slot.hash == h && messages_[slot.first].envelope == envelope))
        return at;
    }
  }

  // Those behind that were pushed on by this one move up, so that no search meets a hole before its goal.
  void erase(std::size_t hole) {
    for (std::size_t at = (hole + 1) & mask(); slots_[at].first != kNone; at = (at + 1) & mask()) {
      const std::size_t home = slots_[at].hash & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = Slot{};
    --used_;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.first == kNone) continue;
      std::size_t at = slot.hash & mask();
      while (slots_[at].first != kNone) at = (at + 1) & mask();
      slots_[at] = slot;
    }
  }

  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }

  Messages<Clock>& messages_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t used_ = 0;
};

// For a rank that receives from any source or tag without the trace saying which: envelopes in the order of their
// arrival, receives in the order of their posting, each with the first that fits.
class AnyMatches {
 public:
  // An envelope arrives: the first receive that fits, taken out; else kNone, and it is kept.
  uint32_t arrive(const Envelope& envelope, uint32_t message) {
    List* best = nullptr;
    for (const Envelope& key : patterns(envelope)) {
      const auto found = posted_.find(key);
      if (found == posted_.end() || found->second.empty()) continue;
      if (best == nullptr || found->second.front().order < best->front().order) best = &found->second;
    }
    if (best != nullptr) {
      const uint32_t receive = best->front().message;
      best->pop_front();
      return receive;
    }
    for (const Envelope& key : patterns(envelope)) {
      List& list = unexpected_[key];
      if (list.size() > 2 * unexpected_count_ + 16)
        std::erase_if(list, [this](const Entry& entry) { return taken_[entry.order]; });
      list.push_back({taken_.size(), message});
    }
    taken_.push_back(false);
    ++unexpected_count_;
    return kNone;
  }

  // A receive is posted: the first message that fits, taken out; else kNone, and it is kept.
  uint32_t post(const Envelope& pattern, uint32_t receive) {
    const auto found = unexpected_.find(pattern);
    if (found != unexpected_.end()) {
      List& list = found->second;
      while (!list.empty() && taken_[list.front().order]) list.pop_front();
      if (!list.empty()) {
        taken_[list.front().order] = true;
        --unexpected_count_;
        return list.front().message;
      }
    }
    posted_[pattern].push_back({posts_++, receive});
    return kNone;
  }

 private:
  struct Entry {
    uint64_t order;
    uint32_t message;
  };
  using List = std::deque<Entry>;
  struct Hash {
    std::size_t operator()(const Envelope& envelope) const { return envelope.hash(); }
  };
  using Lists = std::unordered_map<Envelope, List, Hash>;

  static std::array<Envelope, 4> patterns(const Envelope& envelope) {
    std::array<Envelope, 4> out{envelope, envelope, envelope, envelope};
    out[1].source = out[3].source = Op::kAny;
    out[2].tag = out[3].tag = Op::kAny;
    return out;
  }

  Lists posted_;
  Lists unexpected_;  // each message stands in four lists; what one of them gave away is `taken_`
  std::vector<bool> taken_;
  std::size_t unexpected_count_ = 0;
  uint64_t posts_ = 0;
};

}  // namespace ompl::model
