// SPDX-License-Identifier: BSD-3-Clause
// Bandwidth of puts and gets between memory of a GPU and another rank's segment, beside a copy by hand: cuMemcpy to or from
// pinned memory, then memcpy. Rank 0 works, the others wait. No test: for people.
#include <omnipgas/ompl_memory.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "../programs/ranks_worker.hpp"
#include "cuda_driver.hpp"

namespace {

constexpr size_t kMost = size_t{64} << 20;

template <class Work>
double microseconds(Work work, size_t times) {
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < times; ++i) work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() /
         static_cast<double>(times);
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

// Interleaved rounds: put, get, and both by hand.
void transfers(Cuda& cuda, uint64_t device, uint64_t data, char* pinned) {
  auto* const there = static_cast<char*>(ompl_ptr(next(), data));
  std::printf("%10s %12s %12s %12s %12s   microseconds (GB/s)\n", "bytes", "put", "by hand", "get",
              "by hand");
  for (size_t bytes = 8; bytes <= kMost; bytes *= bytes < 4096 ? 512 : 4) {
    const size_t times = std::clamp(kMost / bytes, size_t{2}, size_t{200});
    std::vector<double> took[4];
    for (int round = 0; round < 9; ++round) {
      took[0].push_back(
          microseconds([&] { ok(ompl_put(device, next(), data, bytes), "ompl_put"); }, times));
      took[1].push_back(microseconds(
          [&] {
            cuda.read(pinned, device, bytes);
            if (there != nullptr) std::memcpy(there, pinned, bytes);
          },
          times));
      took[2].push_back(
          microseconds([&] { ok(ompl_get(device, next(), data, bytes), "ompl_get"); }, times));
      took[3].push_back(microseconds(
          [&] {
            if (there != nullptr) std::memcpy(pinned, there, bytes);
            cuda.fill(device, pinned, bytes);
          },
          times));
    }
    std::printf("%10zu", bytes);
    for (const auto& all : took)
      std::printf(" %8.1f %5.1f", median(all), static_cast<double>(bytes) / median(all) / 1000);
    std::printf("\n");
  }
}

// What the question costs puts of memory of the CPU, by number of threads.
void host_puts(Cuda& cuda, uint64_t data) {
  for (const size_t count : {size_t{1}, size_t{4}, size_t{8}}) {
    std::vector<double> puts(count);
    std::vector<double> questions(count);
    std::vector<std::thread> all;
    for (size_t t = 0; t < count; ++t) {
      all.emplace_back([&, t] {
        uint64_t word = t;
        unsigned type = 0;
        ok(ompl_put(address(&word), next(), data + t * 256, 8), "ompl_put");
        puts[t] = microseconds([&] { ompl_put(address(&word), next(), data + t * 256, 8); }, 200'000);
        questions[t] = microseconds([&] { cuda.question(&type, 2, address(&word)); }, 200'000);
      });
    }
    for (std::thread& thread : all) thread.join();
    std::printf("%zu threads: a put of 8 B of host memory %.1f ns, a question to the driver %.1f ns\n",
                count, 1000 * median(puts), 1000 * median(questions));
  }
}

}  // namespace

void gpu_speed(Cuda& cuda, bool host_only) {
  const uint64_t data = allocate(kMost);
  if (rank() == 0) {
    char name[256] = "";
    int version = 0;
    cuda.device_name(name, sizeof name, 0);
    cuda.version(&version);
    std::printf("%s, CUDA %d\n", name, version);
    void* pinned = nullptr;
    Cuda::must(cuda.alloc_host(&pinned, kMost, 0), "cuMemHostAlloc");
    if (!host_only) transfers(cuda, cuda.memory(kMost), data, static_cast<char*>(pinned));
    host_puts(cuda, data);
  }
  ok(ompl_barrier(), "ompl_barrier");
}
