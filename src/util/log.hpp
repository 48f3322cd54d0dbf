// SPDX-License-Identifier: BSD-3-Clause
// Log lines on standard error: "ompl[RANK] LEVEL: text". The level is OMPL_LOG; a line is one write.
// Control characters of the text are escaped (printable()).
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace ompl::log {

enum class Level { off, error, warn, info, debug };

// The process's level and the rank its lines name (-1: none yet). Any thread.
void set_level(Level level);
void set_rank(int rank);
bool enabled(Level level);

// Any thread. Without memory to put the line together its parts are written one by one.
void write(Level level, std::string_view text) noexcept;
void write_formatted(Level level, fmt::string_view text, fmt::format_args args) noexcept;

template <class... Args>
void at(Level level, fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(level)) write_formatted(level, text, fmt::make_format_args(args...));
}
template <class... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  at(Level::error, text, std::forward<Args>(args)...);
}
template <class... Args>
void warn(fmt::format_string<Args...> text, Args&&... args) {
  at(Level::warn, text, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  at(Level::info, text, std::forward<Args>(args)...);
}
template <class... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  at(Level::debug, text, std::forward<Args>(args)...);
}

}  // namespace ompl::log
