// SPDX-License-Identifier: BSD-3-Clause
// What the adapters that use MPI have in common: how they start it, what they say of it, and a communicator for each thread.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
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

}  // namespace bench
