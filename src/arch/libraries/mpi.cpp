// SPDX-License-Identifier: BSD-3-Clause
#include "arch/libraries/mpi.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "arch/libraries/library.hpp"
#include "arch/libraries/mpi_library.hpp"

namespace ompl::arch {
namespace {

using Pointer = void*;

Pointer standard_handle(uintptr_t value) { return reinterpret_cast<Pointer>(value); }
Pointer open_mpi_handle(const char* name) { return mpi_symbol(name); }

// An MPI that was loaded for its user alone (RTLD_LOCAL, as Python loads modules); null if there is none. It stays loaded.
void* local_library() {
  static std::atomic<void*> found{nullptr};
  if (void* const known = found.load(std::memory_order_relaxed); known != nullptr) return known;
  for (const std::string& file : loaded_files("libmpi")) {
    void* const library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (::dlsym(library, "MPI_Initialized") != nullptr) {
      found.store(library, std::memory_order_relaxed);
      return library;
    }
    ::dlclose(library);
  }
  return nullptr;
}

bool ask(const char* name) {
  auto* const function = mpi_function<int(int*)>(name);
  int flag = 0;
  return function != nullptr && function(&flag) == 0 && flag != 0;
}

}  // namespace

void* mpi_symbol(const char* name) {
  void* const symbol = ::dlsym(RTLD_DEFAULT, name);
  if (symbol != nullptr) return symbol;
  void* const library = local_library();
  return library != nullptr ? ::dlsym(library, name) : nullptr;
}

MpiPhase mpi_phase() {
  if (mpi_symbol("MPI_Initialized") == nullptr) return MpiPhase::absent;
  if (ask("MPI_Finalized")) return MpiPhase::finalized;
  return ask("MPI_Initialized") ? MpiPhase::running : MpiPhase::before_init;
}

MpiAbi mpi_abi() {
  if (mpi_symbol("ompi_mpi_comm_world") != nullptr) return MpiAbi::open_mpi;
  Dl_info info{};  // only the name of the file tells
  const bool standard = ::dladdr(mpi_symbol("MPI_Initialized"), &info) != 0 &&
                        info.dli_fname != nullptr &&
                        std::strstr(info.dli_fname, "libmpi_abi") != nullptr;
  return standard ? MpiAbi::standard : MpiAbi::mpich;
}

template <>
MpiConstants<int> mpi_constants() {
  return {.world = 0x44000000,
          .self = 0x44000001,
          .byte = 0x4c00010d,
          .info_null = 0x1c000000,
          .errors_return = 0x54000001,
          .status_ignore = standard_handle(1),
          .any_source = -2,
          .mode_nocheck = 1024,
          .funneled = 1,
          .serialized = 2,
          .multiple = 3};
}

template <>
MpiConstants<Pointer> mpi_constants() {
  if (mpi_abi() == MpiAbi::standard) {
    return {.world = standard_handle(0x101),
            .self = standard_handle(0x102),
            .byte = standard_handle(0x247),
            .info_null = standard_handle(0x130),
            .errors_return = standard_handle(0x143),
            .status_ignore = nullptr,
            .any_source = -1,
            .mode_nocheck = 1024,
            .funneled = 1024,
            .serialized = 2048,
            .multiple = 4096};
  }
  return {.world = open_mpi_handle("ompi_mpi_comm_world"),
          .self = open_mpi_handle("ompi_mpi_comm_self"),
          .byte = open_mpi_handle("ompi_mpi_byte"),
          .info_null = open_mpi_handle("ompi_mpi_info_null"),
          .errors_return = open_mpi_handle("ompi_mpi_errors_return"),
          .status_ignore = nullptr,
          .any_source = -1,
          .mode_nocheck = 1,
          .funneled = 1,
          .serialized = 2,
          .multiple = 3};
}

std::mutex& mpi_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool& mpi_locked_by_user() {
  thread_local bool locked = false;
  return locked;
}

template <class Handle>
std::string MpiLibrary<Handle>::version() const {
  std::array<char, 8192> all{};  // MPI's limit of it is at most that in every library
  int length = 0;
  library_version(all.data(), &length);
  const std::string_view line(all.data(), std::string_view(all.data()).find_first_of(",\n"));
  std::string out;
  for (const char c : line) {
    const bool space = static_cast<unsigned char>(c) <= ' ';
    if (!space || (!out.empty() && out.back() != ' ')) out += space ? ' ' : c;
  }
  return out;
}

template <class Handle>
std::string MpiLibrary<Handle>::text(int code) const {
  std::array<char, 1024> out{};  // MPI's limit of it is at most 512 in every library
  int length = 0;
  error_string(code, out.data(), &length);
  const std::string_view all(out.data());
  return std::string(all.substr(0, all.find('\n')));
}

template struct MpiLibrary<int>;
template struct MpiLibrary<void*>;

}  // namespace ompl::arch
