// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/checks.hpp"

namespace shmem_core {
namespace {
thread_local std::string own_text;
}

int refuse(int code, const char* format, ...) {
  std::array<char, 512> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  own_text = text.data();
  return code;
}

int not_symmetric(const volatile void* address, std::size_t length) {
  const void* const place = const_cast<const void*>(address);
  const uint64_t offset = offset_of(address);
  if (offset != 0)
    return refuse(OMPL_ERR_OFFSET, "%p, %zu bytes: %s", place, length,
                  heap_misuse(offset, length).c_str());
  return refuse(
      OMPL_ERR_OFFSET,
      "%p is no symmetric address: use memory of shmem_malloc() or static data of the executable",
      place);
}

uint64_t checked_offset(uint64_t offset, std::size_t length) {
  return offset == 0 || length == 0 || heap_misuse(offset, length).empty() ? offset : 0;
}

std::string failure_text(int code) {
  const std::string why = own_text.empty() ? ompl_error_detail() : own_text;
  return why.empty() ? ompl_strerror(code) : why;
}

void failed(const char* function, int code) {
  std::string text = std::string(function) + ": " + failure_text(code);
  if (const std::string place = place_of_call(); !place.empty()) text += "; called in " + place;
  std::fprintf(stderr, "PE %d: %s\n", state().pe, text.c_str());
  std::fflush(nullptr);
  ompl_abort(1, text.c_str());
  std::_Exit(1);
}

}  // namespace shmem_core
