// SPDX-License-Identifier: BSD-3-Clause
// What is built on a runtime, lives with it, and must end before it does.
#pragma once

#include <atomic>

namespace ompl {

class Context;

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

 protected:
  void want_idle(bool wanted) { wants_idle_.store(wanted, std::memory_order_relaxed); }

 private:
  std::atomic<bool> wants_idle_{false};
};

}  // namespace ompl
