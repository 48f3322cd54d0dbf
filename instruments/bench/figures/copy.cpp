// SPDX-License-Identifier: BSD-3-Clause
// The copy of a direct put by each routine there is, at each size (docs/performance/memory.md). What counts is when the target
// has the data: one process copies into shared memory and raises a flag, the other reads every line and
// answers. Prints one JSON object per size: {"size", "ns": {routine: [one value per round]}}.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

namespace {

using Routine = void (*)(void*, const void*, std::size_t);
constexpr std::size_t kLargest = std::size_t{4} << 20;
constexpr int kRounds = 25;
constexpr std::size_t kCacheLine = 64;

struct Shared {
  alignas(128) std::atomic<std::size_t> full{0};  // bytes to be read
  alignas(128) std::atomic<bool> taken{false};
  alignas(4096) char data[kLargest];
};

#ifdef __x86_64__
void pause_cpu() { _mm_pause(); }

void rep_movsb(void* to, const void* from, std::size_t length) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length)::"memory");
}

// Stores that pass the caches by, in 16-byte pieces.
void streaming(void* to, const void* from, std::size_t length) {
  auto* out = static_cast<__m128i*>(to);
  const auto* in = static_cast<const __m128i*>(from);
  for (std::size_t left = length / sizeof *out; left > 0; --left)
    _mm_stream_si128(out++, _mm_loadu_si128(in++));
  _mm_sfence();
}
#else
void pause_cpu() {}
#endif

const std::map<std::string, Routine> kRoutines{
    {"memcpy", [](void* to, const void* from, std::size_t n) { std::memcpy(to, from, n); }},
#ifdef __x86_64__
    {"rep_movsb", rep_movsb},
    {"streaming", streaming},
#endif
};

[[noreturn]] void read_all(Shared& shared) {
  for (uint64_t sum = 0;; shared.taken.store(sum != 1)) {
    std::size_t length = 0;
    while ((length = shared.full.exchange(0)) == 0) pause_cpu();
    for (std::size_t i = 0; i < length; i += kCacheLine)
      sum += static_cast<unsigned char>(const_cast<volatile char&>(shared.data[i]));
    sum *= 2;  // never 1
  }
}

double nanoseconds(Shared& shared, const char* source, Routine copy, std::size_t size) {
  const auto repeats = std::clamp<std::size_t>((std::size_t{2} << 20) / size, 4, 4000);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < repeats; ++i) {
    copy(shared.data, source, size);
    shared.full.store(size);
    while (!shared.taken.exchange(false)) pause_cpu();
  }
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / static_cast<double>(repeats);
}

}  // namespace

int main() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& shared = *new (memory) Shared;
  const std::vector<char> source(kLargest, 1);
  const pid_t parent = ::getpid();
  if (::fork() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) read_all(shared);
    return 0;
  }
  for (const std::size_t size : {16U, 64U, 512U, 4096U, 65536U, 1048576U, 4194304U}) {
    std::map<std::string, std::vector<double>> found;
    for (int round = -1; round < kRounds; ++round) {  // the first warms up
      for (const auto& [name, routine] : kRoutines) {
        const double taken = nanoseconds(shared, source.data(), routine, size);
        if (round >= 0) found[name].push_back(taken);
      }
    }
    fmt::print("{{\"size\": {}, \"ns\": {{", size);
    const char* comma = "";
    for (const auto& [name, values] : found) {
      fmt::print("{}\"{}\": [{:.1f}]", comma, name, fmt::join(values, ", "));
      comma = ", ";
    }
    fmt::print("}}}}\n");
  }
}
