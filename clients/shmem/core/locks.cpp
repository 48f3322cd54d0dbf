// SPDX-License-Identifier: BSD-3-Clause
// Locks: the queue of Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory multiprocessors"
// (1991), in the one `long` that the lock is on every PE. Each PE waits on its own word, so waiting sends nothing, and the
// lock goes to PEs in the order in which they asked for it.
//
// On the PE that is the lock's home the low half of the word is the tail: the number of the last PE in the queue + 1, or 0.
// On every PE the high half is the PE's own place in the queue: the number of the PE behind it + 1, and a bit that says that
// the PE before it has passed the lock on. Threads of one PE queue up before they join the queue of the PEs.
#include <chrono>
#include <condition_variable>
#include <map>

#include "core/state.hpp"

namespace shmem_core {
namespace {

constexpr uint32_t kGranted = uint32_t{1} << 31;
constexpr uint64_t kPlace = 4;  // bytes into the word, of the high half
constexpr std::chrono::milliseconds kPatience{1};

static_assert(sizeof(long) == 8, "both halves of a lock have 32 bits");

// The turns of the threads of this PE at one lock.
struct Turns {
  uint64_t next = 0;
  uint64_t serving = 0;
  std::size_t interested = 0;
};

std::mutex mutex;  // of the turns
std::condition_variable turn_ended;
std::map<uint64_t, Turns>& all_turns() {
  static auto* const map = new std::map<uint64_t, Turns>;
  return *map;
}

void wait_for_turn(uint64_t lock) {
  std::unique_lock guard(mutex);
  Turns& turns = all_turns()[lock];
  ++turns.interested;
  const uint64_t mine = turns.next++;
  while (!turn_ended.wait_for(guard, kPatience, [&] { return turns.serving == mine; })) {
    guard.unlock();  // other PEs may need this one's progress
    ompl_progress(OMPL_CTX_DEFAULT, 0);
    guard.lock();
  }
}

bool try_turn(uint64_t lock) {
  const std::lock_guard guard(mutex);
  Turns& turns = all_turns()[lock];
  if (turns.next != turns.serving) return false;
  ++turns.interested;
  ++turns.next;
  return true;
}

bool is_held(uint64_t lock) {
  const std::lock_guard guard(mutex);
  return all_turns().contains(lock);
}

void end_turn(uint64_t lock) {
  {
    const std::lock_guard guard(mutex);
    Turns& turns = all_turns()[lock];
    ++turns.serving;
    if (--turns.interested == 0) all_turns().erase(lock);
  }
  turn_ended.notify_all();
}

// Locks at different addresses have different homes.
uint32_t home(uint64_t lock) {
  return static_cast<uint32_t>(lock / sizeof(long) % static_cast<uint64_t>(state().pes));
}

uint32_t me() { return static_cast<uint32_t>(state().pe); }

int change(uint32_t pe, uint64_t word, int op, uint32_t operand, uint32_t compare, uint32_t* before) {
  return ompl_ctx_atomic32(OMPL_CTX_DEFAULT, pe, word, op, operand, compare, before, OMPL_FOREVER);
}

// Empties the own place, which nobody knows of yet.
int clear_place(uint64_t lock) {
  uint32_t before = 0;
  return change(me(), lock + kPlace, OMPL_ATOMIC_SET, 0, 0, &before);
}

int wait_for(uint64_t lock, uint32_t comparison, uint32_t value) {
  const ompl_condition condition = {
      .flag_addr = lock + kPlace, .value = value, .comparison = comparison, .width = 32};
  return ompl_wait_memory(OMPL_CTX_DEFAULT, &condition, OMPL_FOREVER);
}

int enter_queue(uint64_t lock) {
  if (const int code = clear_place(lock); code != OMPL_OK) return code;
  uint32_t last = 0;
  if (const int code = change(home(lock), lock, OMPL_ATOMIC_SET, me() + 1, 0, &last); code != OMPL_OK)
    return code;
  if (last == 0) return OMPL_OK;
  uint32_t before = 0;
  if (const int code = change(last - 1, lock + kPlace, OMPL_ATOMIC_OR, me() + 1, 0, &before);
      code != OMPL_OK)
    return code;
  if (const int code = wait_for(lock, OMPL_GE, kGranted); code != OMPL_OK) return code;
  return change(me(), lock + kPlace, OMPL_ATOMIC_AND, ~kGranted, 0, &before);
}

int leave_queue(uint64_t lock) {
  uint32_t last = 0;
  if (const int code = change(home(lock), lock, OMPL_ATOMIC_CSWAP, 0, me() + 1, &last); code != OMPL_OK)
    return code;
  if (last == me() + 1) return OMPL_OK;  // nobody is behind
  if (const int code = wait_for(lock, OMPL_NE, 0); code != OMPL_OK) return code;
  uint32_t next = 0;
  if (const int code = change(me(), lock + kPlace, OMPL_ATOMIC_SET, 0, 0, &next); code != OMPL_OK)
    return code;
  return change(next - 1, lock + kPlace, OMPL_ATOMIC_OR, kGranted, 0, nullptr);
}

int lock_offset(const long* lock, uint64_t* offset) {
  *offset = offset_of(lock, sizeof *lock);
  if (*offset == 0) return not_symmetric(lock, sizeof *lock);
  if (*offset % sizeof(long) != 0)
    return refuse(OMPL_ERR_ALIGN, "the lock %p is not aligned", static_cast<const void*>(lock));
  return OMPL_OK;
}

}  // namespace

int set_lock(long* lock) {
  uint64_t offset = 0;
  if (const int code = lock_offset(lock, &offset); code != OMPL_OK) return code;
  wait_for_turn(offset);
  return enter_queue(offset);
}

int clear_lock(long* lock) {
  uint64_t offset = 0;
  if (const int code = lock_offset(lock, &offset); code != OMPL_OK) return code;
  if (!is_held(offset))
    return refuse(OMPL_ERR_STATE, "this PE has not set the lock %p", static_cast<void*>(lock));
  if (const int code = quiet(SHMEM_CTX_DEFAULT); code != OMPL_OK) return code;
  const int code = leave_queue(offset);
  end_turn(offset);
  return code;
}

int test_lock(long* lock, int* result) {
  uint64_t offset = 0;
  *result = 1;
  if (const int code = lock_offset(lock, &offset); code != OMPL_OK) return code;
  progress_in_loops();
  if (!try_turn(offset)) return OMPL_OK;
  uint32_t before = 1;
  int code = clear_place(offset);
  if (code == OMPL_OK) code = change(home(offset), offset, OMPL_ATOMIC_CSWAP, me() + 1, 0, &before);
  if (code == OMPL_OK && before == 0) {
    *result = 0;
    return OMPL_OK;
  }
  end_turn(offset);
  return code;
}

}  // namespace shmem_core
