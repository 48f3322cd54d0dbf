// SPDX-License-Identifier: BSD-3-Clause
// Operations that will report a completion: a fixed number of them, so that posting allocates nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace ompl::conduit {

// `Operation` has a member `next` of its own type.
template <class Operation>
class Operations {
 public:
  static constexpr std::size_t kCount = 512;

  Operations() {
    for (Operation& operation : all_) give_back(&operation);
  }
  // Null if all are outstanding.
  Operation* take() {
    Operation* operation = free_;
    if (operation == nullptr) return nullptr;
    free_ = operation->next;
    outstanding_.fetch_add(1, std::memory_order_relaxed);
    return operation;
  }
  void give_back(Operation* operation) {
    operation->next = free_;
    free_ = operation;
    outstanding_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Any thread.
  [[nodiscard]] std::size_t outstanding() const { return outstanding_.load(std::memory_order_relaxed); }

 protected:
  std::array<Operation, kCount> all_;

 private:
  Operation* free_ = nullptr;
  std::atomic<std::size_t> outstanding_{kCount};
};

}  // namespace ompl::conduit
