// SPDX-License-Identifier: BSD-3-Clause
// The functions that other ranks may call, by number.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "omnipgas/ompl_calls.h"

namespace ompl::calls {

struct RemoteFunction {
  std::string name;
  ompl_call_fn code = nullptr;
  void* user = nullptr;
};

class FunctionTable {
 public:
  // By one thread. False: there is no room.
  bool add(RemoteFunction function) {
    const uint32_t number = count();
    if (number == OMPL_CALL_FUNCTIONS) return false;
    if (table_ == nullptr) table_ = std::make_unique<RemoteFunction[]>(OMPL_CALL_FUNCTIONS);
    table_[number] = std::move(function);
    count_.store(number + 1, std::memory_order_release);
    return true;
  }
  // The last one, which nobody has been told of.
  void withdraw() { count_.store(count() - 1, std::memory_order_release); }

  // --- Any thread
  [[nodiscard]] uint32_t count() const { return count_.load(std::memory_order_acquire); }
  // Null: there is none of that number.
  [[nodiscard]] const RemoteFunction* find(uint32_t number) const {
    return number < count() ? &table_[number] : nullptr;
  }

 private:
  std::unique_ptr<RemoteFunction[]> table_;
  std::atomic<uint32_t> count_{0};
};

}  // namespace ompl::calls
