// SPDX-License-Identifier: BSD-3-Clause
// The round trip by MPI_Send and MPI_Recv, compiled once with the wrapper of each MPI found. No threads, no
// window: each would make the library slower than the programs that are to be predicted.
#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "adapters/mpi_about.hpp"
#include "roundtrip.hpp"

namespace {

bool names_a_limit(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const char* const words[] = {"eager", "rndv", "rendezvous", "p2p_threshold", "cell_size"};
  return std::ranges::any_of(words,
                             [&](const char* word) { return name.find(word) != std::string::npos; });
}

template <class T>
std::string read(MPI_T_cvar_handle handle) {
  T value{};
  MPI_T_cvar_read(handle, &value);
  return std::to_string(value);
}

std::string value_of(MPI_Datatype type, MPI_T_cvar_handle handle) {
  if (type == MPI_INT) return read<int>(handle);
  if (type == MPI_UNSIGNED) return read<unsigned>(handle);
  if (type == MPI_UNSIGNED_LONG) return read<unsigned long>(handle);
  if (type == MPI_UNSIGNED_LONG_LONG) return read<unsigned long long>(handle);
  return "";
}

// The library's settings that say where a protocol ends, by the MPI tool interface.
std::map<std::string, std::string> limits() {
  std::map<std::string, std::string> found;
  int provided = 0;
  int count = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return found;
  if (MPI_T_cvar_get_num(&count) != MPI_SUCCESS) count = 0;
  for (int i = 0; i < count; ++i) {
    char name[256] = "";
    int length = sizeof name;
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    int values = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum items = MPI_T_ENUM_NULL;
    if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &items, nullptr, nullptr, &bind,
                            &scope) != MPI_SUCCESS ||
        bind != MPI_T_BIND_NO_OBJECT || !names_a_limit(name))
      continue;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    if (MPI_T_cvar_handle_alloc(i, nullptr, &handle, &values) != MPI_SUCCESS) continue;
    if (values == 1)
      if (const std::string value = value_of(type, handle); !value.empty()) found[name] = value;
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return found;
}

class Mpi {
 public:
  Mpi(const bench::Setup& setup, int argc, char** argv)
      : bytes_(bench::pages(setup.bytes)),
        memory_(2 * bytes_ + bench::kPage),
        mpi_(argc, argv, MPI_THREAD_SINGLE, MPI_THREAD_SINGLE, true),
        rank_(mpi_.rank) {
    const auto place = reinterpret_cast<std::uintptr_t>(memory_.data());
    first_ = memory_.data() + (bench::pages(place) - place);
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] static bench::Description describe() {
    return {bench::mpi_name(bench::mpi_version()), "chosen by the library", std::nullopt, limits()};
  }

  [[nodiscard]] std::byte* source() const { return first_; }
  [[nodiscard]] std::byte* target() const { return first_ + bytes_; }
  void send(std::size_t bytes) const {
    MPI_Send(source(), static_cast<int>(bytes), MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD);
  }
  void receive(std::size_t bytes) const {
    MPI_Recv(target(), static_cast<int>(bytes), MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  static void attend() { bench::mpi_progress(); }

  void serve(const bench::Command& command, bench::Control& control) {
    bench::roundtrip::answer(*this, command, control);
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
  std::byte* first_ = nullptr;
  bench::MpiRank mpi_;
  int rank_;
};

}  // namespace

int main(int argc, char** argv) { return bench::roundtrip::worker_main<Mpi>(argc, argv); }
