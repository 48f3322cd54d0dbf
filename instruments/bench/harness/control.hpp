// SPDX-License-Identifier: BSD-3-Clause
// The worker's line to its driver (instruments/omni/omnipgas_tools/measure/worker.py): a Unix socket per rank, one JSON
// object per line. A rank that has nothing to do is blocked in read() here, outside the library. One that is busy when
// the driver goes away ends all the same.
//
//   rank    {"hello": {"rank", "pid", "version", "transport", "endpoints", "details"}}
//   driver  {"do": "pingpong", "op", "threads", "size", "iterations", "seconds", "sequence",
//           "limit", "asleep"}                                                             both ranks
//           {"do": "flow", the same but "seconds": "iterations" messages, one answer}      both ranks
//           {"do": "rate", as pingpong}                                                    rank 0
//           {"do": "drain", the same, "counts": [per thread]}                              rank 1
//           {"do": "roundtrip", "op", "size", "iterations", "work", "timed", "polls"}      both ranks
//           {"do": "burst", "op", "size", "iterations", "messages"}: workers of roundtrip/  both ranks
//           {"do": "create", "op", "neighbors"}, {"do": "verify", "op", "iterations", "sequence"},
//           {"do": "exchange", "op", "iterations"}: workers of halo/                       all ranks
//           {"do": "grid", "grid"}, {"do": "create", "op"}, {"do": "verify", as above}, {"do": "compute", "iterations"},
//           {"do": "exchange", as above}, {"do": "overlap", the same, "polls"}: workers of product/  all ranks
//           {"do": "create", "op", "size", "kernel", "elements", "cores", "helpers"},
//           {"do": "alone", "kernel", "elements", "cores", "iterations"}, {"do": "verify", "iterations",
//           "sequence"}, {"do": "pure" or "overlap", "iterations", "skew"}: workers of overlap/  all ranks
//           {"do": "rest"}: ends what "attend" began                                       both ranks
//           {"do": "exit"}                                                                 both ranks
//   rank    {"report": {..., "cpu_seconds": of the process}}, or {"corrupt": "what"} and the end of the process
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "adapter.hpp"
#include "report.hpp"

namespace bench {

struct Command {
  std::string
      what;  // pingpong, flow, rate, drain; roundtrip, burst; create, verify, exchange, alone, ...
  std::string op;        // put, putonly (rate); pingpong and flow: put, putsignal, sendrecv; a strategy
  int threads = 1;       //
  std::size_t size = 8;  // bytes of a message, at least 4
  uint64_t iterations = 1;  // at most this many per thread
  double seconds = 0;       // and no more once this much time has passed
  unsigned limit = 60;      // seconds until the kernel ends a worker that hangs
  bool attend = false;      // after it, until the next command comes, make progress for the other rank
  double asleep = 0;        // pingpong: thread 0 of rank 0 first sleeps so many seconds
  double work = 0;          // roundtrip: seconds that rank 0 computes after its send
  bool timed = false;       // roundtrip: rank 1 counts its sends of more than work / 2
  bool polls = false;       // roundtrip, overlap: the library makes progress while a rank computes
  uint64_t messages = 1;    // burst: sent one after the other before the answer
  uint64_t sequence = 0;    // number of this command among the worker's
  std::vector<uint64_t> counts;  // drain: messages that each thread of rank 0 sent
  // create: of each neighbour its rank, the bytes that go there and those that come
  std::vector<std::array<uint64_t, 3>> neighbors;
  std::array<uint32_t, 3> grid{};  // grid: points in each dimension
  std::string kernel;              // create, alone: memory, registers
  std::size_t elements = 1;        // the computation's
  std::vector<int> cores;          // one for each of its threads
  std::vector<int> helpers;        // create: cores for the threads that the library has started
  double skew = 0;                 // pure, overlap: seconds by which the last rank comes late
};

// Reads the worker's command line; throws std::runtime_error.
Setup parse_setup(int argc, char** argv);

class Control {
 public:
  Control(const Setup& setup, int rank, const Description& description);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // The next command, or nothing when the worker shall end. Starts the time limit of the command.
  std::optional<Command> next();
  // Whether one is there, or the driver is gone.
  [[nodiscard]] bool pending() const;
  void report(const Report& report);
  // Tells the driver of a wrong payload and ends the process: nothing after it can be trusted.
  [[noreturn]] void corrupt(const std::string& what);

 private:
  void send(std::string line) const;
  void watch() const;

  int fd_ = -1;
  int stop_ = -1;  // readable once there is no need to watch
  std::thread watcher_;
  std::string unread_;
};

// Says on standard error why the program ends, without what a terminal would obey.
void say_error(const char* program, const std::exception& error);

// main() of every worker: `serve(library, setup, control)` until the driver ends it. Exit status: 0, 2 for an error (told
// on standard error), 3 for corrupt data.
template <class Library, class Serve>
int run_worker(int argc, char** argv, Serve serve) {
  try {
    const Setup setup = parse_setup(argc, argv);
    Library library(setup, argc, argv);
    Control control(setup, library.rank(), library.describe());
    serve(library, setup, control);
    return 0;
  } catch (const std::exception& error) {
    say_error(argv[0], error);
    return 2;
  }
}

}  // namespace bench
