// SPDX-License-Identifier: BSD-3-Clause
// The inside of the mock's wire: links and ports. A link is one direction, from an endpoint to a rank;
// it ends in a port, the wire's side of the target's endpoint. Each has its own mutex, so that
// ThreadSanitizer sees no order between threads that the network itself does not make.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "conduit/conduit.hpp"
#include "conduit/mock/wire.hpp"
#include "util/mutex.hpp"

namespace ompl::conduit::mock {

// Random numbers of one owner.
class Dice {
 public:
  Dice(std::initializer_list<uint64_t> seeds) {
    std::seed_seq sequence(seeds);
    engine_.seed(sequence);
  }
  // 0 .. limit
  std::size_t up_to(std::size_t limit) { return limit == 0 ? 0 : engine_() % (limit + 1); }
  bool one_in(unsigned n) { return n != 0 && engine_() % n == 0; }

 private:
  std::mt19937_64 engine_;
};

// Wakes whoever sleeps on an endpoint's descriptor.
class WakeEvent {
 public:
  explicit WakeEvent(bool wanted);
  ~WakeEvent();
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  void arm();     // the next notify() makes fd() readable
  void disarm();  // and fd() is not readable any more
  void notify();

 private:
  int fd_ = -1;
  std::atomic<bool> armed_{false};
};

// The wire's side of one endpoint: where links end and records wait. Exists before the endpoint does.
class Port {
 public:
  explicit Port(bool descriptor) : wake_event(descriptor) {}

  // A record arrives. False if `limit` records wait already.
  bool push(MockLink& link, const Signal& record, std::size_t limit);
  // Gives at most `budget` records to `sink`; returns how many.
  int take(Sink& sink, int budget);
  [[nodiscard]] std::size_t waiting();

  void attach(MockLink& link);
  void list_incoming(std::vector<MockLink*>* links);  // brings the list up to date
  // The endpoint is to break: its next progress() says so.
  void break_now();
  [[nodiscard]] bool broken();
  // The endpoint has gone, or broke: what is under way to it fails, now and in future.
  void close();

  WakeEvent wake_event;

 private:
  struct Arrival {
    MockLink* link;
    Signal record;
  };

  Mutex mutex_;
  std::deque<Arrival> arrivals_ OMPL_GUARDED_BY(mutex_);
  std::vector<MockLink*> incoming_ OMPL_GUARDED_BY(mutex_);
  bool broken_ OMPL_GUARDED_BY(mutex_) = false;
  bool closed_ OMPL_GUARDED_BY(mutex_) = false;
};

struct MockOperation {
  enum class Kind : uint8_t { put, get, signal };
  Kind kind = Kind::signal;
  bool held = false;           // `local` is the program's memory and in use
  std::byte* local = nullptr;  // source of a put, target of a get
  std::vector<std::byte> copy = {};
  uint64_t offset = 0;
  std::size_t left = 0;  // bytes not moved yet
  Signal record = {};
  uint64_t ticket = 0;
  std::size_t delay = 0;
};

class MockLink {
 public:
  MockLink(Wire& wire, uint32_t source, uint32_t slot, uint32_t target, Port& from, Port& to);

  [[nodiscard]] uint32_t source() const { return source_; }
  [[nodiscard]] uint32_t target() const { return target_; }
  [[nodiscard]] uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  [[nodiscard]] int failure() const { return failure_.load(std::memory_order_acquire); }

  // The initiator's side.
  Post post(MockOperation op);
  int advance(int budget);  // takes completions, connects, notices that the link broke
  void learn();             // notices that the link broke, if it has
  [[nodiscard]] bool initiator_has_work();
  [[nodiscard]] bool takes_what_it_refused();
  void fail(
      int code);  // nothing is carried any more, what is outstanding is dropped, failure() says so

  // The target's side.
  void accept();
  [[nodiscard]] bool target_has_work();
  void record_taken(const Signal& record);  // gives its place in the receive queue back

  // Moves what is due, at most `budget` operations. By the target, and if targets are passive by the
  // initiator too, as if there were hardware.
  int carry(int budget);

  // Nothing is carried any more; the initiator learns of it by and by. Any thread.
  void break_now(int code);
  void target_departs();  // its endpoint is closed
  [[nodiscard]] bool target_departed() const { return departed_.load(std::memory_order_acquire); }
  std::string describe();

 private:
  enum class State : uint8_t { idle, requested, accepted, open };
  struct Finished {
    uint64_t ticket;
    std::size_t delay;
  };

  void check(const MockOperation& op) const;
  [[nodiscard]] bool is_full() const OMPL_REQUIRES(mutex_) {
    return queue_.size() + finished_.size() >= wire_.hostility().send_depth;
  }
  Post enqueue(MockOperation op);
  Post refuse() OMPL_REQUIRES(mutex_);
  void strike() OMPL_REQUIRES(mutex_);  // injected faults that are due at this post
  bool may_move(MockOperation& op, bool put_ahead, bool record_ahead) OMPL_REQUIRES(mutex_);
  bool move(MockOperation& op) OMPL_REQUIRES(mutex_);
  void move_data(MockOperation& op) OMPL_REQUIRES(mutex_);
  int stage() OMPL_REQUIRES(mutex_);
  int take_completions(int budget) OMPL_REQUIRES(mutex_);
  void finish(uint64_t ticket) OMPL_REQUIRES(mutex_);
  void drop() OMPL_REQUIRES(mutex_);
  void fail_now() OMPL_REQUIRES(mutex_);

  Wire& wire_;
  const uint32_t source_, slot_, target_;
  Port& from_;
  Port& to_;
  std::vector<Fault> faults_;

  Mutex mutex_;
  Dice dice_ OMPL_GUARDED_BY(mutex_);
  State state_ OMPL_GUARDED_BY(mutex_) = State::idle;
  bool refused_ OMPL_GUARDED_BY(mutex_) = false;  // the last post, for want of a connection or room
  std::size_t accept_delay_ OMPL_GUARDED_BY(mutex_) = 0;
  int broken_ OMPL_GUARDED_BY(mutex_) = OMPL_OK;  // why nothing is carried any more
  uint64_t posted_ OMPL_GUARDED_BY(mutex_) = 0;   // operations
  uint64_t ticket_ OMPL_GUARDED_BY(mutex_) = 0;   // the last given out
  std::deque<MockOperation> queue_ OMPL_GUARDED_BY(mutex_);
  std::deque<Finished> finished_
      OMPL_GUARDED_BY(mutex_);                       // completions the initiator has not taken yet
  std::set<uint64_t> done_ OMPL_GUARDED_BY(mutex_);  // taken, but an earlier ticket is not

  std::atomic<uint64_t> completed_{0};
  std::atomic<int> failure_{OMPL_OK};
  std::atomic<bool> departed_{false};
  std::atomic<std::size_t> records_{0};  // credited records not yet given to the target's sink
};

}  // namespace ompl::conduit::mock
