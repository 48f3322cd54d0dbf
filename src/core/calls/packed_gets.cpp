// SPDX-License-Identifier: BSD-3-Clause
#include "core/calls/packed_gets.hpp"

#include <algorithm>

#include "core/calls/packing.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl::calls {

PackedLanding& PackedGets::memory(const Landing& landing) const {
  const auto place = static_cast<uint32_t>(&landing - landings_.data());
  return *reinterpret_cast<PackedLanding*>(runtime_.memory.segment().base() + begin_ +
                                           layout_.landing(place));
}

uint32_t PackedGets::count_of(const Landing& landing) const {
  return std::atomic_ref(memory(landing).count).load(std::memory_order_seq_cst);
}

bool PackedGets::arrived(const Landing& landing) const { return count_of(landing) == landing.expected; }

void PackedGets::bring(Landing& landing) {
  const PackedLanding& there = memory(landing);
  if (there.code != OMPL_OK) {
    landing.ended =
        fail(OMPL_ERR_OFFSET,
             "a packed get: rank {} has no memory at its places any more; see what it has logged",
             landing.rank);
    return;
  }
  landing.shape->scatter(Side::local, landing.local, landing.first, landing.count, there.elements);
  landing = {};
}

// An error is told to who asks by the number, and to who completes the context.
void PackedGets::tell(Landing& landing, bool by_number) {
  if (by_number || !landing.handle) landing.number = kTold;
  if (!by_number) landing.context = nullptr;
  landing.shape.reset();
}

// 1: none of `mine` is under way; 0; or an error, once none is. A failure is looked for before the count: after it nothing comes
// that is waited for.
template <class Mine>
int PackedGets::look(Mine mine) {
  bool pending = false;
  int error = OMPL_OK;
  for (Landing& one : landings_) {
    if (one.number == 0 || one.number == kTold || !mine(one)) continue;
    const int failure = runtime_.failures.peer(one.rank).failure.load();
    if (one.ended == OMPL_OK) {
      if (arrived(one)) {
        bring(one);
      } else if (failure != OMPL_OK) {
        one.ended = failure;
      } else {
        pending = true;
      }
    }
    if (one.ended != OMPL_OK) error = one.ended;
  }
  return pending ? 0 : error != OMPL_OK ? error : 1;
}

int PackedGets::test(uint64_t number) {
  const std::scoped_lock lock(mutex_);
  const auto mine = [number](const Landing& one) { return one.number == number; };
  const int state = look(mine);
  if (state >= 0) return state;
  for (Landing& one : landings_) {
    if (mine(one)) tell(one, true);
  }
  return state == OMPL_ERR_OFFSET ? state : runtime_.failures.report_failure();
}

int PackedGets::test_all(const Context& c, uint32_t rank) {
  const std::scoped_lock lock(mutex_);
  const auto mine = [&](const Landing& one) { return one.context == &c && one.rank == rank; };
  const int state = look(mine);
  if (state >= 0) return state;
  for (Landing& one : landings_) {
    if (one.number != 0 && mine(one)) tell(one, false);
  }
  return state == OMPL_ERR_OFFSET ? state : runtime_.failures.report_failure();
}

void PackedGets::give_up(const Context& c, uint32_t rank) {
  const std::scoped_lock lock(mutex_);
  for (Landing& one : landings_) {
    if (one.number == 0 || one.context != &c || one.rank != rank) continue;
    if (one.ended == OMPL_OK) one.ended = OMPL_ERR_PEER;
    tell(one, false);
  }
}

void PackedGets::disown(uint64_t number) {
  const std::scoped_lock lock(mutex_);
  for (Landing& one : landings_) {
    if (one.number == number) tell(one, true);
  }
}

bool PackedGets::any() {
  const std::scoped_lock lock(mutex_);
  return look([](const Landing&) { return true; }) == 0;
}

// Its memory: once what was asked for has come, or nothing of that rank can come any more.
bool PackedGets::may_serve_again(const Landing& landing) const {
  if (landing.number == 0) return true;
  if (landing.number != kTold) return false;
  return arrived(landing) || (runtime_.failures.peer(landing.rank).failure.load() == OMPL_ERR_PEER &&
                              nothing_can_come(runtime_, landing.rank));
}

// Packing::kNotPacked: no landing will be free, unless one that is out of reach comes back.
int PackedGets::reserve(Context& c, const Wanted& wanted, uint64_t number, std::size_t first,
                        std::size_t count, uint32_t* place) {
  const std::scoped_lock lock(mutex_);
  const bool moves = look([](const Landing&) { return true; }) == 0;
  const auto found =
      std::ranges::find_if(landings_, [this](const Landing& one) { return may_serve_again(one); });
  if (found == landings_.end()) return moves ? OMPL_RETRY_FULL : Packing::kNotPacked;
  *place = static_cast<uint32_t>(found - landings_.begin());
  *found = {.number = number,
            .context = &c,
            .handle = wanted.handle,
            .rank = wanted.rank,
            .expected = 0,
            .ended = OMPL_OK,
            .first = first,
            .count = count,
            .shape = wanted.shape,
            .local = wanted.local};
  found->expected = count_of(*found) + 1;
  return OMPL_OK;
}

void PackedGets::release(uint32_t place) {
  const std::scoped_lock lock(mutex_);
  landings_[place] = {};
}

int PackedGets::post(Context& c, const Wanted& wanted, uint64_t number, std::size_t first,
                     std::size_t count) {
  uint32_t place = 0;
  int code = reserve(c, wanted, number, first, count, &place);
  if (code != OMPL_OK) return code;
  code = Packing::request(outgoing_, c, wanted.rank, wanted.offset, *wanted.shape, first, count, place);
  if (code != OMPL_OK) release(place);
  return code == OMPL_ERR_MEMORY ? Packing::kNotPacked : code;
}

int PackedGets::ask(Caller& caller, const Wanted& wanted, bool once, uint64_t* number) {
  *number = next_.fetch_add(1) + 1;
  const std::size_t fits = Packing::landing_capacity(*wanted.shape);
  const std::size_t all = wanted.shape->elements();
  for (std::size_t first = 0; first < all;) {
    const std::size_t count = std::min(fits, all - first);
    int code = post(caller.now(), wanted, *number, first, count);
    if (first == 0 && (code == Packing::kNotPacked || (once && is_retry(code)))) return code;
    if (is_retry(code)) {
      const Blocked what{.call = Call::get, .peer = wanted.rank, .keeps_thread = first != 0};
      Blocker blocker(caller.now(), what, Deadline::never());
      code = blocker.run([&] {
        code = post(blocker.context(), wanted, *number, first, count);
        if (code == OMPL_RETRY_BUSY) blocker.stay_awake();
        return is_retry(code) ? 0 : code == OMPL_OK ? 1 : code;
      });
    }
    if (code == Packing::kNotPacked && first != 0)
      code = fail(OMPL_ERR_LINK, "a packed get: {} ranks went out of reach before they answered",
                  kLandings);
    if (code != OMPL_OK) {
      if (first != 0) disown(*number);
      return code;
    }
    first += count;
  }
  return OMPL_OK;
}

}  // namespace ompl::calls
