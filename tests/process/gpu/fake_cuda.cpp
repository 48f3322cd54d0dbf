// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for the CUDA driver, for want of a GPU where the tests run. "Device memory" is a file that is mapped twice: at its
// own address, where no CPU may touch it, and hidden, for the driver's copies. What is asked of a stream is done when
// somebody waits for it. Built as libcuda.so.1; fake_hip.cpp stands in for HIP.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3,
              kInvalidContext = 201, kInvalidHandle = 400, kIllegalAddress = 700,
              kContextIsDestroyed = 709, kNotRegistered = 713;
constexpr uint64_t kPage = uint64_t{2} << 20;  // of a driver

struct Context {
  unsigned long long id = 0;
  bool alive = false;
};
struct Block {
  uint64_t bytes = 0;
  char* hidden = nullptr;
  Context* context = nullptr;  // null: of none
  bool managed = false;
};
struct Stream {
  Context* context = nullptr;
  std::vector<std::function<int()>> todo;
};
struct Fault {
  std::string function;
  int error = 0;
  int skip = 0;
};

std::mutex g_mutex;
bool g_ready = false;
unsigned long long g_ids = 0;
Context g_primary;
Context g_other;  // the one that programs create: its address is used again
std::map<uint64_t, Block> g_blocks;
std::set<Stream*> g_streams;
std::map<void*, size_t> g_registered;
std::vector<Fault> g_faults;
thread_local std::vector<Context*> t_current;

Context* current() { return t_current.empty() ? nullptr : t_current.back(); }

// The error that a test wants of this function now.
int planned(const char* function) {
  for (auto fault = g_faults.begin(); fault != g_faults.end(); ++fault) {
    if (fault->function != function || fault->skip-- > 0) continue;
    const int error = fault->error;
    g_faults.erase(fault);
    return error;
  }
  return kSuccess;
}

// The block that holds all of [address, address + bytes), or null.
Block* find(uint64_t address, size_t bytes, char** hidden) {
  auto block = g_blocks.upper_bound(address);
  if (block == g_blocks.begin()) return nullptr;
  --block;
  const uint64_t inside = address - block->first;
  if (inside >= block->second.bytes || bytes > block->second.bytes - inside) return nullptr;
  *hidden = block->second.hidden + inside;
  return &block->second;
}

int allocate(uint64_t* address, size_t bytes, Context* context) {
  const int file = ::memfd_create("fake-gpu", 0);
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(whole)) != 0) return kOutOfMemory;
  void* const device = ::mmap(nullptr, whole, PROT_NONE, MAP_SHARED, file, 0);
  void* const hidden = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (device == MAP_FAILED || hidden == MAP_FAILED) return kOutOfMemory;
  *address = reinterpret_cast<uint64_t>(device);
  g_blocks[*address] = {
      .bytes = bytes, .hidden = static_cast<char*>(hidden), .context = context, .managed = false};
  return kSuccess;
}

int usable(const char* function, uint64_t device, size_t bytes) {
  if (const int error = planned(function); error != kSuccess) return error;
  if (current() == nullptr) return kInvalidContext;
  if (!current()->alive) return kContextIsDestroyed;
  char* hidden = nullptr;
  const Block* const block = find(device, bytes, &hidden);
  if (block == nullptr) return kInvalidValue;
  return block->context == nullptr || block->context == current() ? kSuccess : kInvalidContext;
}

int on_stream(void* handle, std::function<int()> work) {
  auto* const stream = static_cast<Stream*>(handle);
  if (!g_streams.contains(stream)) return kInvalidHandle;
  if (stream->context != current()) return kInvalidContext;
  stream->todo.push_back(std::move(work));
  return kSuccess;
}

// One row; memory that was freed meanwhile is not touched.
int move(uint64_t device, void* host, size_t bytes, bool out) {
  char* hidden = nullptr;
  if (find(device, bytes, &hidden) == nullptr) return kIllegalAddress;
  std::memcpy(out ? host : hidden, out ? hidden : host, bytes);
  return kSuccess;
}

void end(Context& context) {
  context.alive = false;
  std::erase_if(g_streams, [&](Stream* stream) { return stream->context == &context; });
  std::erase_if(g_blocks, [&](const auto& block) { return block.second.context == &context; });
}

void begin(Context& context) {
  context.alive = true;
  context.id = ++g_ids;
}

}  // namespace

// The layout of CUDA_MEMCPY2D.
struct Copy2d {
  size_t from_x, from_y;
  int from_type;
  void* from_host;
  uint64_t from_device;
  void* from_array;
  size_t from_pitch, to_x, to_y;
  int to_type;
  void* to_host;
  uint64_t to_device;
  void* to_array;
  size_t to_pitch, width, height;
};

extern "C" {

// --- For tests: a function is to fail, once, after `skip` calls; and what is left.
void fake_cuda_fail(const char* function, int error, int skip) {
  const std::lock_guard lock(g_mutex);
  g_faults.push_back({function, error, skip});
}
size_t fake_cuda_streams() {
  const std::lock_guard lock(g_mutex);
  return g_streams.size();
}
size_t fake_cuda_registrations() {
  const std::lock_guard lock(g_mutex);
  return g_registered.size();
}
uint64_t fake_device_memory() {
  static const uint64_t memory = [] {
    const std::lock_guard lock(g_mutex);
    uint64_t address = 0;
    allocate(&address, kPage, nullptr);
    return address;
  }();
  return memory;
}

int cuInit(unsigned) {
  g_ready = true;
  return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  if (!g_ready) return kNotInitialized;
  *device = ordinal;
  return ordinal == 0 ? kSuccess : kInvalidValue;
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "a stand-in for a GPU", static_cast<size_t>(length));
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  *version = 0;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  const std::lock_guard lock(g_mutex);
  if (const int error = planned("cuDevicePrimaryCtxRetain"); error != kSuccess) return error;
  if (!g_primary.alive) begin(g_primary);
  *context = &g_primary;
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
int cuCtxCreate_v2(void** context, unsigned, int) {
  const std::lock_guard lock(g_mutex);
  begin(g_other);
  t_current.push_back(&g_other);
  *context = &g_other;
  return kSuccess;
}
int cuCtxDestroy_v2(void* context) {
  const std::lock_guard lock(g_mutex);
  end(*static_cast<Context*>(context));
  std::erase(t_current, context);
  return kSuccess;
}
int cuCtxPushCurrent_v2(void* context) {
  const std::lock_guard lock(g_mutex);
  if (const int error = planned("cuCtxPushCurrent"); error != kSuccess) return error;
  t_current.push_back(static_cast<Context*>(context));
  return kSuccess;
}
int cuCtxPopCurrent_v2(void** context) {
  if (t_current.empty()) return kInvalidContext;
  *context = t_current.back();
  t_current.pop_back();
  return kSuccess;
}
int cuCtxGetCurrent(void** context) {
  *context = current();
  return kSuccess;
}
int cuCtxSetCurrent(void* context) {
  if (!t_current.empty()) t_current.pop_back();
  if (context != nullptr) t_current.push_back(static_cast<Context*>(context));
  return kSuccess;
}
int cuCtxGetId(void* context, unsigned long long* id) {
  *id = static_cast<Context*>(context)->id;
  return kSuccess;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  const std::lock_guard lock(g_mutex);
  return current() != nullptr ? allocate(address, bytes, current()) : kInvalidContext;
}
int cuMemAllocAsync(uint64_t* address, size_t bytes, void*) {  // of a pool, so of no context
  const std::lock_guard lock(g_mutex);
  return allocate(address, bytes, nullptr);
}
int cuMemFree_v2(uint64_t address) {
  const std::lock_guard lock(g_mutex);
  return g_blocks.erase(address) == 1 ? kSuccess : kInvalidValue;
}
int cuMemAllocManaged(uint64_t* address, size_t bytes, unsigned) {
  const std::lock_guard lock(g_mutex);
  auto* const memory = new char[bytes];
  *address = reinterpret_cast<uint64_t>(memory);
  g_blocks[*address] = {.bytes = bytes, .hidden = memory, .context = current(), .managed = true};
  return kSuccess;
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = new char[bytes];
  return kSuccess;
}
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) {
  const std::lock_guard lock(g_mutex);
  if (const int error = planned("cuMemHostRegister"); error != kSuccess) return error;
  g_registered[memory] = bytes;
  return kSuccess;
}
int cuMemHostUnregister(void* memory) {
  const std::lock_guard lock(g_mutex);
  return g_registered.erase(memory) == 1 ? kSuccess : kNotRegistered;
}

int cuStreamCreate(void** stream, unsigned) {
  const std::lock_guard lock(g_mutex);
  if (const int error = planned("cuStreamCreate"); error != kSuccess) return error;
  if (current() == nullptr) return kInvalidContext;
  auto* const made = new Stream{current(), {}};
  g_streams.insert(made);
  *stream = made;
  return kSuccess;
}
int cuStreamDestroy_v2(void* stream) {
  const std::lock_guard lock(g_mutex);
  if (g_streams.erase(static_cast<Stream*>(stream)) == 0) return kInvalidHandle;
  delete static_cast<Stream*>(stream);
  return kSuccess;
}
int cuStreamSynchronize(void* handle) {
  const std::lock_guard lock(g_mutex);
  if (const int error = planned("cuStreamSynchronize"); error != kSuccess) return error;
  auto* const stream = static_cast<Stream*>(handle);
  if (!g_streams.contains(stream)) return kInvalidHandle;
  int error = kSuccess;
  for (const auto& work : stream->todo) {
    if (const int code = work(); error == kSuccess) error = code;
  }
  stream->todo.clear();
  return error;
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  const std::lock_guard lock(g_mutex);
  if (const int error = usable("cuMemcpyDtoHAsync", from, bytes); error != kSuccess) return error;
  return on_stream(stream, [=] { return move(from, to, bytes, true); });
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  const std::lock_guard lock(g_mutex);
  if (const int error = usable("cuMemcpyHtoDAsync", to, bytes); error != kSuccess) return error;
  return on_stream(stream, [=] { return move(to, const_cast<void*>(from), bytes, false); });
}
int cuMemcpy2DAsync_v2(const Copy2d* copy, void* stream) {
  const std::lock_guard lock(g_mutex);
  const bool out = copy->from_type == 2;
  const uint64_t device = out ? copy->from_device : copy->to_device;
  auto* const host = static_cast<char*>(out ? copy->to_host : copy->from_host);
  const size_t device_pitch = out ? copy->from_pitch : copy->to_pitch;
  const size_t host_pitch = out ? copy->to_pitch : copy->from_pitch;
  const size_t width = copy->width;
  const size_t height = copy->height;
  if (device_pitch < width || host_pitch < width || height == 0) return kInvalidValue;
  const size_t span = (height - 1) * device_pitch + width;
  if (const int error = usable("cuMemcpy2DAsync", device, span); error != kSuccess) return error;
  return on_stream(stream, [=] {
    int error = kSuccess;
    for (size_t row = 0; row < height && error == kSuccess; ++row)
      error = move(device + row * device_pitch, host + row * host_pitch, width, out);
    return error;
  });
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  const std::lock_guard lock(g_mutex);
  return move(from, to, bytes, true);
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  const std::lock_guard lock(g_mutex);
  return move(to, const_cast<void*>(from), bytes, false);
}

int cuPointerGetAttribute(void* data, int attribute, uint64_t address) {
  const std::lock_guard lock(g_mutex);
  char* hidden = nullptr;
  const Block* const block = find(address, 1, &hidden);
  if (block == nullptr) return kInvalidValue;
  switch (attribute) {
    case 1:  // CU_POINTER_ATTRIBUTE_CONTEXT
      *static_cast<void**>(data) = block->context;
      return kSuccess;
    case 2:  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE: device
      *static_cast<unsigned*>(data) = 2;
      return kSuccess;
    case 8:  // CU_POINTER_ATTRIBUTE_IS_MANAGED
      *static_cast<int*>(data) = block->managed ? 1 : 0;
      return kSuccess;
    case 9:  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
      *static_cast<int*>(data) = 0;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}
int cuGetErrorName(int error, const char** name) {
  static const std::map<int, const char*> kNames = {
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED"}};
  const auto found = kNames.find(error);
  *name = found != kNames.end() ? found->second : nullptr;
  return found != kNames.end() ? kSuccess : kInvalidValue;
}

}  // extern "C"
