// SPDX-License-Identifier: BSD-3-Clause
// Contexts, and what they order. A context that several threads use at once has no context of the layer: each operation goes
// by the calling thread's implicit one, and a quiet or fence covers the whole process, as those of the default context do.
#include <algorithm>
#include <new>

#include "core/state.hpp"

namespace shmem_core {
namespace {

// The layer's context: null for the default context, and for those that threads share.
Context* context_of(shmem_ctx_t handle) { return reinterpret_cast<Context*>(handle); }

bool shared_by_threads(long options) {
  return state().thread_level == SHMEM_THREAD_MULTIPLE &&
         (options & (SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED)) == 0;
}

// What a quiet or a fence of the context covers.
ompl_ctx* scope(shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_DEFAULT || context_of(ctx)->own == nullptr) return OMPL_CTX_SHARED;
  return context_of(ctx)->own;
}

void forget(Team& team, const Context* context) {
  const std::lock_guard lock(team.mutex);
  std::erase(team.contexts, context);
}

}  // namespace

Results& results_of(shmem_ctx_t ctx) {
  return ctx == SHMEM_CTX_DEFAULT ? state().results : context_of(ctx)->results;
}

Target target_of_context(shmem_ctx_t ctx, int pe) {
  if (ctx == SHMEM_CTX_INVALID) failed("a communication on SHMEM_CTX_INVALID", OMPL_ERR_ARG);
  const Context& context = *context_of(ctx);
  const Team& team = *context.team;
  if (pe < 0 || pe >= team.size()) return {context.own, OMPL_ALL_RANKS - 1};  // no such rank
  return {context.own, team.members[static_cast<std::size_t>(pe)]};
}

int ctx_create(shmem_team_t handle, long options, shmem_ctx_t* result) {
  *result = SHMEM_CTX_INVALID;
  Team* const team = team_of(handle);
  if (team == nullptr) return -1;
  ompl_ctx* own = nullptr;
  if (!shared_by_threads(options) && ompl_ctx_create(&own) != OMPL_OK) return -1;
  auto* const context = new (std::nothrow) Context{.own = own, .team = team, .options = options};
  if (context == nullptr) {
    ompl_ctx_destroy(own);
    return -1;
  }
  const std::lock_guard lock(team->mutex);
  team->contexts.push_back(context);
  *result = reinterpret_cast<shmem_ctx_t>(context);
  return 0;
}

int ctx_destroy(shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return OMPL_OK;
  if (ctx == SHMEM_CTX_DEFAULT) return refuse(OMPL_ERR_ARG, "SHMEM_CTX_DEFAULT cannot be destroyed");
  Context* const context = context_of(ctx);
  forget(*context->team, context);
  if (const int failure = await_results(context->results); failure != OMPL_OK) return failure;
  const int code = context->own != nullptr ? ompl_ctx_destroy(context->own) : ompl_process_quiet();
  delete context;
  return code;
}

void end_contexts_of(Team* team) {
  for (;;) {
    shmem_ctx_t last = SHMEM_CTX_INVALID;
    {
      const std::lock_guard lock(team->mutex);
      if (team->contexts.empty()) return;
      last = reinterpret_cast<shmem_ctx_t>(team->contexts.back());
    }
    expect(ctx_destroy(last), "shmem_ctx_destroy");
  }
}

int ctx_get_team(shmem_ctx_t ctx, shmem_team_t* team) {
  *team = SHMEM_TEAM_INVALID;
  if (ctx == SHMEM_CTX_INVALID) return -1;
  const Team* const of = ctx == SHMEM_CTX_DEFAULT ? state().world : context_of(ctx)->team;
  *team = of == state().world    ? SHMEM_TEAM_WORLD
          : of == state().shared ? SHMEM_TEAM_SHARED
                                 : reinterpret_cast<shmem_team_t>(const_cast<Team*>(of));
  return 0;
}

int session_start(shmem_ctx_t /*ctx*/, long /*options*/, const shmem_ctx_session_config_t* /*config*/,
                  long /*mask*/) {
  return OMPL_OK;
}

int session_stop(shmem_ctx_t /*ctx*/) { return OMPL_OK; }

int fence(shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return OMPL_OK;
  return ompl_ctx_fence(scope(ctx), OMPL_ALL_RANKS, OMPL_FOREVER);
}

int quiet(shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return OMPL_OK;
  if (const int code = await_results(results_of(ctx)); code != OMPL_OK) return code;
  return ompl_ctx_quiet_rank(scope(ctx), OMPL_ALL_RANKS, OMPL_FOREVER);
}

int pe_quiet(shmem_ctx_t ctx, const int* pes, std::size_t count) {
  if (ctx == SHMEM_CTX_INVALID) return OMPL_OK;
  if (const int code = await_results(results_of(ctx)); code != OMPL_OK) return code;
  ompl_ctx* const covered = scope(ctx);
  for (std::size_t i = 0; i < count; ++i) {
    const uint32_t rank = target(ctx, pes[i]).rank;
    if (const int code = ompl_ctx_quiet_rank(covered, rank, OMPL_FOREVER); code != OMPL_OK) return code;
    if (covered == OMPL_CTX_SHARED) break;  // that was all of it
  }
  return OMPL_OK;
}

}  // namespace shmem_core
