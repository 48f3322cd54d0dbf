// SPDX-License-Identifier: BSD-3-Clause
// What is built on a runtime, lives with it, and must end before it does.
#pragma once

#include <atomic>
#include <cstdint>

namespace ompl {

class Context;
struct Pending;

class Extension {
 public:
  Extension() = default;
  Extension(const Extension&) = delete;
  Extension& operator=(const Extension&) = delete;
  virtual ~Extension() = default;  // ends its threads; may be all that happens, without finish()

  // The first part of ompl_finalize(): completes what is under way. Collective, if the extension is on every rank.
  virtual int finish(Context& context) = 0;

  // If it is wanted, whoever waits for anything in the layer calls idle() meanwhile. It does not block.
  [[nodiscard]] bool wants_idle() const { return wants_idle_.load(std::memory_order_relaxed); }
  virtual void idle(Context& /*context*/) {}

  // Whether callbacks wait for what the extension does: then whoever makes progress with callbacks goes on with it. `again`: set if there
  // may be something to do in a moment, without any event that would wake a sleeper.
  [[nodiscard]] bool has_callbacks() const { return callbacks_.load(std::memory_order_relaxed) != 0; }
  virtual void drive_callbacks(Context& /*context*/, bool* /*again*/) {}
  // The callback of one that is over is about to run: how it ended. The entry is the extension's again.
  virtual int release(Pending& /*entry*/) { return 0; }

 protected:
  void add_callback() { callbacks_.fetch_add(1, std::memory_order_seq_cst); }
  void remove_callback() { callbacks_.fetch_sub(1, std::memory_order_seq_cst); }
  void want_idle(bool wanted) { wants_idle_.store(wanted, std::memory_order_relaxed); }

 private:
  std::atomic<bool> wants_idle_{false};
  std::atomic<uint32_t> callbacks_{0};
};

}  // namespace ompl
