// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "core/failure/program_reports.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"

namespace ompl {
namespace {

// In the order of Call.
constexpr std::array kCalls = std::to_array<std::string_view>({"nothing",
                                                               "ompl_put",
                                                               "ompl_get",
                                                               "ompl_put_word",
                                                               "ompl_put_signal",
                                                               "ompl_wait",
                                                               "ompl_flush",
                                                               "ompl_quiet",
                                                               "ompl_ctx_fence",
                                                               "ompl_handle_wait",
                                                               "ompl_ctx_wait_until",
                                                               "a wait for several flags",
                                                               "ompl_wait_memory",
                                                               "an atomic",
                                                               "ompl_progress",
                                                               "ompl_call",
                                                               "a halo exchange",
                                                               "a collective",
                                                               "ompl_barrier",
                                                               "ompl_alloc",
                                                               "ompl_free",
                                                               "ompl_finalize"});
static_assert(static_cast<std::size_t>(Call::finalize) + 1 == kCalls.size());

constexpr std::string_view name_of(Call call) { return kCalls[static_cast<std::size_t>(call)]; }

}  // namespace

std::string hang_report(const Runtime& r) {
  std::string text =
      fmt::format("ompl[{}] hang report: rank {} of {}, {} rank(s) on this node, {} core(s)\n",
                  r.rank(), r.rank(), r.size(), r.members.node_size(), r.members.node_cores());
  const int64_t now = now_ns();
  for (const Context* c = r.contexts.newest(); c != nullptr; c = c->next) {
    const Activity& activity = c->activity;
    const Call blocked = activity.call.load(std::memory_order_acquire);
    if (blocked == Call::none) continue;
    const Call within = activity.within.load(std::memory_order_relaxed);
    const Call call = within != Call::none ? within : blocked;
    const uint32_t peer = activity.peer.load(std::memory_order_relaxed);
    const uint64_t offset = activity.offset.load(std::memory_order_relaxed);
    text += fmt::format(
        "  thread {}: {} for {:.1f} s", activity.thread.load(std::memory_order_relaxed), name_of(call),
        static_cast<double>(now - activity.since_ns.load(std::memory_order_relaxed)) * 1e-9);
    if (peer != kNoRank) text += fmt::format(", rank {} ({})", peer, r.members.peer(peer).conduit);
    if (offset != 0 && within == Call::none) text += fmt::format(", offset {:#x}", offset);
    if (call == Call::wait) {
      text +=
          fmt::format(", flag is {}",
                      arch::word32(r.memory.segment().base() + offset).load(std::memory_order_relaxed));
    }
    text += "\n";
  }
  if (r.network != nullptr) text += r.network->pool.describe();
  if (const uint32_t known = r.failures.count(); known != 0)
    text += fmt::format("  {} failure(s) of ranks known\n", known);
  return text + program_reports();
}

}  // namespace ompl
