// SPDX-License-Identifier: BSD-3-Clause
#include "core/settings.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace shmem_core {
namespace {

// SHMEM_ has precedence over the deprecated SMA_.
const char* variable(const std::string& name) {
  const char* value = ::secure_getenv(("SHMEM_" + name).c_str());
  return value != nullptr ? value : ::secure_getenv(("SMA_" + name).c_str());
}

}  // namespace

std::size_t parse_size(const std::string& text, std::string* error) {
  const bool number =
      (std::isdigit(static_cast<unsigned char>(text.c_str()[0])) != 0 || text[0] == '.') &&
      text.find_first_of("xX") == std::string::npos;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  double factor = 1;
  for (const char suffix : {'k', 'm', 'g', 't'}) {
    factor *= 1024;
    if (std::tolower(static_cast<unsigned char>(*end)) == suffix) break;
    if (suffix == 't') factor = 1;
  }
  const double bytes = std::ceil(value * factor);
  if (!number || end == text.c_str() || (factor == 1 && *end != '\0') || !(bytes < 0x1p56)) {
    *error =
        "SHMEM_SYMMETRIC_SIZE is \"" + text + "\": give a number of bytes, as 64m, 1.5g or 1048576";
    return 0;
  }
  return static_cast<std::size_t>(bytes);
}

std::string read_settings(Settings* settings) {
  std::string error;
  if (const char* size = variable("SYMMETRIC_SIZE"); size != nullptr)
    settings->symmetric_size = parse_size(size, &error);
  settings->version = variable("VERSION") != nullptr;
  settings->info = variable("INFO") != nullptr;
  settings->debug = variable("DEBUG") != nullptr;
  return error;
}

std::string describe(const Settings& settings) {
  return "SHMEM_VERSION         any value: print the library's version at the start\n"
         "SHMEM_INFO            any value: print this text\n"
         "SHMEM_SYMMETRIC_SIZE  bytes of the symmetric heap of a PE, with k, m, g or t; now " +
         std::to_string(settings.symmetric_size) +
         "\n"
         "SHMEM_DEBUG           any value: check what is slow to check: blocks that were freed or are "
         "left, "
         "overlap, collectives and allocations that differ among PEs\n"
         "OMPL_*                variables of the layer below: man 7 ompl-environment\n";
}

}  // namespace shmem_core
