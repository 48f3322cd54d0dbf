// SPDX-License-Identifier: BSD-3-Clause
// What the adapters of one-sided libraries share: a rank's memory that the other one puts into, and the flags in it.
//
// For each channel a target buffer, a source buffer, and a page with the flag (a counter that the peer writes) and the
// word that is put into the peer's flag. The libraries poll memory, as the papers' programs do.
#pragma once

#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "adapter.hpp"
#include "team.hpp"

namespace bench {

class Window {
 public:
  // `more`: threads of the adapter's own in either rank that are busy too.
  explicit Window(const Setup& setup, int more = 0)
      : buffer_(pages(setup.bytes)),
        counters_(static_cast<std::size_t>(setup.threads)),
        crowded_(bench::crowded(setup.threads + more)) {}

  // Bytes of all channels.
  [[nodiscard]] std::size_t size() const { return counters_.size() * stride(); }
  [[nodiscard]] bool crowded() const { return crowded_; }
  // The library's memory, page-aligned; is cleared.
  void place(void* base) {
    base_ = static_cast<std::byte*>(base);
    std::memset(base, 0, size());
  }

  // The same of memory of its own, for libraries that bring none.
  std::byte* allocate() {
    own_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, size())));
    place(own_.get());
    return base_;
  }

  // Places within either rank's memory.
  [[nodiscard]] std::size_t target_offset(int i) const {
    return static_cast<std::size_t>(i) * stride();
  }
  [[nodiscard]] std::size_t source_offset(int i) const { return target_offset(i) + buffer_; }
  [[nodiscard]] std::size_t flag_offset(int i) const { return target_offset(i) + 2 * buffer_; }
  [[nodiscard]] std::size_t word_offset(int i) const { return flag_offset(i) + kPage / 2; }

  [[nodiscard]] std::byte* at(std::size_t offset) const { return base_ + offset; }
  [[nodiscard]] std::byte* target(int i) const { return at(target_offset(i)); }
  [[nodiscard]] std::byte* source(int i) const { return at(source_offset(i)); }
  [[nodiscard]] uint32_t* flag(int i) const { return word(flag_offset(i)); }

  // What the peer's flag shall be after the next signal; also lies at word_offset().
  uint32_t next(int i) {
    const uint32_t value = ++counters_[static_cast<std::size_t>(i)].sent;
    *word(word_offset(i)) = value;
    return value;
  }
  // Takes the next signal; calls `progress` between two looks at the flag.
  template <class Progress>
  void wait(int i, Progress progress) {
    const uint32_t wanted = ++counters_[static_cast<std::size_t>(i)].taken;
    while (static_cast<int32_t>(__atomic_load_n(flag(i), __ATOMIC_ACQUIRE) - wanted) < 0) {
      progress();
      if (crowded_) sched_yield();
    }
  }

 private:
  struct alignas(128) Counters {  // used by one thread each
    uint32_t sent = 0;
    uint32_t taken = 0;
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  [[nodiscard]] std::size_t stride() const { return 2 * buffer_ + kPage; }
  [[nodiscard]] uint32_t* word(std::size_t offset) const {
    return reinterpret_cast<uint32_t*>(at(offset));
  }

  std::size_t buffer_;
  std::unique_ptr<std::byte, Free> own_;
  std::byte* base_ = nullptr;
  std::vector<Counters> counters_;
  bool crowded_;  // more threads of both ranks than cores: a waiting thread yields
};

// An adapter of such a library: what an Adapter has of its window and its rank.
class WindowAdapter {
 public:
  explicit WindowAdapter(const Setup& setup, int more = 0) : window_(setup, more) {}
  WindowAdapter(const WindowAdapter&) = delete;
  WindowAdapter& operator=(const WindowAdapter&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::byte* source(int i) const { return window_.source(i); }
  [[nodiscard]] std::byte* target(int i) const { return window_.target(i); }
  // For libraries whose puts land without progress here.
  void wait(int i) {
    window_.wait(i, [] {});
  }

 protected:
  ~WindowAdapter() = default;

  Window window_;
  int rank_ = 0;
};

}  // namespace bench
