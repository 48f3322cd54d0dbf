// SPDX-License-Identifier: BSD-3-Clause
// The functions of MPI that we call, of the library that this process has initialised. MPI_Aint is ptrdiff_t everywhere.
#pragma once

#include <cstddef>
#include <string>

#include "arch/libraries/mpi.hpp"

namespace ompl::arch {

template <class Handle>
struct MpiLibrary {
  using Put = int(const void*, int, Handle, int, std::ptrdiff_t, int, Handle, Handle, Handle*);
  using Get = int(void*, int, Handle, int, std::ptrdiff_t, int, Handle, Handle, Handle*);
  using Send = int(const void*, int, Handle, int, int, Handle, Handle*);
  using CopyAttribute = int(Handle, int, void*, void*, void*, int*);
  using DeleteAttribute = int(Handle, int, void*, void*);

  MpiConstants<Handle> constants = mpi_constants<Handle>();

  int (*query_thread)(int*) = MpiFunction{"MPI_Query_thread"};
  int (*is_thread_main)(int*) = MpiFunction{"MPI_Is_thread_main"};
  int (*library_version)(char*, int*) = MpiFunction{"MPI_Get_library_version"};
  int (*error_string)(int, char*, int*) = MpiFunction{"MPI_Error_string"};

  int (*comm_rank)(Handle, int*) = MpiFunction{"MPI_Comm_rank"};
  int (*comm_size)(Handle, int*) = MpiFunction{"MPI_Comm_size"};
  int (*comm_dup)(Handle, Handle*) = MpiFunction{"MPI_Comm_dup"};
  int (*comm_free)(Handle*) = MpiFunction{"MPI_Comm_free"};
  int (*comm_set_errhandler)(Handle, Handle) = MpiFunction{"MPI_Comm_set_errhandler"};
  int (*comm_create_keyval)(CopyAttribute*, DeleteAttribute*, int*,
                            void*) = MpiFunction{"MPI_Comm_create_keyval"};
  int (*comm_free_keyval)(int*) = MpiFunction{"MPI_Comm_free_keyval"};
  int (*comm_set_attr)(Handle, int, void*) = MpiFunction{"MPI_Comm_set_attr"};
  int (*comm_delete_attr)(Handle, int) = MpiFunction{"MPI_Comm_delete_attr"};
  int (*allgather)(const void*, int, Handle, void*, int, Handle, Handle) = MpiFunction{"MPI_Allgather"};
  int (*ialltoall)(const void*, int, Handle, void*, int, Handle, Handle,
                   Handle*) = MpiFunction{"MPI_Ialltoall"};

  int (*win_create)(void*, std::ptrdiff_t, int, Handle, Handle,
                    Handle*) = MpiFunction{"MPI_Win_create"};
  int (*win_set_errhandler)(Handle, Handle) = MpiFunction{"MPI_Win_set_errhandler"};
  int (*win_lock_all)(int, Handle) = MpiFunction{"MPI_Win_lock_all"};
  int (*win_unlock_all)(Handle) = MpiFunction{"MPI_Win_unlock_all"};
  int (*win_flush)(int, Handle) = MpiFunction{"MPI_Win_flush"};
  int (*win_sync)(Handle) = MpiFunction{"MPI_Win_sync"};
  int (*win_free)(Handle*) = MpiFunction{"MPI_Win_free"};
  Put* rput = MpiFunction{"MPI_Rput"};
  Get* rget = MpiFunction{"MPI_Rget"};

  Send* isend = MpiFunction{"MPI_Isend"};
  Send* issend = MpiFunction{"MPI_Issend"};
  int (*improbe)(int, int, Handle, int*, Handle*, void*) = MpiFunction{"MPI_Improbe"};
  int (*imrecv)(void*, int, Handle, Handle*, Handle*) = MpiFunction{"MPI_Imrecv"};
  int (*test)(Handle*, int*, void*) = MpiFunction{"MPI_Test"};
  int (*testsome)(int, Handle*, int*, int*, void*) = MpiFunction{"MPI_Testsome"};

  // The newest are of MPI 3.0, which brought all at once.
  [[nodiscard]] bool complete() const {
    return rput != nullptr && win_flush != nullptr && improbe != nullptr && ialltoall != nullptr;
  }
  [[nodiscard]] std::string version() const;       // its first words
  [[nodiscard]] std::string text(int code) const;  // of an error
};

}  // namespace ompl::arch
