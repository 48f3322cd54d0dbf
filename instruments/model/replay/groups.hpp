// SPDX-License-Identifier: BSD-3-Clause
// Between threads that replay one trace. Each owns a group of consecutive ranks with all that happens at them: their
// calls, the matching and the bandwidth of what they receive. What concerns another group's rank is mail, which is read
// once all have met. They meet after each window of the agenda, which is so short that nothing in a window, nor mail
// read at its begin, matters to another group before the next one ends (docs/explanation/model.md).
#pragma once

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <exception>
#include <vector>

#include "model/replay/actors.hpp"
#include "model/replay/agenda.hpp"

namespace ompl::model {

// The ranks of one thread.
struct RankGroup {
  uint32_t number = 0, first = 0, size = 0;

  [[nodiscard]] bool owns(uint32_t rank) const { return rank - first < size; }
};

// A send, as the receiver's group gets to know of it.
template <class Clock>
struct Sent {
  Envelope envelope;
  uint32_t thread = 0, site = 0;
  uint32_t number = kNone;  // of the message in the sender's group, if that is another one
  bool rendezvous = false, unlimited = true;
  bool end_known = false;  // there
  Clock when{};            // it was called
  uint64_t bytes = 0, order = 0;
};

// The end of a send, for the sender's group.
template <class Clock>
struct SendEnd {
  uint32_t number;
  Clock when, posted;
};

template <class Clock>
class Groups {
 public:
  struct Mail {
    std::vector<Sent<Clock>> sent;
    std::vector<SendEnd<Clock>> ends;
    std::vector<Branch<Clock>> branches;
  };

  Groups(uint32_t ranks, uint32_t count)
      : ranks_(ranks), count_(count), earliest_(count), errors_(count), barrier_(count, Agree{this}) {
    mail_.fill(std::vector<Mail>(std::size_t{count} * count));
    std::ranges::fill(earliest_, Agenda::kNever);
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  ~Groups() = default;

  [[nodiscard]] uint32_t count() const { return count_; }
  [[nodiscard]] RankGroup group(uint32_t number) const {
    return {number, first(number), first(number + 1) - first(number)};
  }
  [[nodiscard]] uint32_t group_of(uint32_t rank) const {
    return static_cast<uint32_t>(uint64_t{rank} * count_ / ranks_);
  }

  // From a group to that of a rank. `window`: the last at whose begin it may be read.
  Mail& post(uint32_t from, uint32_t rank, uint64_t window) {
    earliest_[from] = std::min(earliest_[from], window);
    return mail_[now_][std::size_t{from} * count_ + group_of(rank)];
  }

  // What came for a group; it is gone then.
  template <class Function>
  void each(uint32_t to, Function function) {
    for (uint32_t from = 0; from < count_; ++from) {
      Mail& mail = mail_[1 - now_][std::size_t{from} * count_ + to];
      function(mail);
      mail.sent.clear();
      mail.ends.clear();
      mail.branches.clear();
    }
  }

  // All have done a window; a group's next event is in the window `earliest`. Which window comes next; Agenda::kNever
  // if nothing will happen any more, or one has failed.
  uint64_t meet(uint32_t group, uint64_t earliest) {
    earliest_[group] = std::min(earliest_[group], earliest);
    barrier_.arrive_and_wait();
    earliest_[group] = Agenda::kNever;
    return window_;
  }
  // Of a group that meets nobody any more.
  void leave(uint32_t group, const std::exception_ptr& why) {
    fail(group, why);
    barrier_.arrive_and_drop();
  }
  void fail(uint32_t group, const std::exception_ptr& why) { errors_[group] = why; }
  // That of the first group that failed, or null.
  [[nodiscard]] std::exception_ptr error() const {
    const auto found = std::ranges::find_if(errors_, [](const auto& one) { return one != nullptr; });
    return found == errors_.end() ? nullptr : *found;
  }

 private:
  struct Agree {
    Groups* all;
    void operator()() const noexcept { all->agree(); }
  };

  void agree() {
    window_ = error() == nullptr ? *std::ranges::min_element(earliest_) : Agenda::kNever;
    now_ = 1 - now_;
  }
  [[nodiscard]] uint32_t first(uint32_t group) const {
    return static_cast<uint32_t>((uint64_t{group} * ranks_ + count_ - 1) / count_);
  }

  uint32_t ranks_, count_;
  uint32_t now_ = 0;                        // of the two sets of mail: that which is written
  std::array<std::vector<Mail>, 2> mail_;   // by sender and receiver
  std::vector<uint64_t> earliest_;          // by group
  std::vector<std::exception_ptr> errors_;  // by group
  uint64_t window_ = 0;
  std::barrier<Agree> barrier_;
};

}  // namespace ompl::model
