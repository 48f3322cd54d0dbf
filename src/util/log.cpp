// SPDX-License-Identifier: BSD-3-Clause
#include "util/log.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <string>

namespace ompl::log {
namespace {
std::atomic<Level> g_level{Level::warn};
std::atomic<int> g_rank{-1};
constexpr std::array<std::string_view, 5> kNames{"off", "error", "warning", "info", "debug"};
}  // namespace

void set_level(Level level) { g_level.store(level, std::memory_order_relaxed); }
void set_rank(int rank) { g_rank.store(rank, std::memory_order_relaxed); }
bool enabled(Level level) { return level <= g_level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view text) {
  const int rank = g_rank.load(std::memory_order_relaxed);
  const std::string who = rank < 0 ? "ompl" : fmt::format("ompl[{}]", rank);
  const std::string line =
      fmt::format("{} {}: {}\n", who, kNames[static_cast<std::size_t>(level)], text);
  // One write: lines of several ranks on one terminal do not mix. Nobody can help a closed stderr.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace ompl::log
