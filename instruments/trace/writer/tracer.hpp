// SPDX-License-Identifier: BSD-3-Clause
// The tracer of a process: its file, its threads, and the ids of what records name.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "clock.hpp"
#include "file.hpp"
#include "format.hpp"
#include "requests.hpp"
#include "stream.hpp"

namespace ompl::trace {

// A return address and its id, which threads look up in their own cache first.
struct Site {
  uintptr_t address;
  uint32_t id;
};

// As std::mutex, which would bring the C++ library into every program that is traced.
class Mutex {
 public:
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

// What a thread has of its own; all zero when it begins.
struct Thread {
  static constexpr std::size_t kSites = 256;

  Stream stream;
  SharedSends shared_sends;
  uint32_t next_request;
  uint32_t end_of_requests;
  Site sites[kSites];
  void* scratch;
  std::size_t scratch_bytes;

  uint32_t request_id();
  // Between calls: what it takes to define one is recorded.
  uint32_t site_id(uintptr_t address);
  // Memory for one call; null if there is none.
  void* scratch_of(std::size_t bytes);
};

class Tracer {
 public:
  bool start(const char* folder, const FileHeader& header);
  void stop() { recording_ = false; }
  bool recording() const { return recording_.load(std::memory_order_relaxed); }

  // Of this process, which is that rank: all but the library's own fields, the clocks and the sum.
  FileHeader header_of_process(uint32_t rank, uint32_t ranks) const;
  // Its clock now, beside CLOCK_MONOTONIC.
  ClockPoint clock_point() const;
  // The first record, of the call that initialized the library between these ticks; false if there is no memory.
  bool record_init(uint64_t begin, uint64_t end, void* caller);

  // The state of a thread that calls for the first time; null if there is no memory for it.
  Thread* add_thread();
  static void remove_thread(Thread* thread);

  uint32_t define_site(uintptr_t address);
  uint32_t define_text(const char* text);

  // For definitions of several records: hold `mutex`.
  Mutex mutex;
  Stream definitions{};

  Clock clock;
  File file;
  Requests requests;
  std::atomic<uint32_t> next_request{1};

 private:
  struct Defined {
    uint64_t key;
    uint32_t id;
  };
  static constexpr std::size_t kDefined = 1 << 16;

  // The id of a key; new ones are 1, 2, ... in the order of their coming. 0: the table is full.
  static uint32_t id_of(Defined* table, uint32_t& count, uint64_t key, bool& is_new);
  uint32_t text_id(const char* text);

  std::atomic<bool> recording_{false};
  std::atomic<uint32_t> next_thread_{1};
  Defined* sites_ = nullptr;
  Defined* texts_ = nullptr;
  uint32_t site_count_ = 0;
  uint32_t text_count_ = 0;
};

extern constinit Tracer tracer;

// Of the calling thread. `depth` keeps a library's calls inside of its calls out of the trace.
struct Local {
  Thread* thread;
  uintptr_t fortran_site;  // set by the Fortran name through which the call came, else 0
  uint32_t depth;
};

#define OMPL_TRACE_TLS __attribute__((tls_model("initial-exec")))
extern "C" constinit OMPL_TRACE_TLS thread_local Local ompl_trace_local;

// The calling thread's state if the call is to be recorded, else null: the library is calling itself, or is not running.
inline Thread* enter() {
  Local& local = ompl_trace_local;
  if (local.depth != 0 || !tracer.recording()) return nullptr;
  Thread* thread = local.thread;
  if (thread == nullptr) {
    const uint64_t begin = tracer.clock.ticks();
    thread = tracer.add_thread();
    if (thread == nullptr) return nullptr;
    thread->stream.record_tracer(begin);
  }
  local.depth = 1;
  return thread;
}

inline uint32_t Thread::site_id(uintptr_t address) {
  Site& site = sites[(address ^ (address >> 8)) % kSites];
  if (site.address != address) {
    const uint64_t begin = tracer.clock.ticks();
    site = {address, tracer.define_site(address)};
    stream.record_tracer(begin);
  }
  return site.id;
}

inline uint32_t Thread::request_id() {
  constexpr uint32_t kAtOnce = 4096;
  if (next_request == end_of_requests) {
    next_request = tracer.next_request.fetch_add(kAtOnce, std::memory_order_relaxed);
    end_of_requests = next_request + kAtOnce;
  }
  return next_request++;
}

}  // namespace ompl::trace
