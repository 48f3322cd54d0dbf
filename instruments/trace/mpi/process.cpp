// SPDX-License-Identifier: BSD-3-Clause
// The begin and the end of a traced process.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "call.hpp"

namespace ompl::trace {

namespace {

constexpr int kClockTag = 32749;  // on MPI_COMM_WORLD, while the program cannot be sending
constexpr int kExchanges = 30;

constexpr uint64_t kAllTracedNs = 30000000000;

bool other_clocks = false;  // whether the job's ranks have several

__attribute__((constructor)) void first_look_at_the_clock() { tracer.clock.start(); }

void read_line(const char* path, char* to, std::size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file >= 0 ? read(file, to, size - 1) : 0;
  if (file >= 0) close(file);
  to[length > 0 ? length : 0] = '\0';
  to[std::strcspn(to, "\n")] = '\0';
}

// What two processes have in common only if CLOCK_MONOTONIC is the same for both.
void name_clock(char* to, std::size_t size) {
  read_line("/proc/sys/kernel/random/boot_id", to, size);
  char offsets[16] = {};
  const ssize_t length =
      readlink("/proc/self/ns/time", offsets, sizeof offsets - 1);  // "time:[4026531834]"
  const std::size_t used = std::strlen(to);
  if (length > 0 && used + 1 < size) std::snprintf(to + used, size - used, " %s", offsets);
}

FileHeader make_header(int level) {
  int rank = 0;
  int ranks = 0;
  OMPL_REAL(PMPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  OMPL_REAL(PMPI_Comm_size)(MPI_COMM_WORLD, &ranks);
  FileHeader header =
      tracer.header_of_process(static_cast<uint32_t>(rank), static_cast<uint32_t>(ranks));
  header.thread_level = level == MPI_THREAD_MULTIPLE     ? 3
                        : level == MPI_THREAD_SERIALIZED ? 2
                        : level == MPI_THREAD_FUNNELED   ? 1
                                                         : 0;
  name_clock(header.boot, sizeof header.boot);
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  OMPL_REAL(PMPI_Get_library_version)(library, &length);
  library[std::strcspn(library, "\r\n")] = '\0';
  std::snprintf(header.library, sizeof header.library, "%.255s", library);
  return header;
}

// Whether all ranks have one clock. Collective: a rank that is not traced will not come, and what the others have begun
// cannot be taken back, so that then the job is ended.
void compare_clocks(const FileHeader& header) {
  uint64_t hash = 0;
  for (const char* at = header.boot; *at != '\0'; ++at)
    hash = hash * 31 + static_cast<unsigned char>(*at);
  const uint64_t own[2] = {hash, ~hash};
  uint64_t most[2] = {};
  MPI_Request request;
  int done = 0;
  OMPL_REAL(PMPI_Iallreduce)(own, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD, &request);
  const uint64_t begin = monotonic_ns();
  while (done == 0 && monotonic_ns() - begin < kAllTracedNs) {
    OMPL_REAL(PMPI_Test)(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) sched_yield();
  }
  if (done == 0) {
    std::fprintf(stderr,
                 "ompl trace: rank %u waits for ranks that are not traced: pass LD_PRELOAD and "
                 "OMPL_TRACE_DIR to all\n",
                 header.rank);
    usleep(200000);  // MPICH 5's launcher ends ranks without reading what they have just written
    OMPL_REAL(PMPI_Abort)(MPI_COMM_WORLD, 1);
  }
  other_clocks = most[0] != ~most[1];
}

// This rank's clock beside CLOCK_MONOTONIC of rank 0's host, which is asked if the job has several. Then collective.
ClockPoint clock_point(int rank, int ranks) {
  ClockPoint point = tracer.clock_point();
  if (!other_clocks) return point;
  uint64_t time = 0;
  if (rank == 0) {
    for (int i = 0; i < kExchanges * (ranks - 1); ++i) {
      const int peer = 1 + i / kExchanges;
      OMPL_REAL(PMPI_Recv)(nullptr, 0, MPI_BYTE, peer, kClockTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      time = monotonic_ns();
      OMPL_REAL(PMPI_Send)(&time, sizeof time, MPI_BYTE, peer, kClockTag, MPI_COMM_WORLD);
    }
    return point;
  }
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < kExchanges; ++i) {
    const uint64_t before = tracer.clock.ns(tracer.clock.ticks());
    OMPL_REAL(PMPI_Send)(nullptr, 0, MPI_BYTE, 0, kClockTag, MPI_COMM_WORLD);
    OMPL_REAL(PMPI_Recv)(&time, sizeof time, MPI_BYTE, 0, kClockTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const uint64_t after = tracer.clock.ns(tracer.clock.ticks());
    if (after - before >= best) continue;
    best = after - before;
    point = {before + best / 2, time, best / 2, 1};
  }
  return point;
}

// With the program's MPI up, before it continues.
void start(uint64_t begin, uint64_t end, void* caller) {
  const char* const folder = std::getenv("OMPL_TRACE_DIR");
  if (folder == nullptr) return;
  if (dlopen(OMPL_TRACE_LIBRARY, RTLD_LAZY | RTLD_NOLOAD) == nullptr) {
    if (std::getenv("OMPL_TRACE_SEVERAL") == nullptr)
      std::fprintf(stderr, "ompl trace: the program has another MPI than " OMPL_TRACE_LIBRARY
                           "; nothing is recorded\n");
    return;  // else one of the others, behind this, is for it
  }
  int level = MPI_THREAD_SINGLE;
  OMPL_REAL(PMPI_Query_thread)(&level);
  tracer.clock.calibrate();
  FileHeader header = make_header(level);
  header.sum = sum_of(header);
  compare_clocks(header);
  const ClockPoint point = clock_point(static_cast<int>(header.rank), static_cast<int>(header.ranks));
  header.clock[0] = point;
  if (!tracer.start(folder, header) || !define_first_comms() || !tracer.record_init(begin, end, caller))
    tracer.stop();
}

void* site_of(void* caller) {
  uintptr_t& fortran = ompl_trace_local.fortran_site;
  if (fortran != 0) caller = reinterpret_cast<void*>(fortran);
  fortran = 0;
  return caller;
}

template <typename Initialize>
int initialize(void* caller, const Initialize& real) {
  if (ompl_trace_local.depth != 0) return real();
  caller = site_of(caller);
  ompl_trace_local.depth = 1;
  const uint64_t begin = tracer.clock.ticks();
  const int code = real();
  const uint64_t end = tracer.clock.ticks();
  if (code == MPI_SUCCESS) start(begin, end, caller);
  ompl_trace_local.depth = 0;
  return code;
}

// A call that is recorded at a moment; whether it is.
bool note(Kind kind, void* caller, int tag) {
  Thread* const thread = enter();
  if (thread == nullptr) return false;
  Call call(*thread, kind, caller);
  call.begin();
  call.end(MPI_SUCCESS);
  call.record().tag = tag;
  call.finish();
  return true;
}

// Sessions know no MPI_COMM_WORLD, by whose ranks a trace is made. Said when the first one begins, by one rank where the
// launcher names them.
[[maybe_unused]] void say_session() {
  static std::atomic<bool> said{false};
  const bool begun = ompl_trace_local.depth != 0 || tracer.recording();
  if (begun || std::getenv("OMPL_TRACE_DIR") == nullptr) return;
  if (dlopen(OMPL_TRACE_LIBRARY, RTLD_LAZY | RTLD_NOLOAD) == nullptr) return;
  for (const char* const variable : {"PMI_RANK", "PMIX_RANK"}) {
    const char* const rank = std::getenv(variable);
    if (rank != nullptr && std::strcmp(rank, "0") != 0) return;
  }
  if (said.exchange(true)) return;
  std::fprintf(
      stderr,
      "ompl trace: the program begins an MPI session before MPI_Init: sessions are not traced; "
      "nothing is recorded unless it calls MPI_Init, too\n");
}

}  // namespace

}  // namespace ompl::trace

using ompl::trace::tracer;

#define OMPL_ALSO_AS(name) __attribute__((alias(#name)))

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  return ompl::trace::initialize(__builtin_return_address(0),
                                 [&] { return OMPL_REAL(PMPI_Init)(argc, argv); });
}
int PMPI_Init(int*, char***) OMPL_ALSO_AS(MPI_Init);

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return ompl::trace::initialize(__builtin_return_address(0), [&] {
    return OMPL_REAL(PMPI_Init_thread)(argc, argv, required, provided);
  });
}
int PMPI_Init_thread(int*, char***, int, int*) OMPL_ALSO_AS(MPI_Init_thread);

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  ompl::trace::say_session();
  return OMPL_REAL(PMPI_Session_init)(info, handler, session);
}
int PMPI_Session_init(MPI_Info, MPI_Errhandler, MPI_Session*) OMPL_ALSO_AS(MPI_Session_init);
#endif

int MPI_Finalize() {
  ompl::trace::Thread* const thread = ompl::trace::enter();
  if (thread == nullptr) return OMPL_REAL(PMPI_Finalize)();
  ompl::trace::FileHeader& header = tracer.file.header();
  ompl::trace::Call call(*thread, ompl::trace::Kind::kFinalize, __builtin_return_address(0));
  call.begin();
  const int rank = static_cast<int>(header.rank);
  header.clock[1] = ompl::trace::clock_point(rank, static_cast<int>(header.ranks));
  const int code = OMPL_REAL(PMPI_Finalize)();
  call.end(code);
  call.finish();
  header.state = ompl::trace::State::kFinalized;
  tracer.stop();
  return code;
}
int PMPI_Finalize() OMPL_ALSO_AS(MPI_Finalize);

int MPI_Abort(MPI_Comm comm, int error) {
  if (ompl::trace::note(ompl::trace::Kind::kAbort, __builtin_return_address(0), error)) {
    tracer.file.header().code = error;
    tracer.file.header().state = ompl::trace::State::kAborted;
  }
  return OMPL_REAL(PMPI_Abort)(comm, error);
}
int PMPI_Abort(MPI_Comm, int) OMPL_ALSO_AS(MPI_Abort);

// What it does is a tracer's to say: levels 1 and 0 mark the part of a program whose time is asked for.
int MPI_Pcontrol(const int level, ...) {
  if (ompl::trace::note(ompl::trace::Kind::kPcontrol, __builtin_return_address(0), level))
    return MPI_SUCCESS;
  return OMPL_REAL(PMPI_Pcontrol)(level);  // of another interposer, perhaps
}
int PMPI_Pcontrol(int, ...) OMPL_ALSO_AS(MPI_Pcontrol);

}  // extern "C"
