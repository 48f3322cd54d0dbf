// SPDX-License-Identifier: BSD-3-Clause
// What language runtimes need, on two ranks: `runtimes WHAT`, a line of JSON a round (omni figures). Each beside its baseline,
// or the latency of a wait for memory after a time of waiting.
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <omnipgas/ompl_calls.h>
#include <omnipgas/ompl_inline.h>
#include <omnipgas/ompl_memory.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "raw/operations.h"

namespace {

constexpr int kRounds = 41;

void must(int code) {
  if (code >= OMPL_OK) return;
  std::fprintf(stderr, "%s: %s\n", ompl_strerror(code), ompl_error_detail());
  std::exit(1);
}

int64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Nanoseconds per call.
template <class Call>
double time(int calls, Call call) {
  const int64_t begin = now_ns();
  for (int i = 0; i < calls; ++i) call();
  return static_cast<double>(now_ns() - begin) / calls;
}

void print(const char* op, double ompl, double twin) {
  fmt::print("{{\"op\": \"{}\", \"ompl\": {:.3f}, \"twin\": {:.3f}}}\n", op, ompl, twin);
}

// Symmetric places of all measurements.
struct Places {
  uint64_t data, flag, done;
};

uint64_t address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

// Two puts with a fence between, beside two puts.
void fence(const Places& at) {
  uint64_t value = 1;
  const auto put = [&](uint64_t to) { must(ompl_put(address(&value), 1, to, sizeof value)); };
  const auto fenced = [&] {
    put(at.data);
    must(ompl_ctx_fence(OMPL_CTX_DEFAULT, 1, OMPL_FOREVER));
    put(at.data + 64);
  };
  const auto plain = [&] {
    put(at.data);
    put(at.data + 64);
  };
  for (int round = 0; round < kRounds; ++round) {
    double ns[2] = {0, 0};
    for (const int which : {round % 2, 1 - round % 2})
      ns[which] = which == 0 ? time(20'000, fenced) : time(20'000, plain);
    print("fence", ns[0], ns[1]);
  }
}

// Bytes that this process has sent and received by TCP so far.
double tcp_bytes() {
  uint64_t sum = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
      sum += info.tcpi_bytes_sent + info.tcpi_bytes_received;
  }
  return static_cast<double>(sum);
}

// The same over a network: bytes on the wire of 100 of each, completed by a flush.
void fence_bytes(const Places& at) {
  uint64_t value = 1;
  const auto bytes = [&](bool fenced) {
    const double before = tcp_bytes();
    for (int i = 0; i < 100; ++i) {
      must(ompl_put(address(&value), 1, at.data, sizeof value));
      if (fenced) must(ompl_ctx_fence(OMPL_CTX_DEFAULT, 1, OMPL_FOREVER));
      must(ompl_put(address(&value), 1, at.data + 64, sizeof value));
      must(ompl_flush());
    }
    return (tcp_bytes() - before) / 100;
  };
  static_cast<void>(bytes(false));  // connects
  for (int round = 0; round < 11; ++round) {
    const double plain = bytes(false);
    print("fence_bytes", bytes(true), plain);
  }
}

// Addition of doubles, compiled in (ompl_inline.h), beside a loop of compare-and-swap on mapped memory.
void double_add(const Places& at) {
  void* const raw = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) std::exit(1);
  const auto mine = [&] {
    must(ompl_ctx_atomic64(OMPL_CTX_DEFAULT, 1, at.data, OMPL_ATOMIC_FADD, ompl_bits_of_double(1.5), 0,
                           nullptr, OMPL_FOREVER));
  };
  const auto twin = [&] { must(baseline_double_add(raw, 4096, 0, 1.5)); };
  for (int round = 0; round < kRounds; ++round) {
    double ns[2] = {0, 0};
    for (const int which : {round % 2, 1 - round % 2})
      ns[which] = which == 0 ? time(50'000, mine) : time(50'000, twin);
    print("double_add", ns[0], ns[1]);
  }
}

uint64_t echo(void* /*user*/, const ompl_call_context* call) {
  return *static_cast<const uint64_t*>(call->arguments);
}

// A call of 8 bytes with its reply, beside data and flag both ways. Both ranks run it.
void call(const Places& at, bool signals, int trips) {
  uint32_t number = 0;
  must(ompl_call_register("echo", echo, nullptr, &number));
  const auto rank = static_cast<uint32_t>(ompl_rank());
  uint64_t value = rank;
  const auto send = [&] {
    if (signals)
      return must(ompl_put_signal(address(&value), 1 - rank, at.data, sizeof value, at.flag));
    must(ompl_put(address(&value), 1 - rank, at.data, sizeof value));
    must(ompl_put_word(1 - rank, at.flag));
  };
  const auto ask = [&] {
    ompl_call_request request = OMPL_CALL_INIT;
    request.function = number;
    request.arguments = &value;
    request.length = sizeof value;
    uint64_t reply = 0;
    must(ompl_call(OMPL_CTX_DEFAULT, 1, &request, &reply, OMPL_FOREVER));
    if (reply != value) std::exit(1);
  };
  for (int round = -1; round < kRounds; ++round) {
    double ns[2] = {0, 0};
    for (const int which : {round & 1, 1 - (round & 1)}) {
      must(ompl_barrier());
      if (which == 0) {
        if (rank == 0) ns[0] = time(trips, ask);  // rank 1 serves in the next barrier
      } else if (rank == 0) {
        ns[1] = time(trips, [&] {
          send();
          must(ompl_wait(at.flag));
        });
      } else {
        static_cast<void>(time(trips, [&] {
          must(ompl_wait(at.flag));
          send();
        }));
      }
    }
    must(ompl_barrier());
    if (rank == 0 && round >= 0) print("call", ns[0], ns[1]);
  }
}

// Rank 1 puts the time into rank 0's word once rank 0 has waited for `wait_us`; nanoseconds until rank 0 knows, and the processor time
// of its wait as a share of it.
void wait_memory(const Places& at, int64_t wait_us) {
  for (int round = 0; round < kRounds; ++round) {
    must(ompl_barrier());
    const int64_t begin = now_ns();
    if (ompl_rank() == 0) {
      const ompl_condition there{.flag_addr = at.data, .value = 0, .comparison = OMPL_NE, .width = 64};
      const int64_t spent = now_ns(CLOCK_THREAD_CPUTIME_ID);
      must(ompl_wait_memory(OMPL_CTX_DEFAULT, &there, OMPL_FOREVER));
      const int64_t end = now_ns();
      const int64_t used = now_ns(CLOCK_THREAD_CPUTIME_ID) - spent;
      auto* const word = static_cast<int64_t*>(ompl_ptr(0, at.data));
      print("wait", static_cast<double>(end - *word),
            100 * static_cast<double>(used) / static_cast<double>(end - begin));
      *word = 0;
    } else {
      while (now_ns() - begin < wait_us * 1000) {
        if (wait_us > 1000) ::usleep(500);
      }
      const int64_t now = now_ns();
      must(ompl_put(address(&now), 0, at.data, sizeof now));
    }
  }
}

// What rank 0 does while rank 1 waits in the library, or what both do. False: there is no such measurement.
bool measure(std::string_view what, int number, const Places& at) {
  const bool first = ompl_rank() == 0;
  if (what == "fence") {
    if (first) fence(at);
  } else if (what == "fence_bytes") {
    if (first) fence_bytes(at);
  } else if (what == "double_add") {
    if (first) double_add(at);
  } else if (what == "call") {
    call(at, false, number);
  } else if (what == "call_signal") {
    call(at, true, number);
  } else if (what == "wait") {
    wait_memory(at, number);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  must(ompl_init());
  Places at{};
  must(ompl_alloc(4096, &at.data));
  must(ompl_alloc(sizeof(uint32_t), &at.flag));
  must(ompl_alloc(sizeof(uint32_t), &at.done));
  if (argc < 2 || ompl_size() != 2 || !measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 0, at)) {
    std::fprintf(stderr, "needs two ranks, and what to measure\n");
    return 2;
  }
  if (ompl_rank() == 0)
    must(ompl_put_word(1, at.done));
  else
    must(ompl_wait(at.done));
  must(ompl_finalize());
  return 0;
}
