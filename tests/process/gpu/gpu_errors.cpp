// SPDX-License-Identifier: BSD-3-Clause
// What gpu_worker does over the stand-in alone, which fails when it is told to.
#include <omnipgas/coll.h>
#include <omnipgas/halo.h>
#include <omnipgas/ompl_calls.h>
#include <omnipgas/ompl_memory.h>

#include <cstring>
#include <string>
#include <vector>

#include "../programs/ranks_worker.hpp"
#include "cuda_driver.hpp"

namespace {

constexpr size_t kBytes = size_t{5} << 19;  // of several chunks

struct Job {
  Cuda& cuda;
  void (*fail)(const char* function, int error, int skip);
  uint64_t device;
  uint64_t data;
};

void says(const char* call, int error) {
  const std::string detail = ompl_error_detail();
  if (detail.find(call) == std::string::npos || detail.find(std::to_string(error)) == std::string::npos)
    broken("the error does not name the call and its code");
}

// While the first buffer is made: nothing of it is left.
void no_buffer(const Job& job) {
  job.fail("cuStreamCreate", 999, 1);
  expect(ompl_put(job.device, next(), job.data, 8) == OMPL_ERR_SYSTEM, "a put without a stream");
  says("cuStreamCreate", 999);
  job.fail("cuStreamCreate", 2, 0);
  expect(ompl_get(job.device, next(), job.data, 8) == OMPL_ERR_MEMORY, "a get without a stream");
  says("cuStreamCreate", 2);
}

// Each function of the driver that a transfer needs fails once: the code, and that the next transfer is as if nothing had been.
void each_call_fails(const Job& job) {
  const std::vector<char> zeros(kBytes);
  const std::vector<char> mine(kBytes, 'm');
  struct Case {
    const char* call;
    int error;
    int skip;
    bool get;
    int code;
  };
  const Case cases[] = {{"cuMemcpyDtoHAsync", 700, 0, false, OMPL_ERR_SYSTEM},
                        {"cuMemcpyDtoHAsync", 1, 1, false, OMPL_ERR_ARG},
                        {"cuMemcpyHtoDAsync", 2, 1, true, OMPL_ERR_MEMORY},
                        {"cuStreamSynchronize", 719, 1, false, OMPL_ERR_SYSTEM},
                        {"cuStreamSynchronize", 719, 0, true, OMPL_ERR_SYSTEM},
                        {"cuCtxPushCurrent", 709, 1, true, OMPL_ERR_SYSTEM}};
  for (const Case& one : cases) {
    job.cuda.fill(job.device, mine.data(), kBytes);
    job.fail(one.call, one.error, one.skip);
    const int code = one.get ? ompl_get(job.device, next(), job.data, kBytes)
                             : ompl_put(job.device, next(), job.data, kBytes);
    if (code != one.code) broken(one.call);
    says(one.call, one.error);
    ok(ompl_flush(), "ompl_flush");
    ok(ompl_put(job.device, next(), job.data, kBytes), "a put after an error");
    ok(ompl_flush(), "ompl_flush");  // a get may overtake a put
    job.cuda.fill(job.device, zeros.data(), kBytes);
    ok(ompl_get(job.device, next(), job.data, kBytes), "a get after an error");
    std::vector<char> back(kBytes);
    job.cuda.read(back.data(), job.device, kBytes);
    expect(back == mine, "a transfer after an error brought something else");
  }
  ompl_handle handle = OMPL_HANDLE_INIT;
  job.fail("cuMemcpyDtoHAsync", 700, 0);
  expect(ompl_put_nb(OMPL_CTX_DEFAULT, job.device, next(), job.data, 8, nullptr, 0, &handle) ==
             OMPL_ERR_SYSTEM,
         "a nonblocking put that the driver fails");
}

// More than was allocated on the device.
void wrong_memory(const Job& job) {
  const uint64_t small = job.cuda.memory(100);
  expect(ompl_put(small, next(), job.data, 101) == OMPL_ERR_ARG, "a put of more than the allocation");
  says("cuMemcpyDtoHAsync", 1);
  ok(ompl_put(small, next(), job.data, 100), "a put of the allocation");
  Cuda::must(job.cuda.free(small), "cuMemFree");
}

void refusals_of_halo(void* device) {
  ompl_halo_neighbor itself{};
  itself.rank = rank();
  itself.send_count = itself.receive_count = 2;
  const ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  ompl_halo* halo = nullptr;
  ok(ompl_halo_create(&config, &itself, 1, &halo), "ompl_halo_create");
  const double sent[] = {1, 2};
  double received[] = {0, 0};
  const void* from = device;
  expect(ompl_halo_start(OMPL_CTX_DEFAULT, halo, &from, OMPL_FOREVER) == OMPL_ERR_UNSUPPORTED,
         "ompl_halo_start");
  from = sent;
  ok(ompl_halo_start(OMPL_CTX_DEFAULT, halo, &from, OMPL_FOREVER), "an exchange after a refusal");
  ok(ompl_halo_wait(OMPL_CTX_DEFAULT, halo, OMPL_FOREVER), "ompl_halo_wait");
  void* into = device;
  expect(ompl_halo_unpack(halo, 0, &into) == OMPL_ERR_UNSUPPORTED, "ompl_halo_unpack");
  into = received;
  ok(ompl_halo_unpack(halo, 0, &into), "unpacking after a refusal");
  expect(std::memcmp(received, sent, sizeof sent) == 0, "the exchange brought something else");
  ok(ompl_halo_destroy(halo), "ompl_halo_destroy");
}

// What reads or writes the memory with the CPU refuses it.
void refusals(const Job& job) {
  auto* const device = reinterpret_cast<void*>(job.device);
  ompl_team* team = nullptr;
  ok(ompl_team_world(&team), "ompl_team_world");
  std::vector<char> host(64);
  expect(ompl_broadcast(team, device, 8, 0, nullptr, nullptr) == OMPL_ERR_UNSUPPORTED,
         "ompl_broadcast");
  expect(ompl_allgather(team, host.data(), device, 8, nullptr, nullptr) == OMPL_ERR_UNSUPPORTED,
         "ompl_allgather");
  ok(ompl_allgather(team, host.data(), host.data() + 16, 8, nullptr, nullptr), "memory of the CPU");
  ompl_call_request request = OMPL_CALL_INIT;
  request.src_addr = job.device;
  request.dest_addr = job.data;
  request.payload_length = 8;
  expect(ompl_call(OMPL_CTX_DEFAULT, next(), &request, nullptr, OMPL_FOREVER) == OMPL_ERR_UNSUPPORTED,
         "ompl_call");
  refusals_of_halo(device);
  uint64_t offset = 0;
  expect(ompl_adopt_local(device, 4096, &offset) == OMPL_ERR_UNSUPPORTED, "ompl_adopt_local");
}

// Without pinned memory it is slower, and right.
void no_pinned_memory(const Job& job) {
  job.fail("cuMemHostRegister", 2, 0);
  const std::vector<char> mine(kBytes, 'p');
  job.cuda.fill(job.device, mine.data(), kBytes);
  ok(ompl_put(job.device, rank(), job.data, kBytes), "a put through pageable memory");
  expect(std::memcmp(ompl_ptr(rank(), job.data), mine.data(), kBytes) == 0, "through pageable memory");
}

}  // namespace

// Contexts that the program makes and destroys, at the same address each time if the driver likes. The last one's end leaves
// something to ompl_finalize().
void gpu_contexts(Cuda& cuda) {
  constexpr size_t kSmall = 300'000;
  const uint64_t data = allocate(kSmall);
  for (char round = 'a'; round < 'g'; ++round) {
    void* context = nullptr;
    Cuda::must(cuda.create_context(&context, 0, 0), "cuCtxCreate");
    const uint64_t memory = cuda.memory(kSmall);
    const std::vector<char> mine(kSmall, round);
    cuda.fill(memory, mine.data(), kSmall);
    ok(ompl_put(memory, rank(), data, kSmall), "a put of another context's memory");
    expect(std::memcmp(ompl_ptr(rank(), data), mine.data(), kSmall) == 0, "another context's memory");
    Cuda::must(cuda.destroy_context(context), "cuCtxDestroy");
  }
}

void gpu_errors(Cuda& cuda) {
  Job job{.cuda = cuda, .fail = nullptr, .device = cuda.memory(kBytes), .data = allocate(kBytes)};
  cuda.get("fake_cuda_fail", &job.fail);
  no_buffer(job);
  each_call_fails(job);
  ok(ompl_barrier(), "ompl_barrier");
  wrong_memory(job);
  ok(ompl_barrier(), "ompl_barrier");
  gpu_contexts(cuda);
  refusals(job);
}

void gpu_pageable(Cuda& cuda) {
  Job job{.cuda = cuda, .fail = nullptr, .device = cuda.memory(kBytes), .data = allocate(kBytes)};
  cuda.get("fake_cuda_fail", &job.fail);
  no_pinned_memory(job);
}
