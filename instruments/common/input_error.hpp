// SPDX-License-Identifier: BSD-3-Clause
// How programs that read files refuse them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ompl {

// What was wrong with the input and what to do, in one line.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw InputError(fmt::format(text, std::forward<Args>(args)...));
}

// What a message can bear of a word, without what a terminal might obey.
[[nodiscard]] inline std::string shown(std::string_view text, std::size_t most = 30) {
  std::string out(text.substr(0, most));
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace ompl
