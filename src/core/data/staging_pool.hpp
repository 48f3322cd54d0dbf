// SPDX-License-Identifier: BSD-3-Clause
// Pinned host memory through which memory of a GPU is copied, and the copies: the driver's own calls, on streams of the
// layer's own. Any thread; a buffer is one thread's while it has it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "arch/memory/cuda.hpp"
#include "core/data/handle.hpp"

namespace ompl {

// A piece of a transfer: `length` bytes at `device`, at `host` of a chunk meanwhile, and at `offset` of the other rank's segment.
struct StagedPart {
  unsigned long long device = 0;
  std::byte* host = nullptr;
  uint64_t offset = 0;
  std::size_t length = 0;
};

struct StagingChunk {
  std::byte* memory = nullptr;
  void* stream = nullptr;
  bool copying = false;  // its stream has something to do
  Handle reader{};       // the put that may still read it, if it stands for one
};

// Two chunks, so that one is copied while the other travels.
struct StagingBuffer {
  void* context = nullptr;            // of CUDA, to which the streams belong
  unsigned long long context_id = 0;  // contexts that are destroyed leave their addresses to others
  std::byte* memory = nullptr;
  bool pinned = false;
  bool taken = false;
  std::array<StagingChunk, 2> chunks{};
};

class StagingPool {
 public:
  // Whether the put that a handle stands for has read its source.
  using HasRead = std::function<bool(const Handle&)>;
  explicit StagingPool(std::size_t chunk) : chunk_(chunk) {}
  ~StagingPool() { close(); }
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  [[nodiscard]] std::size_t chunk() const { return chunk_; }
  // Takes a buffer for copies of the memory at `device`; one is made if none is free: unless `nonblocking` and there are many
  // (OMPL_RETRY_FULL). `what`: the call, for errors.
  int take(const void* device, bool nonblocking, const HasRead& has_read, const char* what,
           StagingBuffer** out);
  // `reusable`: nothing but readers of its chunks uses it any more; else it is never used again.
  void give_back(StagingBuffer& buffer, bool reusable);

  // Starts copying all parts, out of the device to the chunk or back in. The parts of a chunk follow each other there.
  enum class Copy : bool { out, in };
  int begin(StagingBuffer& buffer, StagingChunk& chunk, std::span<const StagedPart> parts, Copy way,
            const char* what);
  // Waits for the copies of the chunk.
  int finish(StagingBuffer& buffer, StagingChunk& chunk, const char* what);

  // Gives everything back that no context of CUDA keeps. No buffer is in use.
  void close();

 private:
  class Entered;
  static constexpr std::size_t kMost = 16;  // buffers up to which nonblocking calls make more

  int open(const char* what);
  int context_of(const void* device, const char* what, void** context);
  int make(void* context, unsigned long long id, const char* what, StagingBuffer** out);
  int copy_run(std::span<const StagedPart> run, bool out, void* stream, const char* what) const;
  int said(int error, const char* call, const char* what) const;
  void dispose(StagingBuffer& buffer);

  const std::size_t chunk_;
  std::mutex mutex_;
  std::optional<arch::CudaDriver> driver_;  // set once, under the mutex, before any buffer is made
  std::vector<std::unique_ptr<StagingBuffer>> buffers_;
  std::map<int, void*> primary_;  // contexts that this pool keeps alive, by device
};

}  // namespace ompl
