// SPDX-License-Identifier: BSD-3-Clause
// How a function of the C API finds its context.
#pragma once

#include <cxxabi.h>

#include <utility>

#include "api/process.hpp"
#include "core/job/runtime.hpp"
#include "omnipgas/ompl_ext.h"
#include "util/status.hpp"

struct ompl_team;

namespace ompl::coll {
class Team;
}

namespace ompl::api {

// What a team of the C API stands for.
inline coll::Team* team_of(ompl_team* team) { return reinterpret_cast<coll::Team*>(team); }
inline const coll::Team* team_of(const ompl_team* team) {
  return reinterpret_cast<const coll::Team*>(team);
}

// An address of the papers' API.
inline void* pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Neither the thread's implicit context nor OMPL_CTX_SHARED, which goes by it.
inline bool is_own(ompl_ctx* context) {
  return reinterpret_cast<uintptr_t>(context) > reinterpret_cast<uintptr_t>(OMPL_CTX_SHARED);
}

// The context of a call, or nullptr after recording why there is none.
inline Context* context_of(ompl_ctx* explicit_context) {
  if (is_own(explicit_context)) return reinterpret_cast<Context*>(explicit_context);
  return t_context != nullptr ? t_context : implicit_context();
}

// The context of a call, or nullptr if it has none yet.
inline Context* known_context(ompl_ctx* explicit_context) {
  return is_own(explicit_context) ? reinterpret_cast<Context*>(explicit_context) : t_context;
}

// Runs `call()` for a function of the C interface, which no exception leaves: it becomes a code. The unwinding of a thread that
// ends (pthread_exit, pthread_cancel) is none and goes on.
template <class Call>
int guarded(Call call) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return code_of_exception();
  }
}

// Runs `call(context)` so; errors of state become codes too.
template <class Call>
int with(ompl_ctx* explicit_context, Call call) {
  return guarded([&]() -> int {
    Context* c = context_of(explicit_context);
    if (c == nullptr) return OMPL_ERR_STATE;
    if (c->ranks == 0) [[unlikely]]
      return wrong_state();
    return call(*c);
  });
}

}  // namespace ompl::api
