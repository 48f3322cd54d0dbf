// SPDX-License-Identifier: BSD-3-Clause
// For tasks of other runtimes: signals and waits of tags, and a thread that calls what is due.
#include <chrono>
#include <cstring>
#include <system_error>

#include "core/runtime.hpp"

namespace tasklet {
namespace {

// What stands in ompl_tasklet_tag_watch::opaque.
struct ForeignWait {
  ompl_callback_fn callback;
  void* argument;
  int32_t kind;
  uint32_t rank, tag;
};
static_assert(sizeof(ForeignWait) <= sizeof(ompl_tasklet_tag_watch::opaque));

void arrived_for_other(void* argument, int code) {
  auto& watch = *static_cast<ompl_tasklet_tag_watch*>(argument);
  ForeignWait wait;
  std::memcpy(&wait, watch.opaque, sizeof wait);
  Runtime& r = *runtime();
  if (code == OMPL_OK) code = take_tag(r, wait.kind, wait.rank, wait.tag);
  place_of(r, wait.kind, wait.rank, wait.tag).used.store(false, std::memory_order_release);
  wait.callback(wait.argument, code);
}

void serve(Runtime& r) {
  while (r.serving.load(std::memory_order_acquire))
    if (ompl_progress(OMPL_CTX_DEFAULT, 3'600'000'000'000) < 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool is_tag(int32_t kind) { return kind >= OMPL_TASKLET_PUT && kind <= OMPL_TASKLET_GET_READY; }

}  // namespace
}  // namespace tasklet

using namespace tasklet;

int ompl_tasklet_tag_signal(int32_t kind, uint32_t rank, uint32_t tag) {
  Runtime* const r = runtime();
  if (r == nullptr) return OMPL_ERR_STATE;
  if (!is_tag(kind)) return OMPL_ERR_ARG;
  if (tag >= r->config.tags) return OMPL_TASKLET_ERR_TAG;
  if (rank >= r->size) return OMPL_ERR_RANK;
  return ompl_put_word(
      rank, tag_word(*r, asks(kind) ? OMPL_TASKLET_PUT_READY : OMPL_TASKLET_PUT, r->rank, tag));
}

int ompl_tasklet_tag_then(ompl_tasklet_tag_watch* watch, int32_t kind, uint32_t rank, uint32_t tag,
                          ompl_callback_fn callback, void* arg) {
  Runtime* const r = runtime();
  if (r == nullptr) return OMPL_ERR_STATE;
  if (!is_tag(kind) || watch == nullptr || callback == nullptr) return OMPL_ERR_ARG;
  if (tag >= r->config.tags) return OMPL_TASKLET_ERR_TAG;
  if (rank >= r->size) return OMPL_ERR_RANK;
  const ForeignWait wait = {callback, arg, kind, rank, tag};
  TagPlace& place = place_of(*r, kind, rank, tag);
  if (place.used.exchange(true, std::memory_order_acq_rel)) return OMPL_TASKLET_ERR_TAG;
  std::memcpy(watch->opaque, &wait, sizeof wait);
  place.kind.store(kind, std::memory_order_relaxed);
  place.name.store("a task of another runtime", std::memory_order_relaxed);
  const ompl_condition condition = {tag_word(*r, kind, rank, tag), 0, OMPL_NE, 32};
  const int code = ompl_flag_then(&watch->watch, &condition, arrived_for_other, watch);
  if (code != OMPL_OK) place.used.store(false, std::memory_order_release);
  return code;
}

int ompl_tasklet_serve(int on) {
  Runtime* const r = runtime();
  if (r == nullptr) return OMPL_ERR_STATE;
  if (r->serving.exchange(on != 0) == (on != 0)) return OMPL_OK;
  if (on == 0) {
    ompl_put_word(r->rank, r->wake_word);
    r->server.join();
    return OMPL_OK;
  }
  if (!r->wake_watched.exchange(true) && watch_wake_word(*r) != OMPL_OK) r->wake_watched.store(false);
  try {
    r->server = std::thread(serve, std::ref(*r));
  } catch (const std::system_error&) {
    r->serving.store(false);
    return OMPL_ERR_SYSTEM;
  }
  return OMPL_OK;
}
