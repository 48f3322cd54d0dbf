// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdarg>
#include <cstdio>

#include "core/state.hpp"

namespace caf {
namespace {
thread_local std::array<char, 512> text{};
}

int refuse(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return code;
}

std::string why() { return text[0] == '\0' ? std::string("an error") : std::string(text.data()); }

int layer_error(int code, uint32_t rank) {
  const char* detail = ompl_error_detail();
  const std::string said = detail[0] != '\0' ? detail : ompl_strerror(code);
  if (code == OMPL_ERR_PEER || code == OMPL_ERR_LINK) {
    learn();
    const auto found = state().current->index.find(rank);
    if (found != state().current->index.end())
      return refuse(kFailed, "image %u has failed (%s)", found->second + 1, said.c_str());
    return refuse(kFailed, "an image has failed (%s)", said.c_str());
  }
  if (code == OMPL_ERR_MEMORY) return refuse(kNoMemory, "%s", said.c_str());
  return refuse(kLayer, "%s", said.c_str());
}

}  // namespace caf
