// SPDX-License-Identifier: BSD-3-Clause
// /proc/PID/status: lines "NAME:\tWORD...".
#pragma once

#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace ompl::check {

// Numbers of capabilities, as in <linux/capability.h>.
inline constexpr unsigned kIpcLock = 14;
inline constexpr unsigned kSysAdmin = 21;
inline constexpr unsigned kSysResource = 24;

class StatusFile {
 public:
  explicit StatusFile(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      const auto begin = line.find_first_not_of("\t ", colon + 1);
      if (begin == std::string::npos) continue;
      first_words_[line.substr(0, colon)] =
          line.substr(begin, line.find_first_of("\t ", begin) - begin);
    }
  }

  // The first word of that line; "" if there is none.
  [[nodiscard]] std::string word(const std::string& name) const {
    const auto found = first_words_.find(name);
    return found != first_words_.end() ? found->second : "";
  }
  [[nodiscard]] std::optional<uint64_t> number(const std::string& name, int base = 10) const {
    const std::string text = word(name);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
  }
  [[nodiscard]] bool has_capability(unsigned number_of_it) const {
    return (number("CapEff", 16).value_or(0) >> number_of_it & 1) != 0;
  }

 private:
  std::map<std::string, std::string> first_words_;
};

}  // namespace ompl::check
