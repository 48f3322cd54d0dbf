// SPDX-License-Identifier: BSD-3-Clause
// What the adapters that use MPI have in common: how they start it, what they say of it, and a communicator for each thread.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace bench {

// Tells an error, and gives it time to be read before the job ends: MPICH 5's launcher ends ranks without reading what
// they have just written.
[[noreturn]] inline void tell(MPI_Comm* /*comm*/, int* code, ...) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(*code, text, &length);
  std::fprintf(stderr, "%s\n", text);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::_Exit(2);
}

// MPI_Init_thread; the level that is granted. Errors of communicators are told.
inline int start_mpi(int* argc, char*** argv, int level) {
  int granted = 0;
  MPI_Init_thread(argc, argv, level, &granted);
  MPI_Errhandler telling = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(tell, &telling);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, telling);
  MPI_Errhandler_free(&telling);
  return granted;
}

// The library goes on with what it still owes others there.
inline void mpi_progress(MPI_Comm comm = MPI_COMM_WORLD) {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
}

inline std::string mpi_level(int level) {
  if (level == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
  if (level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
  return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE";
}

// All that the library says of its version; name and number are its beginning.
inline std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  return {text, static_cast<std::size_t>(length)};
}
inline std::string mpi_name(const std::string& version) {
  return version.substr(0, version.find_first_of("\n,"));
}

// A rank of a job of MPI, from its start to its end. Throws std::runtime_error if `least` is not granted, or the job is
// to be a `pair` and is none.
struct MpiRank {
  MpiRank(int& argc, char**& argv, int level, int least = MPI_THREAD_SINGLE, bool pair = false)
      : granted(start_mpi(&argc, &argv, level)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (pair && ranks != 2) throw std::runtime_error("needs two ranks");
    if (granted < least) throw std::runtime_error("got " + mpi_level(granted));
  }
  ~MpiRank() { MPI_Finalize(); }
  MpiRank(const MpiRank&) = delete;
  MpiRank& operator=(const MpiRank&) = delete;

  int granted, rank = 0, ranks = 1;
};

// A thread's own. Intel MPI's thread split asks whose it is; others do not know the key.
inline MPI_Comm communicator_of(std::size_t thread) {
  MPI_Info whose = MPI_INFO_NULL;
  MPI_Info_create(&whose);
  MPI_Info_set(whose, "thread_id", std::to_string(thread).c_str());
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, whose, &made);
  MPI_Info_free(&whose);
  return made;
}

// A thread's window, in a communicator of its own, for as long as it is used; its memory is cleared. Collective.
struct MpiWindow {
  void open(std::size_t thread, std::size_t bytes) {
    comm = communicator_of(thread);
    MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm, &memory, &window);
    std::memset(memory, 0, bytes);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    MPI_Barrier(comm);
  }
  void close() {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Comm_free(&comm);
  }

  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  std::byte* memory = nullptr;
};

}  // namespace bench
