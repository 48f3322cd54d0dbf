// SPDX-License-Identifier: BSD-3-Clause
#include "core/job/runtime.hpp"

#include <algorithm>
#include <new>

#include "core/data/operations.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

// The names of a comma-separated list, in order.
std::vector<std::string> names_of(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

}  // namespace

Runtime::Runtime(const Settings& its_settings, std::unique_ptr<bootstrap::Bootstrap> its_bootstrap)
    : settings(its_settings),
      bootstrap(std::move(its_bootstrap)),
      memory(bootstrap->size(), settings.segment_size),
      members(bootstrap->rank(), bootstrap->size(), memory),
      sleepers(memory, members),
      failures(settings, *bootstrap, members, memory, sleepers),
      load(memory, members),
      contexts(*this),
      collective(members, memory, failures, contexts),
      remote_calls(*this, sleepers.call_arrivals),
      staging(*this, settings.gpu_chunk),
      progress(*this) {}

Runtime::~Runtime() { leave(); }

int Runtime::create(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                    std::span<const conduit::Entry> conduits, std::unique_ptr<Runtime>* out) {
  Conduits chosen;
  for (const std::string& name : names_of(settings.conduits)) {
    const auto entry = std::ranges::find(conduits, name, &conduit::Entry::name);
    if (entry != conduits.end()) {
      chosen.push_back(entry->make());
    } else {
      log::at(settings.conduits == Settings{}.conduits ? log::Level::info : log::Level::warn,
              "conduit {} of OMPL_CONDUITS is not in this build", name);
    }
  }
  return create(settings, std::move(bootstrap), std::move(chosen), out);
}

int Runtime::create(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                    Conduits conduits, std::unique_ptr<Runtime>* out) {
  std::unique_ptr<Runtime> runtime(new Runtime(settings, std::move(bootstrap)));
  if (const int code = runtime->start(std::move(conduits)); code != OMPL_OK) return code;
  *out = std::move(runtime);
  return OMPL_OK;
}

int Runtime::finalize(Context& context) {
  const CollectiveActivity call(context.activity, Call::finalize);
  Caller caller(context);
  collective.begin_to_leave();  // all come here, those that have stopped too
  const int unfinished = extension_ != nullptr ? extension_->finish(context) : OMPL_OK;
  const std::string why = unfinished != OMPL_OK ? error_detail() : "";
  progress.end();  // no function runs in another thread from here on
  extend(nullptr);
  remote_calls.finish(caller.now());
  int first_error = OMPL_OK;
  try {
    first_error = quiet_all(caller.now());
  } catch (const std::bad_alloc&) {  // the others must not wait for this rank
    first_error =
        fail(OMPL_ERR_MEMORY, "ompl_finalize: no memory to complete all operations; some may be lost");
  }
  const auto note = [&first_error](int code) {
    if (first_error == OMPL_OK) first_error = code;
  };
  if (first_error == OMPL_OK || first_error == OMPL_ERR_MEMORY) {
    bool alike = true;
    failures.note_last_barrier();
    note(collective.agree_to_finalize(caller.now(), &alike));
    if (first_error == OMPL_OK && !alike)
      note(fail(OMPL_ERR_STATE, "ompl_finalize: some ranks call another collective function"));
  }
  memory.header().state.store(first_error == OMPL_OK ? RankState::departed : RankState::left);
  if (first_error != OMPL_OK) {
    say_early_leave(caller.now());
  } else if (network != nullptr) {
    part(caller.now());
  }
  close_network();  // others may wait for this rank to leave the network, the launcher for them
  try {
    note(bootstrap->finish());
  } catch (const std::bad_alloc&) {
    note(fail(OMPL_ERR_MEMORY, "ompl_finalize: no memory to tell the launcher that this rank leaves"));
  }
  leave();
  if (unfinished != OMPL_OK && first_error == OMPL_OK) return fail_quietly(unfinished, why);
  return first_error;
}

void Runtime::say_early_leave(Context& context) {
  failures.leave_early();
  if (network == nullptr) return;
  constexpr int64_t kLimit_ns = 200'000'000;
  const int64_t limit = now_ns() + kLimit_ns;
  while (!network->pool.all_told() && now_ns() < limit) network->pool.progress(context, 0);
}

// The last barrier's own signals may still need this rank's progress: it stays until each is applied, or its target
// has gone, which then had left the barrier. Not by the launcher: an MPI of this process may have ended that.
void Runtime::part(Context& context) {
  failures.all_depart();
  static_cast<void>(network->completion.quiet_all(context));
}

// Gives everything back but the contexts themselves, which other threads may still name.
void Runtime::leave() {
  progress.end();
  extend(nullptr);
  contexts.close_all();
  close_network();
  staging.close();
  memory.close();
  sleepers.close_pipe();
}

}  // namespace ompl
