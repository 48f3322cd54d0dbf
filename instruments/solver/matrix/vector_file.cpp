// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/vector_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "solver/matrix/matrix_market.hpp"

namespace ompl::solver {

std::vector<double> read_vector(const std::string& path, uint32_t rows) {
  Lines lines = Lines::of_file(path);
  std::vector<double> out = read_matrix_market_vector(lines);
  if (out.size() != rows) refuse("{}: {} numbers, but the matrix has {} rows", path, out.size(), rows);
  return out;
}

void write_vector(const std::string& path, const std::string& comment, std::span<const double> values) {
  const std::string draft = path + ".part";
  bool written = false;
  if (std::FILE* const file = std::fopen(draft.c_str(), "w")) {
    fmt::memory_buffer text;
    const auto flush = [&] {
      std::fwrite(text.data(), 1, text.size(), file);
      text.clear();
    };
    fmt::format_to(std::back_inserter(text), "%%MatrixMarket matrix array real general\n% {}\n{} 1\n",
                   comment, values.size());
    for (const double value : values) {
      fmt::format_to(std::back_inserter(text), "{}\n", value);
      if (text.size() > 65536) flush();
    }
    flush();
    written = std::ferror(file) == 0;
    written = std::fclose(file) == 0 && written;
    written = written && std::rename(draft.c_str(), path.c_str()) == 0;
  }
  if (!written) refuse("{} cannot be written: {}", path, std::strerror(errno));
}

}  // namespace ompl::solver
