// SPDX-License-Identifier: BSD-3-Clause
// Dependences by tags. A tag has two words for each other rank in the segment of each rank. In `ready` the rank's task with PUT or GET is told that it may
// go on, in `done` the one with PUT_READY or GET_READY that the put or get is over. A word counts: 1 for each signal, kFailed
// for each of a task that failed. Only the task that waits takes from it.
#include <mutex>
#include <utility>

#include "core/runtime.hpp"
#include "core/trace.hpp"

namespace tasklet {
namespace {

std::atomic<uint32_t>& word_at(const Runtime& r, uint64_t offset) {
  return *static_cast<std::atomic<uint32_t>*>(ompl_ptr(r.rank, offset));
}

bool selected(const Clause& clause, uint32_t kinds) {
  return (kinds >> clause.kind & 1) != 0 && !clause.left_out;
}

// What a clause waited for is there, or will never be.
void settle(const Runtime& r, Clause& clause, int code) {
  if (code == OMPL_OK) code = take_tag(r, clause.kind, clause.rank, clause.tag);
  place_of(r, clause.kind, clause.rank, clause.tag).used.store(false, std::memory_order_release);
  if (code != OMPL_OK) clause.task->fail(code);
}

void arrived(void* argument, int code) {
  Clause& clause = *static_cast<Clause*>(argument);
  Runtime& r = *runtime();
  r.activity.fetch_add(1, std::memory_order_relaxed);
  settle(r, clause, code);
  unblock(clause.task);
}

// True if there is nothing to wait for.
bool begin_wait(const Runtime& r, Clause& clause) {
  const uint64_t offset = tag_word(r, clause.kind, clause.rank, clause.tag);
  int code = OMPL_OK;
  if (word_at(r, offset).load(std::memory_order_acquire) == 0 || is_traced()) {
    const ompl_condition condition = {offset, 0, OMPL_NE, 32};
    clause.trace_wait = trace_wait(true);
    code = ompl_flag_then(&clause.watch, &condition, arrived, &clause);
    if (code == OMPL_OK) return false;
  }
  settle(r, clause, code);
  return true;
}

}  // namespace

uint64_t tag_word(const Runtime& r, int32_t kind, uint32_t rank, uint32_t tag) {
  return r.tag_words + 8 * (uint64_t{tag} * r.size + rank) + (asks(kind) ? 0 : 4);
}

TagPlace& place_of(const Runtime& r, int32_t kind, uint32_t rank, uint32_t tag) {
  return r.places[2 * (std::size_t{tag} * r.size + rank) + (asks(kind) ? 0 : 1)];
}

int take_tag(const Runtime& r, int32_t kind, uint32_t rank, uint32_t tag) {
  std::atomic<uint32_t>& word = word_at(r, tag_word(r, kind, rank, tag));
  const uint32_t value = word.load(std::memory_order_acquire);
  const uint32_t taken = value >= kHopeless ? kHopeless : value >= kFailed ? kFailed : 1;
  word.fetch_sub(taken, std::memory_order_acq_rel);
  if (taken == 1) return OMPL_OK;
  return taken == kFailed ? OMPL_TASKLET_ERR_FAILED : OMPL_TASKLET_ERR_DEADLOCK;
}

void claim_places(Runtime& r, Task& task, uint32_t kinds) {
  for (Clause& clause : task.clauses) {
    if (!selected(clause, kinds)) continue;
    TagPlace& place = place_of(r, clause.kind, clause.rank, clause.tag);
    if (place.used.exchange(true, std::memory_order_acq_rel)) {
      clause.left_out = true;
      task.fail(OMPL_TASKLET_ERR_TAG);
      continue;
    }
    place.kind.store(clause.kind, std::memory_order_relaxed);
    place.name.store(task.name, std::memory_order_relaxed);
  }
}

bool send_tags(Runtime& r, Task& task, uint32_t kinds) {
  for (; task.told < task.clauses.size(); ++task.told) {
    const Clause& clause = task.clauses[task.told];
    if (!selected(clause, kinds)) continue;
    const bool failed = task.error.load(std::memory_order_acquire) != OMPL_OK;
    // The other side waits in the word of its own kind.
    const int32_t other = asks(clause.kind) ? OMPL_TASKLET_PUT_READY : OMPL_TASKLET_PUT;
    const ompl_signal signal = {tag_word(r, other, r.rank, clause.tag), failed ? kFailed : 1,
                                OMPL_ADD32};
    const int code = ompl_signal_nb(task.context, clause.rank, &signal);
    if (code > 0) return false;
    if (code < 0) task.fail(code);
  }
  return true;
}

bool await_tags(Runtime& r, Task& task, uint32_t kinds) {
  uint32_t count = 0;
  for (const Clause& clause : task.clauses) count += selected(clause, kinds) ? 1 : 0;
  if (count == 0) return true;
  task.blockers.store(count + 1, std::memory_order_relaxed);  // 1 for this function
  for (Clause& clause : task.clauses) {
    if (selected(clause, kinds) && begin_wait(r, clause))
      task.blockers.fetch_sub(1, std::memory_order_acq_rel);
  }
  return task.blockers.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace tasklet
