// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/staging_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

using arch::CudaCopy2d;
using arch::CudaDriver;

constexpr unsigned long long kMostPitch = INT32_MAX;  // of two-dimensional copies, on every device

unsigned long long number_of(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// How many parts, from the first on, are rows of equal length and distance.
std::size_t rows_of(std::span<const StagedPart> parts) {
  if (parts.size() < 2 || parts[1].length != parts[0].length) return 1;
  const unsigned long long pitch = parts[1].device - parts[0].device;
  if (pitch < parts[0].length || pitch > kMostPitch) return 1;
  std::size_t rows = 2;
  while (rows < parts.size() && parts[rows].length == parts[0].length &&
         parts[rows].device - parts[rows - 1].device == pitch)
    ++rows;
  return rows;
}

}  // namespace

// While it lives, calls of this thread go to that context; not across a yield.
class StagingPool::Entered {
 public:
  Entered(const CudaDriver& driver, void* context) : driver_(driver), error(driver.push(context)) {}
  ~Entered() {
    void* left = nullptr;
    if (error == 0) driver_.pop(&left);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  const CudaDriver& driver_;

 public:
  const int error;
};

int StagingPool::said(int error, const char* call, const char* what) const {
  const int code = error == CudaDriver::kOutOfMemory    ? OMPL_ERR_MEMORY
                   : error == CudaDriver::kInvalidValue ? OMPL_ERR_ARG
                                                        : OMPL_ERR_SYSTEM;
  return fail(code, "{}: {} of CUDA failed: {} ({})", what, call, driver_->name_of(error), error);
}

int StagingPool::open(const char* what) {
  if (driver_) return OMPL_OK;
  CudaDriver found{};
  const char* missing = nullptr;
  if (!found.find(&missing))
    return fail(OMPL_ERR_UNSUPPORTED,
                "{}: this driver of CUDA has no {}, which staging needs; copy to host memory first",
                what, missing);
  driver_ = found;
  return OMPL_OK;
}

// Memory that was made without a context (cuMemCreate, pools) is reached through the primary one of its device.
int StagingPool::context_of(const void* device, const char* what, void** context) {
  *context = nullptr;
  const auto address = number_of(device);
  if (driver_->pointer_attribute(context, CudaDriver::kContext, address) == 0 && *context != nullptr)
    return OMPL_OK;
  int ordinal = 0;
  if (const int error = driver_->pointer_attribute(&ordinal, CudaDriver::kOrdinal, address); error != 0)
    return said(error, "cuPointerGetAttribute", what);
  void*& primary = primary_[ordinal];
  if (primary == nullptr) {
    if (const int error = driver_->retain_primary(&primary, ordinal); error != 0) {
      primary_.erase(ordinal);
      return said(error, "cuDevicePrimaryCtxRetain", what);
    }
  }
  *context = primary;
  return OMPL_OK;
}

int StagingPool::take(const void* device, bool nonblocking, const HasRead& has_read, const char* what,
                      StagingBuffer** out) {
  const std::lock_guard lock(mutex_);
  void* context = nullptr;
  int code = open(what);
  if (code == OMPL_OK) code = context_of(device, what, &context);
  if (code != OMPL_OK) return code;
  unsigned long long id = 0;
  if (driver_->context_id != nullptr && driver_->context_id(context, &id) != 0) id = 0;
  for (const auto& buffer : buffers_) {
    if (buffer->taken || buffer->context != context || buffer->context_id != id) continue;
    if (!std::ranges::all_of(buffer->chunks, has_read, &StagingChunk::reader)) continue;
    for (StagingChunk& chunk : buffer->chunks) chunk.reader = {};
    buffer->taken = true;
    *out = buffer.get();
    return OMPL_OK;
  }
  if (nonblocking && buffers_.size() >= kMost) return OMPL_RETRY_FULL;
  return make(context, id, what, out);
}

// Memory of the layer's own that is registered with the driver, not the driver's: it stays readable when the program destroys the
// context.
int StagingPool::make(void* context, unsigned long long id, const char* what, StagingBuffer** out) {
  const Entered entered(*driver_, context);
  if (entered.error != 0) return said(entered.error, "cuCtxPushCurrent", what);
  buffers_.reserve(buffers_.size() + 1);
  auto made = std::make_unique<StagingBuffer>();
  made->context = context;
  made->context_id = id;
  const std::size_t bytes = made->chunks.size() * chunk_;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail(OMPL_ERR_MEMORY, "{}: no memory of {} bytes to copy through: {}", what, bytes,
                error_text(errno));
  made->memory = static_cast<std::byte*>(memory);
  const int error = driver_->register_host(memory, bytes, CudaDriver::kRegisterPortable);
  made->pinned = error == 0;
  if (error != 0)
    log::warn(
        "cuMemHostRegister of {} bytes failed: {} ({}); copies of GPU memory go through "
        "pageable memory, which is slower",
        bytes, driver_->name_of(error), error);
  for (std::size_t i = 0; i < made->chunks.size(); ++i) {
    StagingChunk& chunk = made->chunks[i];
    chunk.memory = made->memory + i * chunk_;
    if (const int failed = driver_->create_stream(&chunk.stream, CudaDriver::kStreamNonBlocking);
        failed != 0) {
      chunk.stream = nullptr;
      dispose(*made);
      return said(failed, "cuStreamCreate", what);
    }
  }
  made->taken = true;
  *out = made.get();
  buffers_.push_back(std::move(made));
  return OMPL_OK;
}

void StagingPool::give_back(StagingBuffer& buffer, bool reusable) {
  for (StagingChunk& chunk : buffer.chunks) {
    if (!chunk.copying) continue;
    const Entered entered(*driver_, buffer.context);
    reusable = entered.error == 0 && driver_->synchronize(chunk.stream) == 0 && reusable;
    chunk.copying = false;
  }
  const std::lock_guard lock(mutex_);
  buffer.taken = !reusable;
}

int StagingPool::copy_run(std::span<const StagedPart> run, bool out, void* stream,
                          const char* what) const {
  const StagedPart& first = run.front();
  if (run.size() == 1) {
    const int error = out ? driver_->to_host(first.host, first.device, first.length, stream)
                          : driver_->to_device(first.device, first.host, first.length, stream);
    return error == 0 ? OMPL_OK : said(error, out ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync", what);
  }
  const std::size_t pitch = run[1].device - first.device;
  CudaCopy2d copy{.from_type = out ? CudaDriver::kDevice : CudaDriver::kHost,
                  .to_type = out ? CudaDriver::kHost : CudaDriver::kDevice,
                  .width = first.length,
                  .height = run.size()};
  if (out) {
    copy.from_device = first.device;
    copy.to_host = first.host;
  } else {
    copy.from_host = first.host;
    copy.to_device = first.device;
  }
  copy.from_pitch = out ? pitch : first.length;
  copy.to_pitch = out ? first.length : pitch;
  const int error = driver_->copy_2d(&copy, stream);
  return error == 0 ? OMPL_OK : said(error, "cuMemcpy2DAsync", what);
}

int StagingPool::begin(StagingBuffer& buffer, StagingChunk& chunk, std::span<const StagedPart> parts,
                       Copy way, const char* what) {
  const Entered entered(*driver_, buffer.context);
  if (entered.error != 0) return said(entered.error, "cuCtxPushCurrent", what);
  chunk.copying = true;
  while (!parts.empty()) {
    const std::size_t rows = rows_of(parts);
    if (const int code = copy_run(parts.first(rows), way == Copy::out, chunk.stream, what);
        code != OMPL_OK)
      return code;
    parts = parts.subspan(rows);
  }
  return OMPL_OK;
}

int StagingPool::finish(StagingBuffer& buffer, StagingChunk& chunk, const char* what) {
  if (!chunk.copying) return OMPL_OK;
  const Entered entered(*driver_, buffer.context);
  if (entered.error != 0) return said(entered.error, "cuCtxPushCurrent", what);
  const int error = driver_->synchronize(chunk.stream);
  chunk.copying = false;
  return error == 0 ? OMPL_OK : said(error, "cuStreamSynchronize", what);
}

// The program may have destroyed the context, and its address may be another's: only the calling thread's own is touched. The
// streams of others end with their contexts.
void StagingPool::dispose(StagingBuffer& buffer) {
  void* here = nullptr;
  unsigned long long id = 0;
  const bool same = driver_->current(&here) == 0 && here == buffer.context &&
                    (driver_->context_id == nullptr || driver_->context_id(here, &id) == 0) &&
                    id == buffer.context_id;
  for (StagingChunk& chunk : buffer.chunks) {
    if (same && chunk.stream != nullptr) driver_->destroy_stream(chunk.stream);
  }
  if (buffer.pinned) {
    const int error = driver_->unregister_host(buffer.memory);
    if (error != 0 && error != CudaDriver::kNotRegistered)
      return;  // it stays mapped: the driver has it
  }
  ::munmap(buffer.memory, buffer.chunks.size() * chunk_);
}

void StagingPool::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& buffer : buffers_) dispose(*buffer);
  buffers_.clear();
  for (const auto& [device, context] : primary_) driver_->release_primary(device);
  primary_.clear();
}

}  // namespace ompl
