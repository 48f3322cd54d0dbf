// SPDX-License-Identifier: BSD-3-Clause
#include "core/job/collective.hpp"

#include <new>

#include "core/calls/scope.hpp"
#include "core/data/operations.hpp"
#include "core/wait/block.hpp"
#include "core/wait/conditions.hpp"
#include "util/status.hpp"

namespace ompl {

namespace {

// A hash of what a rank calls, never 0 (the finalizer of splitmix64).
uint64_t signature(uint64_t kind, uint64_t argument) {
  uint64_t x = argument * 8 + kind;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return (x ^ (x >> 31)) | 1;
}

constexpr uint32_t kUnlike =
    uint32_t{1} << 20;  // in the word of shortages: ranks whose neighbour calls something else

}  // namespace

// Dissemination barrier (Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988): in
// round k rank r signals r + 2^k and waits for r - 2^k; ceil(log2 n) rounds. The flags count, so a rank that
// runs ahead into the next barrier does no harm.
int CollectiveCalls::run_barrier(Context& context, Deadline deadline) {
  failures_.take_in_reports();
  if (failures_.world_failure() != OMPL_OK) return failures_.report_world_failure();
  const uint64_t rank = members_.rank();
  const uint32_t size = members_.size();
  Caller caller(context);
  if (barrier_round_ == 0 && !barrier_signalled_) {
    if (const int code = quiet(context, deadline); code != OMPL_OK) return code;
  }
  for (; (uint64_t{1} << barrier_round_) < size; ++barrier_round_, barrier_signalled_ = false) {
    const uint64_t flag = barrier_flag(barrier_round_);
    const auto to = static_cast<uint32_t>((rank + (uint64_t{1} << barrier_round_)) % size);
    if (!barrier_signalled_) {
      Context& c = caller.now();
      if (const int code = signal_any(c, to, {.offset = flag}, deadline); code != OMPL_OK) return code;
      barrier_signalled_ = true;
    }
    const auto from = static_cast<uint32_t>((rank + size - (uint64_t{1} << barrier_round_)) % size);
    if (const int code = wait_flag(caller.now(), flag, Call::barrier, deadline, from); code != OMPL_OK)
      return code;
  }
  barrier_open_ = false;
  ++barriers_;
  return OMPL_OK;
}

// A rank that has stopped comes to nothing but the last barrier. It came to all that others are in already, so what began is not
// ended by it.
int CollectiveCalls::look_for_stopped() const {
  const uint32_t rank = failures_.some_stopped();
  if (rank == kNoRank || leaving_) return OMPL_OK;
  return fail(OMPL_ERR_STATE,
              "a collective function of all ranks: rank {} has called ompl_stop, and takes part in "
              "ompl_finalize alone; let those that go on use teams and flags",
              rank);
}

// Goes on with the one that timed out, if any.
int CollectiveCalls::barrier(Context& c, Deadline deadline) {
  if (const int code = calls::may_wait("ompl_barrier"); code != OMPL_OK) return code;
  const CollectiveActivity call(c.activity, Call::barrier);
  if (!barrier_open_) {
    if (const int code = look_for_stopped(); code != OMPL_OK) return code;
    barrier_open_ = true;
    barrier_round_ = 0;
    barrier_signalled_ = false;
  }
  return run_barrier(c, deadline);
}

// What the left neighbour calls.
int CollectiveCalls::await_call(Context& c, uint64_t* call) {
  const auto word = arch::word64(memory_.segment().base() + kCallWord);
  const Blocked what{.call = Call::barrier,
                     .awaited = (members_.rank() + members_.size() - 1) % members_.size(),
                     .offset = kCallWord,
                     .bucket = &bucket_of(memory_.header(), kCallWord),
                     .world = true};
  return Blocker(c, what, Deadline::never()).run([&] {
    *call = word.load();
    return *call != 0 ? 1 : 0;
  });
}

// A barrier before which each rank tells its right neighbour what it calls, and whoever is short of memory, or has a
// neighbour that calls something else, tells all. The word of shortages is one of two in turn: a quick rank may already
// tell of the next collective while a slow one still looks at this one's.
int CollectiveCalls::agree(Context& c, Kind kind, uint64_t argument, bool short_of_memory,
                           Agreement* out) {
  Caller caller(c);
  if (barrier_open_) {  // one that timed out
    if (const int code = barrier(c); code != OMPL_OK) return code;
  }
  if (const int code = look_for_stopped(); code != OMPL_OK) return code;
  const uint64_t shortage = kShortageFlag + sizeof(uint32_t) * (agreements_++ % 2);
  const uint64_t call = signature(static_cast<uint64_t>(kind), argument);
  uint64_t theirs = call;
  const uint32_t size = members_.size();
  if (size > 1) {
    const Signal mine{.offset = kCallWord, .value = call, .op = SignalOp::update64};
    int code = signal_any(caller.now(), (members_.rank() + 1) % size, mine, Deadline::never());
    if (code == OMPL_OK) code = await_call(caller.now(), &theirs);
    if (code != OMPL_OK) return code;
    arch::word64(memory_.segment().base() + kCallWord).fetch_sub(theirs);
  }
  const uint64_t said = (short_of_memory ? 1 : 0) + (theirs != call ? kUnlike : 0);
  for (uint32_t rank = 0; rank < size && said != 0; ++rank) {
    const Signal word{.offset = shortage, .value = said};
    const int told = signal_any(caller.now(), rank, word, Deadline::never());
    if (told != OMPL_OK) return told;
  }
  if (const int met = barrier(caller.now()); met != OMPL_OK) return met;
  const uint32_t heard = arch::word32(memory_.segment().base() + shortage).exchange(0);
  *out = {.alike = heard < kUnlike, .short_of_memory = heard % kUnlike};
  return OMPL_OK;
}

int CollectiveCalls::alloc(Context& c, std::size_t size, uint64_t* offset) {
  return alloc(c, size, size, offset);
}

int CollectiveCalls::alloc(Context& c, std::size_t size, std::size_t first, uint64_t* offset) {
  if (const int code = calls::may_wait("ompl_alloc"); code != OMPL_OK) return code;
  const CollectiveActivity call(c.activity, Call::alloc);
  const bool usable = size != 0 && offset != nullptr;
  uint64_t begin = 0;
  // Known here before any other rank can use it: the barrier below lets them.
  const int code = usable ? memory_.allocate(size, first, &begin) : OMPL_OK;
  Agreement all;
  const int met = agree(c, Kind::alloc, usable ? size : 0, code != OMPL_OK, &all);
  if (met == OMPL_OK && usable && all.alike && all.short_of_memory == 0) {
    *offset = begin;
    return OMPL_OK;
  }
  if (begin != 0) {
    memory_.withdraw(begin);
    memory_.release(begin, size);
  }
  if (!usable)
    return fail(OMPL_ERR_ARG, "ompl_alloc: {}",
                size == 0 ? "the size is 0" : "the result pointer is null");
  if (met != OMPL_OK || code != OMPL_OK) return met != OMPL_OK ? met : code;
  if (!all.alike)
    return fail(OMPL_ERR_ARG,
                "ompl_alloc: not all ranks ask for {} bytes, or some call something else; collective "
                "functions need the same call with the same arguments on every rank",
                size);
  return fail(OMPL_ERR_MEMORY, "ompl_alloc: {} other rank(s) are short of memory", all.short_of_memory);
}

int CollectiveCalls::free(Context& c, uint64_t offset) {
  if (const int code = calls::may_wait("ompl_free"); code != OMPL_OK) return code;
  const CollectiveActivity call(c.activity, Call::free);
  Extent found;
  const bool usable = memory_.is_symmetric(offset) && !memory_.is_adopted(offset, true) &&
                      memory_.allocations().find(offset, &found) && found.begin == offset;
  if (usable) {
    if (const int code = quiet_all(c); code != OMPL_OK) return code;
  }
  Agreement all;
  const int met = agree(c, Kind::free, offset, false, &all);
  if (!usable)
    return fail(OMPL_ERR_OFFSET,
                "ompl_free: {:#x} is not what an ompl_alloc returned, or was freed before", offset);
  if (met != OMPL_OK) return met;
  if (!all.alike)
    return fail(OMPL_ERR_ARG,
                "ompl_free: not all ranks free {:#x}, or some call something else; nothing was freed",
                offset);
  memory_.withdraw(offset);
  contexts_.close_windows();
  memory_.release(offset, found.length);
  return OMPL_OK;
}

int CollectiveCalls::adopt(Context& c, void* address, std::size_t length, uint64_t* offset) {
  if (const int code = calls::may_wait("ompl_adopt"); code != OMPL_OK) return code;
  uint64_t begin = 0;
  int code = OMPL_OK;
  try {
    code = offset != nullptr ? memory_.adopt(address, length, &begin)
                             : fail(OMPL_ERR_ARG, "ompl_adopt: the result pointer is null");
  } catch (const std::bad_alloc&) {  // told to the others as any shortage
    code = fail(OMPL_ERR_MEMORY, "ompl_adopt: out of memory");
  }
  Agreement all;
  const int met = agree(c, Kind::adopt, length, code != OMPL_OK, &all);
  if (met == OMPL_OK && code == OMPL_OK && all.alike && all.short_of_memory == 0) {
    *offset = begin;
    return OMPL_OK;
  }
  if (begin != 0 && memory_.prepare_restore(begin, "ompl_adopt") == OMPL_OK)
    give_back_adopted(begin, "ompl_adopt");
  if (met != OMPL_OK || code != OMPL_OK) return met != OMPL_OK ? met : code;
  if (!all.alike)
    return fail(OMPL_ERR_ARG, "ompl_adopt: not all ranks adopt {} bytes, or some call something else",
                length);
  return fail(OMPL_ERR_MEMORY, "ompl_adopt: {} other rank(s) cannot adopt their memory",
              all.short_of_memory);
}

int CollectiveCalls::unadopt(Context& c, uint64_t offset) {
  if (const int code = calls::may_wait("ompl_unadopt"); code != OMPL_OK) return code;
  const bool usable = memory_.is_adopted(offset, true);
  int code = OMPL_OK;
  if (usable) {
    if (code = quiet_all(c); code != OMPL_OK) return code;
    code = memory_.prepare_restore(offset, "ompl_unadopt");
  }
  Agreement all;
  const int met = agree(c, Kind::unadopt, offset, code != OMPL_OK, &all);
  if (!usable)
    return fail(OMPL_ERR_OFFSET, "ompl_unadopt: {:#x} is not what an ompl_adopt returned", offset);
  if (met == OMPL_OK && code == OMPL_OK && all.alike && all.short_of_memory == 0) {
    return give_back_adopted(offset, "ompl_unadopt");
  }
  memory_.cancel_restore(offset);
  if (met != OMPL_OK || code != OMPL_OK) return met != OMPL_OK ? met : code;
  if (!all.alike)
    return fail(OMPL_ERR_ARG, "ompl_unadopt: not all ranks give up {:#x}; nothing was given up",
                offset);
  return fail(OMPL_ERR_MEMORY, "ompl_unadopt: {} other rank(s) are short of memory",
              all.short_of_memory);
}

// What prepare_restore() was called for.
int CollectiveCalls::give_back_adopted(uint64_t offset, const char* what) {
  if (const int code = memory_.restore(offset, what); code != OMPL_OK) return code;
  contexts_.close_windows();
  memory_.release_adopted(offset);
  return OMPL_OK;
}

int CollectiveCalls::unadopt_local(uint64_t offset) {
  if (!memory_.is_adopted(offset, false)) {
    return fail(OMPL_ERR_OFFSET,
                "ompl_unadopt_local: {:#x} is not what an ompl_adopt_local returned here", offset);
  }
  const int code = memory_.prepare_restore(offset, "ompl_unadopt_local");
  return code == OMPL_OK ? give_back_adopted(offset, "ompl_unadopt_local") : code;
}

void CollectiveCalls::release_team(uint64_t offset) {
  memory_.withdraw(offset);
  contexts_.close_windows();
  memory_.release_team(offset);
}

// Not collective. Whoever may still have a window on it is shut out before the memory can be given away again.
int CollectiveCalls::free_local(uint64_t offset) {
  std::size_t size = 0;
  if (const int code = memory_.withdraw_local(offset, &size); code != OMPL_OK) return code;
  contexts_.close_windows();
  memory_.release_local(offset, size);
  return OMPL_OK;
}

int CollectiveCalls::agree_to_finalize(Context& c, bool* alike) {
  Agreement all;
  const int code = agree(c, Kind::finalize, 0, false, &all);
  *alike = all.alike;
  return code;
}

}  // namespace ompl
