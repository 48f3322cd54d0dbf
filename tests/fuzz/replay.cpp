// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target on every file of the folders given; 1 if there are none.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz.hpp"

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      std::printf("%s\n", entry.path().c_str());
      std::fflush(stdout);  // a crash shall leave the name of its input
      fuzz::one_input(bytes);
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  return count == 0 ? 1 : 0;
}
