// SPDX-License-Identifier: BSD-3-Clause
#include "util/log.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <string>

#include "arch/cancellation.hpp"
#include "util/printable.hpp"

namespace ompl::log {
namespace {
std::atomic<Level> g_level{Level::warn};
std::atomic<int> g_rank{-1};
constexpr std::array<std::string_view, 5> kNames{"off", "error", "warning", "info", "debug"};

// One write: lines of several ranks on one terminal do not mix. Nobody can help a closed stderr.
void write_all(std::string_view bytes) {
  const arch::Uncancelled whole;
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}
}  // namespace

void set_level(Level level) { g_level.store(level, std::memory_order_relaxed); }
void set_rank(int rank) { g_rank.store(rank, std::memory_order_relaxed); }
bool enabled(Level level) { return level <= g_level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view text) noexcept {
  const int rank = g_rank.load(std::memory_order_relaxed);
  const std::string_view name = kNames[static_cast<std::size_t>(level)];
  try {
    const std::string who = rank < 0 ? "ompl" : fmt::format("ompl[{}]", rank);
    write_all(fmt::format("{} {}: {}\n", who, name, printable(text)));
  } catch (const std::exception&) {  // without memory
    for (const std::string_view part :
         {std::string_view("ompl "), name, std::string_view(": "), text, std::string_view("\n")})
      write_all(part);
  }
}

void write_formatted(Level level, fmt::string_view text, fmt::format_args args) noexcept {
  try {
    write(level, fmt::vformat(text, args));
  } catch (const std::exception&) {  // without memory
    write(level, {text.data(), text.size()});
  }
}

}  // namespace ompl::log
