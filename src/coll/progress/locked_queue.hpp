// SPDX-License-Identifier: BSD-3-Clause
// For measurement only (OMPL_COLL_SCHEDULER=locked-queue): a queue of tasks under a lock, from which the calling threads and the
// progress thread both take, as MVAPICH2 has one. It carries out the same schedules, and shows what the lock costs ("Performance tuning of
// nonblocking collective communication with progress threads", sections 2 and 4.4.3).
//
// It is part of the library, not of the instruments: every start, turn and wake-up of a tag queue goes through it where it is used, and
// no hook reaches those places without a cost to the lock-free way.
//
// A task is a tag queue whose oldest request is under way. Who takes it does those steps of one round that are ready, and puts it back.
#pragma once

#include <cstdint>
#include <deque>

#include "util/mutex.hpp"

namespace ompl {
class Context;
}

namespace ompl::coll {

class TagQueue;

class LockedQueue {
 public:
  // A tag queue of which a request was started. Any thread.
  void add(TagQueue& queue);

  // Takes tasks until none of them moves, without waiting; `again` as in TagQueue::drive(). Any thread.
  void drive(Context& c, bool* again);

 private:
  // Nullptr: all that are here have been looked at, `seen` of them.
  TagQueue* take(std::size_t seen, bool* again);
  void put_back(TagQueue& queue);

  Mutex mutex_;
  std::deque<TagQueue*> tasks_ OMPL_GUARDED_BY(mutex_);  // each tag queue at most once
  uint32_t taken_ OMPL_GUARDED_BY(mutex_) = 0;           // tasks that are not in the queue meanwhile
};

}  // namespace ompl::coll
