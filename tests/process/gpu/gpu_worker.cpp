// SPDX-License-Identifier: BSD-3-Clause
// A rank of jobs whose local buffers are memory of a GPU: gpu_worker check BYTES | kinds | threads | contexts | errors |
// pageable | refused | look | speed | host. With a real driver, or the stand-in. Ends with 77 where there is no GPU.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <omnipgas/ompl_memory.h>

#include "../programs/ranks_worker.hpp"
#include "cuda_driver.hpp"

void gpu_contexts(Cuda& cuda);
void gpu_errors(Cuda& cuda);
void gpu_pageable(Cuda& cuda);
void gpu_speed(Cuda& cuda, bool host_only);

namespace {

Cuda g_cuda;

using Bytes = std::vector<unsigned char>;

// Contents that tell rank, number and place.
Bytes pattern(uint32_t of, unsigned number, size_t bytes) {
  Bytes made(bytes);
  uint32_t state = of * 2654435761U + number * 40503U + 1;
  for (unsigned char& byte : made) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
  return made;
}
uint32_t last() {
  const auto ranks = static_cast<uint32_t>(ompl_size());
  return (rank() + ranks - 1) % ranks;
}
const unsigned char* own(uint64_t offset) {
  return static_cast<const unsigned char*>(ompl_ptr(rank(), offset));
}
Bytes on_device(uint64_t device, size_t bytes) {
  Bytes read(bytes);
  g_cuda.read(read.data(), device, bytes);
  return read;
}
void arrived(uint64_t flag, uint64_t data, const Bytes& wanted, const char* what) {
  ok(ompl_wait(flag), what);
  expect(std::memcmp(own(data), wanted.data(), wanted.size()) == 0, what);
  ok(ompl_barrier(), "ompl_barrier");
}
// Completes a nonblocking operation that may have to be tried again.
template <class Operation>
void complete(Operation operation, ompl_handle* handle, const char* what) {
  int code = operation();
  while (code > OMPL_PENDING) {
    const int progressed = ompl_progress(OMPL_CTX_DEFAULT, 1'000'000);
    if (progressed < 0) ok(progressed, "ompl_progress");
    code = operation();
  }
  expect(code == OMPL_OK || code == OMPL_PENDING, what);
  if (handle != nullptr) ok(ompl_handle_wait(OMPL_CTX_DEFAULT, handle, OMPL_FOREVER), what);
}

struct Places {
  uint64_t device;
  uint64_t data;
  uint64_t flag;
};

void one_size(const Places& at, size_t bytes, unsigned number) {
  const uint64_t device = at.device + number % 5;  // no alignment is asked for
  const Bytes mine = pattern(rank(), number, bytes);
  const Bytes theirs = pattern(last(), number, bytes);
  const Bytes zeros(bytes);
  const ompl_signal signal = {.flag_addr = at.flag, .value = 1, .op = OMPL_ADD32};
  g_cuda.fill(device, mine.data(), bytes);
  ok(ompl_put(device, next(), at.data, bytes), "a put from a GPU");
  ok(ompl_put_word(next(), at.flag), "ompl_put_word");
  arrived(at.flag, at.data, theirs, "a put from a GPU");

  g_cuda.fill(device, zeros.data(), bytes);
  ok(ompl_get(device, next(), at.data, bytes), "a get into a GPU");
  expect(on_device(device, bytes) == mine, "a get into a GPU brought something else");
  ok(ompl_barrier(), "ompl_barrier");

  const Bytes again = pattern(rank(), number + 1000, bytes);
  g_cuda.fill(device, again.data(), bytes);
  ok(ompl_put_signal(device, next(), at.data, bytes, at.flag), "ompl_put_signal");
  arrived(at.flag, at.data, pattern(last(), number + 1000, bytes), "ompl_put_signal from a GPU");

  for (const bool local : {false, true}) {
    const unsigned version = number + (local ? 2000 : 3000);
    const Bytes sent = pattern(rank(), version, bytes);
    g_cuda.fill(device, sent.data(), bytes);
    ompl_handle handle = OMPL_HANDLE_INIT;
    complete(
        [&] {
          return ompl_put_nb(OMPL_CTX_DEFAULT, device, next(), at.data, bytes, &signal,
                             local ? OMPL_LOCAL : 0, &handle);
        },
        &handle, "ompl_put_nb");
    arrived(at.flag, at.data, pattern(last(), version, bytes), "ompl_put_nb from a GPU");
  }
  g_cuda.fill(device, zeros.data(), bytes);
  ompl_handle handle = OMPL_HANDLE_INIT;
  complete([&] { return ompl_get_nb(OMPL_CTX_DEFAULT, device, next(), at.data, bytes, &handle); },
           &handle, "ompl_get_nb");
  expect(on_device(device, bytes) == pattern(rank(), number + 2000, bytes), "ompl_get_nb into a GPU");
  ok(ompl_barrier(), "ompl_barrier");
}

// More nonblocking puts at once than there are buffers, without handles.
void many_at_once(const Places& at) {
  constexpr size_t kPuts = 200;
  const Bytes mine = pattern(rank(), 7, kPuts * 8);
  g_cuda.fill(at.device, mine.data(), mine.size());
  for (size_t i = 0; i < kPuts; ++i) {
    complete(
        [&] {
          return ompl_put_nb(OMPL_CTX_DEFAULT, at.device + i * 8, next(), at.data + i * 8, 8, nullptr,
                             0, nullptr);
        },
        nullptr, "one of many puts");
  }
  ok(ompl_flush(), "ompl_flush");
  ok(ompl_put_word(next(), at.flag), "ompl_put_word");
  arrived(at.flag, at.data, pattern(last(), 7, kPuts * 8), "many puts at once");
}

// Rows and elements at distances, some of them negative; what lies between stays as it is.
void shapes(const Places& at) {
  constexpr size_t kRows = 37, kColumns = 5, kElement = 8, kBytes = kRows * kColumns * kElement;
  constexpr ptrdiff_t kPitch = 256;
  const size_t extents[] = {kRows, kColumns};
  const ptrdiff_t strides[] = {-kPitch, 24};
  const ompl_strided block = {.element = kElement,
                              .dimensions = 2,
                              .extents = extents,
                              .local_strides = strides,
                              .remote_strides = nullptr};
  const ompl_signal signal = {.flag_addr = at.flag, .value = 1, .op = OMPL_ADD32};
  const Bytes whole = pattern(rank(), 8, kRows * kPitch);
  const auto packed = [&](const Bytes& from) {
    Bytes made;
    for (size_t row = 0; row < kRows; ++row)
      for (size_t column = 0; column < kColumns; ++column) {
        const auto* const element = &from[(kRows - 1 - row) * kPitch + column * 24];
        made.insert(made.end(), element, element + kElement);
      }
    return made;
  };
  const uint64_t first = at.device + (kRows - 1) * kPitch;
  g_cuda.fill(at.device, whole.data(), whole.size());
  ok(ompl_ctx_put_strided(OMPL_CTX_DEFAULT, first, next(), at.data, &block, &signal, OMPL_FOREVER),
     "a strided put from a GPU");
  arrived(at.flag, at.data, packed(pattern(last(), 8, kRows * kPitch)), "a strided put from a GPU");

  Bytes other = pattern(rank(), 9, kRows * kPitch);
  g_cuda.fill(at.device, other.data(), other.size());
  ok(ompl_ctx_get_strided(OMPL_CTX_DEFAULT, first, next(), at.data, &block, OMPL_FOREVER),
     "a strided get into a GPU");
  for (size_t row = 0; row < kRows; ++row)
    for (size_t column = 0; column < kColumns; ++column)
      std::copy_n(&whole[row * kPitch + column * 24], kElement, &other[row * kPitch + column * 24]);
  expect(on_device(at.device, other.size()) == other, "a strided get wrote something else");
  ok(ompl_barrier(), "ompl_barrier");

  const uint64_t places[] = {40, 8, 1000};
  const ompl_indexed list = {.element = 16, .count = 3, .local = places, .remote = nullptr};
  ok(ompl_ctx_put_indexed(OMPL_CTX_DEFAULT, at.device, next(), at.data + kBytes, &list, &signal,
                          OMPL_FOREVER),
     "an indexed put from a GPU");
  ok(ompl_wait(at.flag), "ompl_wait");
  ok(ompl_flush(), "ompl_flush");  // a get may overtake a put
  Bytes back(48);
  const ompl_indexed straight = {.element = 16, .count = 3, .local = nullptr, .remote = nullptr};
  ok(ompl_ctx_get_indexed(OMPL_CTX_DEFAULT, at.device + 4096, next(), at.data + kBytes, &straight,
                          OMPL_FOREVER),
     "an indexed get into a GPU");
  g_cuda.read(back.data(), at.device + 4096, back.size());
  for (size_t i = 0; i < 3; ++i)
    expect(std::memcmp(&back[i * 16], &other[places[i]], 16) == 0, "an indexed element is another");
  ok(ompl_barrier(), "ompl_barrier");
}

// What the checks say is the same as of memory of the CPU.
void misuse(const Places& at) {
  expect(ompl_put(at.device, static_cast<uint32_t>(ompl_size()), at.data, 8) == OMPL_ERR_RANK,
         "a rank");
  expect(ompl_put(at.device, next(), 64, 8) == OMPL_ERR_OFFSET, "an offset");
  expect(ompl_get(at.device, next(), 64, 8) == OMPL_ERR_OFFSET, "an offset of a get");
  ok(ompl_put(at.device, next(), at.data, 0), "a put of nothing");
  expect(ompl_register(reinterpret_cast<void*>(at.device), 64) == OMPL_ERR_UNSUPPORTED,
         "ompl_register");
  uint64_t offset = 0;
  expect(ompl_adopt_local(reinterpret_cast<void*>(at.device & ~uint64_t{4095}), 4096, &offset) ==
             OMPL_ERR_UNSUPPORTED,
         "ompl_adopt_local");
}

void check(size_t most) {
  const Places at{g_cuda.memory(most + 64), allocate(most), allocate(64)};
  unsigned number = 0;
  for (size_t bytes : {size_t{1}, size_t{7}, size_t{8}, size_t{4095}, size_t{4096}, size_t{65537},
                       size_t{1} << 20, (size_t{1} << 20) + 1, (size_t{3} << 20) + 5, size_t{64} << 20})
    one_size(at, std::min(bytes, most), number++);
  many_at_once(at);
  shapes(at);
  misuse(at);
  // To this rank itself, through a context of its own, with a limit that has passed.
  ompl_ctx* ctx = nullptr;
  ok(ompl_ctx_create(&ctx), "ompl_ctx_create");
  const Bytes mine = pattern(rank(), 10, 100);
  g_cuda.fill(at.device, mine.data(), mine.size());
  ok(ompl_ctx_put(ctx, at.device, rank(), at.data, 100, 0), "a put to the rank itself");
  expect(std::memcmp(own(at.data), mine.data(), 100) == 0, "a put to the rank itself");
  ok(ompl_ctx_destroy(ctx), "ompl_ctx_destroy");
  ok(ompl_barrier(), "ompl_barrier");
}

// Memory of each kind, as the functions of ompl_memory.h name it.
void kinds() {
  constexpr size_t kBytes = 100'000;
  uint64_t managed = 0;
  uint64_t pooled = 0;
  void* pinned = nullptr;
  Cuda::must(g_cuda.alloc_managed(&managed, kBytes, 1), "cuMemAllocManaged");
  Cuda::must(g_cuda.alloc_async(&pooled, kBytes, nullptr), "cuMemAllocAsync");
  Cuda::must(g_cuda.alloc_host(&pinned, kBytes, 0), "cuMemHostAlloc");
  Bytes usual(kBytes);
  const Places at{0, allocate(kBytes), allocate(64)};
  struct Kind {
    uint64_t address;
    int kind;
    const char* name;
  };
  const Kind all[] = {{g_cuda.memory(kBytes), OMPL_KIND_DEVICE, "device memory"},
                      {pooled, OMPL_KIND_DEVICE, "memory of a pool"},
                      {managed, OMPL_KIND_HOST, "managed memory"},
                      {address(pinned), OMPL_KIND_HOST, "pinned memory"},
                      {address(usual.data()), OMPL_KIND_HOST, "memory of the CPU"}};
  unsigned number = 20;
  for (const Kind& one : all) {
    int kind = -1;
    ok(ompl_memory_kind(reinterpret_cast<const void*>(one.address), &kind), "ompl_memory_kind");
    expect(kind == one.kind, one.name);
    const bool device = kind == OMPL_KIND_DEVICE;
    const Bytes mine = pattern(rank(), ++number, kBytes);
    Bytes back(kBytes);
    if (device)
      g_cuda.fill(one.address, mine.data(), kBytes);
    else
      std::memcpy(reinterpret_cast<void*>(one.address), mine.data(), kBytes);
    ok(ompl_put_signal(one.address, next(), at.data, kBytes, at.flag), one.name);
    arrived(at.flag, at.data, pattern(last(), number, kBytes), one.name);
    ok(ompl_get(one.address, rank(), at.data, kBytes), one.name);
    if (device)
      g_cuda.read(back.data(), one.address, kBytes);
    else
      std::memcpy(back.data(), reinterpret_cast<void*>(one.address), kBytes);
    expect(back == pattern(last(), number, kBytes), one.name);
    ok(ompl_barrier(), "ompl_barrier");
  }
  ok(ompl_kind_supports(OMPL_KIND_DEVICE, OMPL_USE_LOCAL), "device memory as a local buffer");
  expect(ompl_kind_supports(OMPL_KIND_DEVICE, OMPL_USE_REMOTE) == OMPL_ERR_UNSUPPORTED, "a remote use");
  ok(ompl_kind_supports(OMPL_KIND_HOST, OMPL_USE_REMOTE), "memory of the CPU");
  expect(ompl_kind_supports(7, OMPL_USE_LOCAL) == OMPL_ERR_ARG, "an unknown kind");
  expect(ompl_can_adopt(reinterpret_cast<void*>(all[0].address & ~uint64_t{4095}), 4096) ==
             OMPL_ERR_UNSUPPORTED,
         "adoption of device memory");
}

// OMPL_GPU=refuse.
void refused() {
  const Places at{g_cuda.memory(64), allocate(64), 0};
  expect(ompl_put(at.device, next(), at.data, 8) == OMPL_ERR_UNSUPPORTED, "a put");
  expect(ompl_get(at.device, next(), at.data, 8) == OMPL_ERR_UNSUPPORTED, "a get");
  expect(ompl_kind_supports(OMPL_KIND_DEVICE, OMPL_USE_LOCAL) == OMPL_ERR_UNSUPPORTED, "the question");
}

// Several threads at once, on memory and flags of their own.
void threads() {
  constexpr size_t kThreads = 6, kBytes = 300'000;
  const uint64_t data = allocate(kThreads * kBytes);
  const uint64_t flags = allocate(kThreads * 256);
  std::vector<std::thread> all;
  for (size_t t = 0; t < kThreads; ++t) {
    all.emplace_back([=] {  // without a current context: the memory's is used
      g_cuda.set_current(g_cuda.context);
      const uint64_t device = g_cuda.memory(kBytes);
      g_cuda.set_current(nullptr);
      for (unsigned round = 0; round < 20; ++round) {
        const size_t bytes = 1 + (round * 7919 + t * 104729) % kBytes;
        const auto version = static_cast<unsigned>(t * 100 + round);
        const Bytes mine = pattern(rank(), version, bytes);
        g_cuda.set_current(g_cuda.context);
        g_cuda.fill(device, mine.data(), bytes);
        g_cuda.set_current(nullptr);
        ok(ompl_put_signal(device, next(), data + t * kBytes, bytes, flags + t * 256),
           "ompl_put_signal");
        ok(ompl_wait(flags + t * 256), "ompl_wait");
        const Bytes theirs = pattern(last(), version, bytes);
        expect(std::memcmp(own(data + t * kBytes), theirs.data(), bytes) == 0, "a thread's put");
        ok(ompl_get(device, rank(), data + t * kBytes, bytes), "ompl_get");
        g_cuda.set_current(g_cuda.context);
        expect(on_device(device, bytes) == theirs, "a thread's get");
        g_cuda.set_current(nullptr);
        ok(ompl_put_word(last(), flags + t * 256 + 128), "ompl_put_word");  // it may be overwritten
        ok(ompl_wait(flags + t * 256 + 128), "ompl_wait");
      }
    });
  }
  for (std::thread& thread : all) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "check";
  g_cuda.open();
  if (how == "look") return 0;
  ok(ompl_init(), "ompl_init");
  const bool speaks = rank() == 0;
  if (how == "check") check(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : size_t{64} << 20);
  if (how == "kinds") kinds();
  if (how == "threads") threads();
  if (how == "contexts") gpu_contexts(g_cuda);
  if (how == "errors") gpu_errors(g_cuda);
  if (how == "refused") refused();
  if (how == "pageable") gpu_pageable(g_cuda);
  if (how == "speed" || how == "host") gpu_speed(g_cuda, how == "host");
  ok(ompl_finalize(), "ompl_finalize");
  if (how == "errors") {
    const auto left = [](const char* name) {
      return reinterpret_cast<size_t (*)()>(::dlsym(g_cuda.library, name))();
    };
    expect(left("fake_cuda_streams") == 0, "streams are left");
    expect(left("fake_cuda_registrations") == 0, "registered memory is left");
  }
  if (speaks) std::printf("%s: done\n", argv[1]);
  return 0;
}
