// SPDX-License-Identifier: BSD-3-Clause
// Programs that call MPI too expect it to be initialised, as runtimes over MPI do that. It is found in the process; nothing of it is
// linked, so its handles are not known here, and none is used.
#include <dlfcn.h>

#include "core/state.hpp"

namespace caf {
namespace {

bool ours = false;

template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

bool says(const char* name) {
  const auto ask = find<int (*)(int*)>(name);
  int answer = 0;
  return ask != nullptr && ask(&answer) == 0 && answer != 0;
}

}  // namespace

void begin_mpi() {
  constexpr int kMultiple = 3;  // of MPICH and of Open MPI; a lower level comes back as what there is
  const auto start = find<int (*)(int*, char***, int, int*)>("MPI_Init_thread");
  int provided = 0;
  if (start == nullptr || says("MPI_Initialized")) return;
  ours = start(nullptr, nullptr, kMultiple, &provided) == 0;
}

void end_mpi() {
  if (!ours || says("MPI_Finalized")) return;
  if (const auto finish = find<int (*)()>("MPI_Finalize"); finish != nullptr) finish();
}

}  // namespace caf
