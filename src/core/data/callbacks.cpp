// SPDX-License-Identifier: BSD-3-Clause
// Progress that the program asks for, and the callbacks that run there and nowhere else. Protocol rule 3.
#include "core/data/callbacks.hpp"

#include <cxxabi.h>

#include <exception>
#include <optional>
#include <utility>

#include "core/data/checks.hpp"
#include "core/data/operations.hpp"
#include "core/job/runtime.hpp"
#include "core/wait/block.hpp"
#include "core/wait/conditions.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

// Callbacks that are due. If one ends its thread, the others are left to the next call.
class DueCallbacks {
 public:
  DueCallbacks(Runtime& from, Pending* first) : from_(from), first_(first) {}
  ~DueCallbacks() { from_.callbacks.give_back(first_); }
  DueCallbacks(const DueCallbacks&) = delete;
  DueCallbacks& operator=(const DueCallbacks&) = delete;

  // Runs all of them; what the first exception said, if there was one.
  std::optional<std::string> run() {
    std::optional<std::string> thrown;
    while (first_ != nullptr) {
      Pending* const entry = std::exchange(first_, first_->next);
      Pending done = *entry;
      if (done.kind == Pending::Kind::extension) {
        done.code = from_.extension()->release(*entry);
      } else {
        entry->kind = Pending::Kind::none;  // the caller's again
      }
      try {
        done.callback(done.argument, done.code);
      } catch (const abi::__forced_unwind&) {
        throw;
      } catch (const std::exception& error) {
        if (!thrown) thrown = error.what();
      } catch (...) {
        if (!thrown) thrown = "what is no std::exception";
      }
    }
    return thrown;
  }

 private:
  Runtime& from_;
  Pending* first_;
};

// Whether an entry is over; it then knows how it ended.
bool settle(Context& c, Pending& entry) {
  if (entry.kind == Pending::Kind::flag) {
    const GlobalMemory& memory = c.runtime->memory;
    const bool met = try_consume(memory.segment().base(), static_cast<const Watch&>(entry).condition);
    entry.code = met ? OMPL_OK : OMPL_ERR_PEER;
    if (!met && !c.runtime->failures.hopeless()) return false;
    memory.header().sleepers.fetch_sub(1, std::memory_order_seq_cst);
    memory.header().marks.watches.fetch_sub(1, std::memory_order_seq_cst);
    return true;
  }
  const int state = test(c, static_cast<Handle&>(entry));
  if (state != 0) ompl_window_fence();
  entry.code = state < 0 ? state : OMPL_OK;
  return state != 0;
}

}  // namespace

int call_back(Context& c, Handle& handle, ompl_callback_fn callback, void* argument) {
  if (callback == nullptr) return fail(OMPL_ERR_ARG, "ompl_handle_then: the callback is null");
  handle.callback = callback;
  handle.argument = argument;
  c.runtime->callbacks.add(&handle);
  c.runtime->sleepers.wake_own_completions();
  return OMPL_OK;
}

int call_back(Context& c, Watch& watch, const ompl_condition& condition, ompl_callback_fn callback,
              void* argument) {
  if (const int code = check_condition(c, condition, "ompl_flag_then"); code != OMPL_OK) return code;
  if (callback == nullptr) return fail(OMPL_ERR_ARG, "ompl_flag_then: the callback is null");
  Runtime& runtime = *c.runtime;
  runtime.callbacks.prepare_for_watches();
  watch = {};
  watch.kind = Pending::Kind::flag;
  watch.condition = condition;
  watch.callback = callback;
  watch.argument = argument;
  // Before the flag is first looked at: whoever changes it later leaves a mark.
  runtime.memory.header().marks.watches.fetch_add(1, std::memory_order_seq_cst);
  runtime.memory.header().sleepers.fetch_add(1, std::memory_order_seq_cst);
  runtime.callbacks.add(&watch);
  runtime.sleepers.wake_own_completions();
  return OMPL_OK;
}

int progress(Context& c, Deadline deadline) {
  Runtime& runtime = *c.runtime;
  // Reading the clock takes longer than all the rest where a program calls this in a loop.
  constexpr uint32_t kCallsPerLook = 16;
  if (!deadline.immediate() || c.empty_polls++ % kCallsPerLook == 0) runtime.failures.look_for_deaths();
  runtime.remote_calls.look_at_failures();
  bool busy = false;
  Context* now = &c;
  bool again = false;
  const auto collect = [&] {
    if (Extension* const extension = runtime.extension();
        extension != nullptr && extension->has_callbacks()) [[unlikely]] {
      again = false;
      extension->drive_callbacks(*now, &again);
    }
    return runtime.callbacks.collect(
        runtime.memory.header().marks, runtime.failures.hopeless(),
        [&](Pending& entry) { return settle(*now, entry); }, &busy);
  };
  if (runtime.network != nullptr) runtime.network->sender.send_held(c);
  bool found = runtime.network != nullptr && runtime.network->pool.progress(c, c.preferred_slot);
  found = runtime.remote_calls.progress() || found;
  Pending* over = collect();
  if (!found && over == nullptr && !deadline.immediate()) {
    const Blocked what{.call = Call::progress};
    Blocker blocker(c, what, deadline);
    const int code = blocker.run([&] {
      now = &blocker.context();
      over = collect();
      if (busy || again) blocker.stay_awake();
      return over != nullptr ? 1 : 0;
    });
    if (code == OMPL_ERR_TIMEOUT) return 0;
    if (code != OMPL_OK) {  // a death, say: whom it concerns is told first
      now = &blocker.context();
      over = collect();
      if (over == nullptr) return code;
    }
  }
  const bool any = found || over != nullptr;
  const std::optional<std::string> thrown = DueCallbacks(runtime, over).run();
  if (thrown) {
    return fail(
        OMPL_ERR_SYSTEM,
        "ompl_progress: a callback threw an exception ({}); all callbacks that were due have run, and "
        "later exceptions are dropped: catch them in the callback",
        *thrown);
  }
  return any ? 1 : 0;
}

}  // namespace ompl
