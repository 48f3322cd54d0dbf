// SPDX-License-Identifier: BSD-3-Clause
// Contexts, and what they order. One that several threads use at once consists of parts, contexts of the layer that the threads
// divide among themselves: a thread that uses its part holds that part's mutex, and a quiet goes through all parts.
#include <algorithm>
#include <deque>
#include <new>

#include "core/state.hpp"

namespace shmem_core {
namespace {

constexpr uintptr_t kUses = alignof(Context);  // that handles tell apart

bool shared_by_threads(long options) {
  return state().thread_level == SHMEM_THREAD_MULTIPLE &&
         (options & (SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED)) == 0;
}

shmem_ctx_t handle_of(Context* context) {
  return reinterpret_cast<shmem_ctx_t>(reinterpret_cast<uintptr_t>(context) + context->use % kUses);
}

// The handle is neither SHMEM_CTX_DEFAULT nor SHMEM_CTX_INVALID. One that was destroyed ends the job.
Context* context_of(shmem_ctx_t handle) {
  const auto bits = reinterpret_cast<uintptr_t>(handle);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* const context = reinterpret_cast<Context*>(bits / kUses * kUses);
  if (context->use.load(std::memory_order_relaxed) % kUses != bits % kUses) [[unlikely]] {
    const int code =
        refuse(OMPL_ERR_ARG, "the context was destroyed, by shmem_ctx_destroy() or with its team");
    failed("a call with a context", code);
  }
  return context;
}

std::mutex destroyed_mutex;
std::deque<Context*>& destroyed() {
  static auto* const list = new std::deque<Context*>;
  return *list;
}

// One that was destroyed long ago, or a new one. Null: there is no memory.
Context* take() {
  constexpr std::size_t kKept = 64;  // so that few handles become valid again
  const std::lock_guard lock(destroyed_mutex);
  if (destroyed().size() <= kKept) return new (std::nothrow) Context;
  Context* const context = destroyed().front();
  destroyed().pop_front();
  return context;
}

void give_back(Context* context) {
  const std::lock_guard lock(destroyed_mutex);
  destroyed().push_back(context);
}

void forget(Team& team, const Context* context) {
  const std::lock_guard lock(team.mutex);
  std::erase(team.contexts, context);
}

// The calling thread's part.
Part& part_of(Context& context) {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return (*context.parts)[number % kParts];
}

Target target_of_part(Context& context, uint32_t rank) {
  Part& part = part_of(context);
  part.mutex.lock();
  ompl_ctx* own = part.own.load(std::memory_order_relaxed);
  if (own == nullptr && !context.everywhere && ompl_ctx_create(&own) == OMPL_OK) part.own = own;
  if (own == nullptr) context.everywhere = true;
  return {own, rank, &part.mutex};
}

// Calls `act(context of the layer)` for all that make up the context.
template <class Act>
int for_all_of(shmem_ctx_t handle, Act act) {
  if (handle == SHMEM_CTX_DEFAULT) return act(OMPL_CTX_SHARED);
  Context& context = *context_of(handle);
  if (context.parts == nullptr) return act(context.own);
  for (Part& part : *context.parts) {
    if (part.own.load() == nullptr) continue;
    const std::lock_guard lock(part.mutex);
    if (const int code = act(part.own.load()); code != OMPL_OK) return code;
  }
  return context.everywhere ? act(OMPL_CTX_SHARED) : OMPL_OK;
}

// Whether what threads send goes by different contexts of the layer, which no fence orders.
bool has_several_parts(shmem_ctx_t handle) {
  if (handle == SHMEM_CTX_DEFAULT) return false;
  const Context& context = *context_of(handle);
  if (context.parts == nullptr) return false;
  const auto used = std::ranges::count_if(*context.parts,
                                          [](const Part& part) { return part.own.load() != nullptr; });
  return used + (context.everywhere ? 1 : 0) > 1;
}

// Its operations are complete.
int end(Context* context) {
  context->use.fetch_add(1);
  int code = context->own != nullptr ? ompl_ctx_destroy(context->own) : OMPL_OK;
  context->own = nullptr;
  if (context->parts != nullptr) {
    for (Part& part : *context->parts) {
      ompl_ctx* const own = part.own.exchange(nullptr);
      const int ended = own != nullptr ? ompl_ctx_destroy(own) : OMPL_OK;
      if (code == OMPL_OK) code = ended;
    }
    context->parts.reset();
  }
  context->everywhere = false;
  give_back(context);
  return code;
}

}  // namespace

Results& results_of(shmem_ctx_t ctx) {
  return ctx == SHMEM_CTX_DEFAULT ? state().results : context_of(ctx)->results;
}

Target target_of_context(shmem_ctx_t ctx, int pe, bool direct) {
  if (ctx == SHMEM_CTX_INVALID) failed("a communication on SHMEM_CTX_INVALID", OMPL_ERR_ARG);
  Context& context = *context_of(ctx);
  const Team& team = *context.team;
  const bool exists = pe >= 0 && pe < team.size();
  const uint32_t rank = exists ? team.members[static_cast<std::size_t>(pe)] : OMPL_ALL_RANKS - 1;
  if (direct && exists && state().mapped[rank] != 0) return {OMPL_CTX_DEFAULT, rank};
  if (context.parts != nullptr) return target_of_part(context, rank);
  return {context.own, rank};
}

int ctx_create(shmem_team_t handle, long options, shmem_ctx_t* result) {
  *result = SHMEM_CTX_INVALID;
  Team* const team = team_of(handle);
  if (team == nullptr) return -1;
  Context* const context = take();
  if (context == nullptr) return -1;
  if (shared_by_threads(options)) {
    context->parts.reset(new (std::nothrow) std::array<Part, kParts>);
    if (context->parts == nullptr) return give_back(context), -1;
  } else if (ompl_ctx_create(&context->own) != OMPL_OK) {
    return give_back(context), -1;
  }
  context->team = team;
  context->options = options;
  context->use.fetch_add(1);
  const std::lock_guard lock(team->mutex);
  team->contexts.push_back(context);
  *result = handle_of(context);
  return 0;
}

int ctx_destroy(shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return OMPL_OK;
  if (ctx == SHMEM_CTX_DEFAULT) return refuse(OMPL_ERR_ARG, "SHMEM_CTX_DEFAULT cannot be destroyed");
  Context* const context = context_of(ctx);
  forget(*context->team, context);
  if (const int code = quiet(ctx); code != OMPL_OK) return code;
  return end(context);
}

void end_contexts_of(Team* team) {
  for (;;) {
    shmem_ctx_t last = SHMEM_CTX_INVALID;
    {
      const std::lock_guard lock(team->mutex);
      if (team->contexts.empty()) return;
      last = handle_of(team->contexts.back());
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

// Hints. A batch of so many operations may leave so many results to wait for.
int session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t* config, long mask) {
  if (ctx == SHMEM_CTX_INVALID) return refuse(OMPL_ERR_ARG, "SHMEM_CTX_INVALID has no sessions");
  Results& results = results_of(ctx);
  const bool counted = config != nullptr && (mask & SHMEM_CTX_SESSION_TOTAL_OPS) != 0;
  if ((options & SHMEM_CTX_SESSION_BATCH) == 0 || !counted) return OMPL_OK;
  const std::lock_guard lock(results.mutex);
  results.handles.reserve(std::min<std::size_t>(config->total_ops, kMostResults));
  return OMPL_OK;
}

int session_stop(shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return refuse(OMPL_ERR_ARG, "SHMEM_CTX_INVALID has no sessions");
  results_of(ctx);  // the context lives
  return OMPL_OK;
}

int fence(shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return OMPL_OK;
  if (has_several_parts(ctx)) return quiet(ctx);
  std::atomic_thread_fence(std::memory_order_release);
  return for_all_of(ctx,
                    [](ompl_ctx* own) { return ompl_ctx_fence(own, OMPL_ALL_RANKS, OMPL_FOREVER); });
}

int quiet(shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return OMPL_OK;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (const int code = await_results(results_of(ctx)); code != OMPL_OK) return code;
  return for_all_of(
      ctx, [](ompl_ctx* own) { return ompl_ctx_quiet_rank(own, OMPL_ALL_RANKS, OMPL_FOREVER); });
}

int pe_quiet(shmem_ctx_t ctx, const int* pes, std::size_t count) {
  if (ctx == SHMEM_CTX_INVALID) return OMPL_OK;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (const int code = await_results(results_of(ctx)); code != OMPL_OK) return code;
  std::vector<uint32_t> ranks(count);
  for (std::size_t i = 0; i < count; ++i) ranks[i] = target(ctx, pes[i]).rank;
  return for_all_of(ctx, [&](ompl_ctx* own) {
    for (const uint32_t rank : ranks) {
      if (const int code = ompl_ctx_quiet_rank(own, rank, OMPL_FOREVER); code != OMPL_OK) return code;
      if (own == OMPL_CTX_SHARED) break;  // that was all of it
    }
    return static_cast<int>(OMPL_OK);
  });
}

}  // namespace shmem_core
