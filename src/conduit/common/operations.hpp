// SPDX-License-Identifier: BSD-3-Clause
// Operations that will report a completion: a fixed number of them, so that posting allocates nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ompl::conduit {

// `Operation` has a member `next` of its own type.
template <class Operation>
class OperationPool {
 public:
  static constexpr std::size_t kCount = 512;

  OperationPool() {
    for (Operation& operation : all_) give_back(&operation);
  }
  // Null if all are outstanding.
  Operation* take() {
    Operation* operation = free_;
    if (operation == nullptr) return nullptr;
    free_ = operation->next;
    count(outstanding() + 1);
    return operation;
  }
  void give_back(Operation* operation) {
    operation->next = free_;
    free_ = operation;
    count(outstanding() - 1);
  }
  // Any thread.
  [[nodiscard]] std::size_t outstanding() const { return outstanding_.load(std::memory_order_relaxed); }

 protected:
  std::array<Operation, kCount> all_;

 private:
  // All is done under the endpoint's claim, so no locked instruction is needed: behind a post that wrote to memory which
  // another core has just read it would wait for that write.
  void count(std::size_t now) { outstanding_.store(now, std::memory_order_relaxed); }

  Operation* free_ = nullptr;
  std::atomic<std::size_t> outstanding_{kCount};
};

// A get that is not answered yet, of a conduit where the other side answers with the number of the operation.
template <class Link>
struct GetOperation {
  Link* link = nullptr;
  std::byte* target = nullptr;
  std::size_t length = 0;
  uint64_t ticket = 0;
  GetOperation* next = nullptr;
};

template <class Link>
class GetPool final : public OperationPool<GetOperation<Link>> {
 public:
  using Operation = GetOperation<Link>;

  [[nodiscard]] uint64_t number_of(const Operation& one) const {
    return static_cast<uint64_t>(&one - this->all_.data());
  }
  // Null if no such one is outstanding on that link.
  [[nodiscard]] Operation* find(uint64_t number, const Link& link) {
    return number < this->kCount && this->all_[number].link == &link ? &this->all_[number] : nullptr;
  }
  void give_back(Operation* one) {
    one->link = nullptr;
    OperationPool<Operation>::give_back(one);
  }
  // All of that link.
  void give_back_of(const Link& link) {
    for (Operation& one : this->all_) {
      if (one.link == &link) give_back(&one);
    }
  }
};

}  // namespace ompl::conduit
