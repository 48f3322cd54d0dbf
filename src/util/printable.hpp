// SPDX-License-Identifier: BSD-3-Clause
// Text that a terminal shows and does not obey; instruments/common/printable.hpp is the same for programs that may include nothing of src/.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace ompl {

// The bytes of the first character, if it is UTF-8 and none that a terminal obeys; else 0. New lines and tabs are not obeyed.
[[nodiscard]] inline std::size_t printable_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return (first >= ' ' && first != 0x7f) || first == '\n' || first == '\t' ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool obeyed = first == 0xc2 && second < 0xa0;  // U+0080 to U+009F
  const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  return obeyed || too_long ? 0 : length;
}

// The text with \x1b in place of an escape character, and so for every byte that is not printable.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t count = printable_bytes(text);
    if (count > 0) {
      out.append(text.substr(0, count));
    } else {
      count = 1;
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(count);
  }
  return out;
}

}  // namespace ompl
