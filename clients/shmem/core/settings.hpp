// SPDX-License-Identifier: BSD-3-Clause
// The variables of the specification: one object.
#pragma once

#include <cstddef>
#include <string>

namespace shmem_core {

struct Settings {
  std::size_t symmetric_size = std::size_t{4}
                               << 30;  // bytes of the heap, of which none is taken before it is used
  bool version = false;                // print the version
  bool info = false;                   // print these variables
  bool debug = false;                  // checks that cost time
};

// Reads SHMEM_VERSION, SHMEM_INFO, SHMEM_SYMMETRIC_SIZE, SHMEM_DEBUG, or SMA_* of the same ends. Returns "", or what is wrong.
std::string read_settings(Settings* settings);

// What SHMEM_INFO prints.
std::string describe(const Settings& settings);

// "20m", "3.1M", ".5g": bytes, rounded up; 0 and a text in *error if it is no size.
std::size_t parse_size(const std::string& text, std::string* error);

}  // namespace shmem_core
