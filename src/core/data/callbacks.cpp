// SPDX-License-Identifier: BSD-3-Clause
// Progress asked for by the program, and the callbacks that run there and nowhere else. Protocol rule 3.
#include <utility>

#include "core/job/runtime.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl {

int Runtime::call_back(Handle& handle, ompl_callback_fn callback, void* argument) {
  if (callback == nullptr) return fail(OMPL_ERR_ARG, "ompl_handle_then: the callback is null");
  handle.callback = callback;
  handle.argument = argument;
  callbacks_.add(&handle);
  wake_own_completions();
  return OMPL_OK;
}

int Runtime::call_back(Context& c, Watch& watch, const ompl_condition& condition,
                       ompl_callback_fn callback, void* argument) {
  if (const int code = check_condition(c, condition, "ompl_flag_then"); code != OMPL_OK) return code;
  if (callback == nullptr) return fail(OMPL_ERR_ARG, "ompl_flag_then: the callback is null");
  watch = {};
  watch.kind = Pending::Kind::flag;
  watch.condition = condition;
  watch.callback = callback;
  watch.argument = argument;
  callbacks_.add(&watch);
  wake_own_completions();
  return OMPL_OK;
}

// Whether an entry is over; it then knows how it ended.
bool Runtime::settle(Context& c, Pending& entry) {
  if (entry.kind == Pending::Kind::flag) {
    const bool met = try_consume(static_cast<const Watch&>(entry).condition);
    entry.code = met ? OMPL_OK : OMPL_ERR_PEER;
    return met || hopeless();
  }
  const int state = test(c, static_cast<Handle&>(entry));
  if (state != 0) ompl_window_fence();
  entry.code = state < 0 ? state : OMPL_OK;
  return state != 0;
}

int Runtime::progress(Context& c, Deadline deadline) {
  look_for_deaths();
  bool busy = false;
  const auto is_over = [&](Pending& entry) { return settle(c, entry); };
  if (network_ != nullptr) network_->sender.send_held(c);
  const bool found = network_ != nullptr && network_->pool.progress(c, c.preferred_slot);
  Pending* over = callbacks_.collect(is_over, &busy);
  if (!found && over == nullptr && !deadline.immediate()) {
    const Blocked what{.call = Call::progress, .bucket = &segment_.header().any};
    Blocker blocker(*this, c, what, deadline);
    const int code = blocker.run([&] {
      over = callbacks_.collect(is_over, &busy);
      if (busy) blocker.stay_awake();
      return over != nullptr ? 1 : 0;
    });
    if (code == OMPL_ERR_TIMEOUT) return 0;
    if (code != OMPL_OK) {  // a death, say: whom it concerns is told first
      over = callbacks_.collect(is_over, &busy);
      if (over == nullptr) return code;
    }
  }
  const bool any = found || over != nullptr;
  while (over != nullptr) {
    Pending* const entry = std::exchange(over, over->next);
    const Pending done = *entry;
    entry->kind = Pending::Kind::none;  // the caller's again
    done.callback(done.argument, done.code);
  }
  return any ? 1 : 0;
}

}  // namespace ompl
