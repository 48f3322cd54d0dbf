// SPDX-License-Identifier: BSD-3-Clause
// Eager buffers of limited size: what a rank has sent another that is not yet received.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "model/replay/message.hpp"

namespace ompl::model {

template <class Clock>
class EagerBuffers {
 public:
  // Bytes from a rank to another; 0: no limit.
  explicit EagerBuffers(uint64_t limit) : limit_(limit) {}

  [[nodiscard]] bool limited() const { return limit_ > 0; }

  // Whether a message may leave now. If not, free() will name the thread when it may, and freed_at() tells since when.
  bool admit(const Caller& caller, uint32_t target, uint64_t bytes) {
    Buffer& buffer = buffers_[pair(caller.rank, target)];
    if (has_room(buffer, bytes)) {
      buffer.used += bytes;
      return true;
    }
    buffer.waiting.push_back({caller.thread, bytes});
    return false;
  }
  const Clock& freed_at(uint32_t source, uint32_t target) {
    return buffers_[pair(source, target)].freed;
  }

  // A message was received; appends those that go on to `ready`.
  void free(uint32_t source, uint32_t target, uint64_t bytes, const Clock& when,
            std::vector<uint32_t>& ready) {
    Buffer& buffer = buffers_[pair(source, target)];
    buffer.used -= bytes;
    const auto before = static_cast<std::ptrdiff_t>(ready.size());
    std::erase_if(buffer.waiting, [&](const Waiting& one) {
      if (!has_room(buffer, one.needs)) return false;
      buffer.used += one.needs;
      buffer.freed = when;
      ready.push_back(one.thread);
      return true;
    });
    std::reverse(ready.begin() + before, ready.end());  // the last goes on first
  }

 private:
  struct Waiting {
    uint32_t thread;
    uint64_t needs;  // bytes
  };
  struct Buffer {
    uint64_t used = 0;
    std::vector<Waiting> waiting;  // first come first served, as far as they fit
    Clock freed{};
  };

  static uint64_t pair(uint32_t source, uint32_t target) { return uint64_t{source} << 32 | target; }
  [[nodiscard]] bool has_room(const Buffer& buffer, uint64_t bytes) const {
    return buffer.used == 0 || buffer.used + bytes <= limit_;
  }

  uint64_t limit_;
  std::unordered_map<uint64_t, Buffer> buffers_;
};

}  // namespace ompl::model
