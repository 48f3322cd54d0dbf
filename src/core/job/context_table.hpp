// SPDX-License-Identifier: BSD-3-Clause
// The contexts of a rank. They are kept in one list for the hang report and never freed before the runtime ends, so that it can
// be read without a lock; closed ones are used again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "arch/memory/device_memory.hpp"
#include "core/job/context.hpp"

namespace ompl {

class ContextTable {
 public:
  explicit ContextTable(Runtime& runtime) : runtime_(runtime) {}
  ~ContextTable();
  ContextTable(const ContextTable&) = delete;
  ContextTable& operator=(const ContextTable&) = delete;

  // `windows`: of the thread whose implicit context it is. Any thread.
  Context* open(ompl_windows* windows = nullptr);
  // Completes the context's operations first.
  int close(Context* context);
  // For the end of a thread: nothing may block, so what is outstanding is left to the slots.
  void abandon(Context* context);

  // For ompl_finalize() of a thread without a context: it is made when the job is joined, so that leaving needs no memory for it.
  void make_last() { last_ = make(); }
  [[nodiscard]] Context& last() { return *last_; }

  // All contexts ever opened, by `next`. Any thread, and async-signal-safe, as is whether some thread is blocked in the library.
  [[nodiscard]] Context* newest() const { return contexts_.load(std::memory_order_acquire); }
  [[nodiscard]] bool anyone_blocked() const;
  // From now on no fast path leads to a rank that has failed. Any thread.
  void close_fast_paths() const;
  // A GPU's driver is in this process: addresses may be its.
  [[nodiscard]] bool has_gpus() const { return gpus_.load(std::memory_order_relaxed); }
  // Those that were found when a context was opened, or by the function below, which has every context look at addresses. Any thread.
  [[nodiscard]] const arch::GpuDrivers& gpu_drivers() const { return drivers_; }
  void look_for_gpus_again();

  // No thread may use what is freed, but a window may still stand on it.
  void close_windows();
  // Every context and window becomes unusable (its ranks are 0).
  void close_all();
  // The same in the child of a fork: without the mutex, which another thread of the parent may have held when it forked.
  void disown();

 private:
  [[nodiscard]] std::unique_ptr<Context> make();
  void shut_windows();
  void look_for_gpus();

  Runtime& runtime_;
  std::mutex mutex_;  // opening, closing, and closing windows
  std::atomic<bool> gpus_{false};
  arch::GpuDrivers drivers_;
  std::atomic<Context*> contexts_{nullptr};
  Context* closed_ = nullptr;      // of them; under the mutex
  uint32_t made_ = 0;              // the same
  std::unique_ptr<Context> last_;  // stands in no list
};

}  // namespace ompl
