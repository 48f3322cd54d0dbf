// SPDX-License-Identifier: BSD-3-Clause
// What the adapters that use MPI say of it.
#pragma once

#include <mpi.h>

#include <string>

namespace bench {

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

}  // namespace bench
