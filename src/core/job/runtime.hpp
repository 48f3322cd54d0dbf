// SPDX-License-Identifier: BSD-3-Clause
// One rank of a job, which owns the parts that its functions work on. The C API holds one; tests hold several in one
// process. Nothing here is global.
//
// Thread rules: operations (data/, wait/) by any thread, each with a context that no other thread uses meanwhile;
// collective calls and finalize() by one thread of every rank in the same order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "conduit/conduit.hpp"
#include "conduit/registry.hpp"
#include "core/calls/calls.hpp"
#include "core/data/callbacks.hpp"
#include "core/data/staging.hpp"
#include "core/job/collective.hpp"
#include "core/job/context_table.hpp"
#include "core/job/extension.hpp"
#include "core/job/membership.hpp"
#include "core/progress/progress_thread.hpp"
#include "core/wait/load.hpp"
#include "core/wait/sleepers.hpp"
#include "util/settings.hpp"

namespace ompl {

struct Network;
struct Pool;

class Runtime {
 public:
  // Joins the job. `conduits` are asked in order, those that settings.conduits names first to last.
  // The bootstrap is kept until finalize(). Collective.
  static int create(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                    std::span<const conduit::Entry> conduits, std::unique_ptr<Runtime>* out);
  // As create(), with conduit objects made by the caller (tests: one with its own arguments).
  using Conduits = std::vector<std::unique_ptr<conduit::Conduit>>;
  static int create(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                    Conduits conduits, std::unique_ptr<Runtime>* out);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Leaves the job; every context becomes unusable (its ranks are 0). Collective.
  int finalize(Context& context);

  [[nodiscard]] uint32_t rank() const { return members.rank(); }
  [[nodiscard]] uint32_t size() const { return members.size(); }

  // What is built on this runtime and ends with it: at most one, kept from extend() on. Others may wait meanwhile.
  void extend(std::unique_ptr<Extension> extension) {
    known_extension_.store(extension.get(), std::memory_order_release);
    extension_ = std::move(extension);
  }
  [[nodiscard]] Extension* extension() const {
    return known_extension_.load(std::memory_order_acquire);
  }

  // --- The parts. Each may use those above it.
  const Settings settings;
  const std::unique_ptr<bootstrap::Bootstrap> bootstrap;
  GlobalMemory memory;
  Membership members;
  Sleepers sleepers;
  Failures failures;
  Load load;
  YieldHook yield_hook;
  ContextTable contexts;
  CollectiveCalls collective;
  Callbacks callbacks;
  calls::RemoteCalls remote_calls;
  Staging staging;
  std::atomic<bool> report_requested{false};  // the next thread that blocks is to print the hang report
  std::unique_ptr<Network> network;           // if some rank is not mapped
  ProgressThread progress;

 private:
  Runtime(const Settings& its_settings, std::unique_ptr<bootstrap::Bootstrap> its_bootstrap);
  int start(Conduits conduits);
  int open_network(std::unique_ptr<conduit::Conduit> conduit, const std::vector<Pool>& pools);
  void close_network();
  void say_early_leave(Context& context);
  void part(Context& context);
  void leave();

  conduit::Job job_;
  std::unique_ptr<Extension> extension_;
  std::atomic<Extension*> known_extension_{nullptr};
};

// What every blocked thread waits for, and the state of the endpoints: one line each. Any thread (failure/hang_report.cpp).
std::string hang_report(const Runtime& runtime);

inline Context& Caller::now() {
  if (is_implicit_ && context_->runtime->yield_hook.implicit_context != nullptr) {
    if (Context* const found = context_->runtime->yield_hook.implicit_context(); found != nullptr)
      context_ = found;
  }
  return *context_;
}

}  // namespace ompl
