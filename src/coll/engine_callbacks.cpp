// SPDX-License-Identifier: BSD-3-Clause
// Callbacks of collectives: whoever makes progress with callbacks goes on with the collectives that they wait for.
#include "arch/give_way.hpp"
#include "coll/engine.hpp"
#include "util/status.hpp"

namespace ompl::coll {

int Engine::call_back(CollectiveRequest& request, ompl_callback_fn callback, void* argument) {
  using State = RequestCallback::State;
  RequestCallback& entry = request.callback;
  if (entry.kind == Pending::Kind::extension)
    return fail(OMPL_ERR_STATE, "ompl_request_then: a callback waits for the request already");
  request.queue->team().persistent.fetch_add(1);  // the team stays until it was called
  entry.kind = Pending::Kind::extension;
  entry.callback = callback;
  entry.argument = argument;
  entry.request = &request;
  add_callback();
  if (entry.state.exchange(State::wanted, std::memory_order_acq_rel) == State::running) return OMPL_OK;
  while (request.runs()) arch::give_way();  // another thread is just ending it
  make_due(entry);
  return OMPL_OK;
}

void Engine::make_due(RequestCallback& callback) {
  remove_callback();
  runtime_.callbacks.add_due(&callback);
}

void Engine::drive_callbacks(Context& c, bool* again) {
  for_teams([&](Team& team) {
    if (!team.busy()) return;
    team.look_at_failures();
    team.drive(c, again);
  });
}

int Engine::release(Pending& entry) {
  CollectiveRequest& request = *static_cast<RequestCallback&>(entry).request;
  TagQueue& queue = *request.queue;
  TagQueue::note_end(request);
  const int code = TagQueue::outcome(request);
  request.callback.kind = Pending::Kind::none;
  const bool persistent = request.persistent;
  if (!persistent) queue.recycle(&request);
  queue.team().persistent.fetch_sub(1);
  return code;
}

}  // namespace ompl::coll
