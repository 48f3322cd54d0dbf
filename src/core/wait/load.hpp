// SPDX-License-Identifier: BSD-3-Clause
// How many threads load this node's cores: contexts that have blocked a moment ago (docs/explanation/waiting.md). Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/job/context.hpp"
#include "core/job/membership.hpp"

namespace ompl {

class Load {
 public:
  Load(const GlobalMemory& memory, const Membership& members) : memory_(memory), members_(members) {}

  // A context begins to block.
  void note(Context& context, int64_t now_ns);
  // More threads use the layer on this node than it has cores.
  [[nodiscard]] bool crowded() const { return crowded_.load(std::memory_order_relaxed); }

 private:
  void add(int threads);
  void count(Context* context);
  void uncount_idle(int64_t now_ns);

  const GlobalMemory& memory_;
  const Membership& members_;
  std::atomic<Context*> counted_{nullptr};  // contexts that load the cores, or did a moment ago
  std::atomic<int64_t> counted_ns_{0};
  std::atomic<bool> counting_{false};
  std::atomic<bool> crowded_{false};
};

}  // namespace ompl
