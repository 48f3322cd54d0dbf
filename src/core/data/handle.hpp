// SPDX-License-Identifier: BSD-3-Clause
// What the library keeps in the caller's memory: an operation under way (ompl_handle), and a flag that is
// watched (ompl_watch). Both can be in the list of callbacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omnipgas/ompl_ext.h"

namespace ompl {

// An entry of the list of callbacks (callbacks.hpp). All zero: stands for nothing.
struct Pending {
  enum class Kind : uint64_t {  // the word that ompl_inline.h looks at
    none,                       // no operation, or a complete one
    local,                      // a put or get, complete when its ticket is
    remote,                     // a put, complete when its data are visible at the target
    fetch,                      // an atomic, complete when its reply has come
    flag,                       // a Watch
    call,                       // a remote call, complete when its reply has come
    packed,     // a packed put, complete when its target has read the ring up to `ticket`
    brought,    // a packed get of number `ticket`
    extension,  // what the runtime's extension does (job/extension.hpp)
  };
  Kind kind;
  Pending* next;
  ompl_callback_fn callback;
  void* argument;
  int32_t code;  // how it ended
};

struct Handle : Pending {
  uint32_t rank;
  uint32_t slot;
  uint64_t ticket;  // of the last piece; the token of a fetch
  uint64_t number;  // of the last piece among what slot and rank have been sent
  uint64_t mark;    // of the ack_request that covers it, 0: not asked yet
  void* before;     // where a fetched value goes,
  uint32_t width;   // and its bytes
};
// The last word is a tracer's (instruments/trace/ompl/call.hpp).
static_assert(sizeof(Handle) <= sizeof(ompl_handle) - sizeof(uint64_t) &&
              alignof(Handle) <= alignof(ompl_handle));

struct Watch : Pending {
  ompl_condition condition;
};
static_assert(sizeof(Watch) <= sizeof(ompl_watch) && alignof(Watch) <= alignof(ompl_watch));

inline Handle& handle_of(ompl_handle& memory) { return reinterpret_cast<Handle&>(memory); }

}  // namespace ompl
