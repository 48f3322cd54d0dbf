// SPDX-License-Identifier: BSD-3-Clause
#include "arch/mpi_library.hpp"

#include <array>
#include <string_view>

namespace ompl::arch {

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
