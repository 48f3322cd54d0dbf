// SPDX-License-Identifier: BSD-3-Clause
// What tests set and ask of the emulator in their process.
#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "device.hpp"

#define EXPORT [[gnu::visibility("default")]]

namespace emulator {
namespace {

uint64_t variable(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Read with every command, so each is an atomic of its own.
struct Settings {
  std::atomic<uint64_t> seed{variable("UTOFU_EMULATOR_SEED", 1)};
  std::atomic<unsigned> toq{static_cast<unsigned>(variable("UTOFU_EMULATOR_TOQ", 64))};
  std::atomic<unsigned> mrq{static_cast<unsigned>(variable("UTOFU_EMULATOR_MRQ", kMrq))};
  std::atomic<unsigned> busy{static_cast<unsigned>(variable("UTOFU_EMULATOR_SPURIOUS_BUSY", 32))};
  std::atomic<unsigned> delay{static_cast<unsigned>(variable("UTOFU_EMULATOR_DELAY", 3))};
};

Settings& all() {
  static Settings one;
  return one;
}

std::mutex injection;
uint64_t left = 0;  // posts until the injected error; 0: there is none
int error = UTOFU_SUCCESS;
std::atomic<bool> armed{false};

}  // namespace

Counts& counts() {
  static Counts one;
  return one;
}

utofu_emulator_settings settings() {
  Settings& now = all();
  return {.seed = now.seed.load(std::memory_order_relaxed),
          .toq_depth = now.toq.load(std::memory_order_relaxed),
          .mrq_depth = std::min(now.mrq.load(std::memory_order_relaxed), kMrq),
          .spurious_busy = now.busy.load(std::memory_order_relaxed),
          .delay = now.delay.load(std::memory_order_relaxed)};
}

int injected() {
  if (!armed.load(std::memory_order_relaxed)) return UTOFU_SUCCESS;
  const std::lock_guard lock(injection);
  if (left == 0 || --left != 0) return UTOFU_SUCCESS;
  armed.store(false, std::memory_order_relaxed);
  return error;
}

}  // namespace emulator

using namespace emulator;  // NOLINT(google-build-using-namespace)

extern "C" {

EXPORT void utofu_emulator_get(utofu_emulator_settings* settings) { *settings = emulator::settings(); }

EXPORT void utofu_emulator_set(const utofu_emulator_settings* settings) {
  Settings& now = all();
  now.seed = settings->seed;
  now.toq = settings->toq_depth;
  now.mrq = settings->mrq_depth;
  now.busy = settings->spurious_busy;
  now.delay = settings->delay;
}

EXPORT void utofu_emulator_inject(uint64_t after, int code) {
  const std::lock_guard lock(injection);
  left = after;
  error = code;
  armed = after != 0;
}

EXPORT void utofu_emulator_cut(void) {
  if (SharedNode* const node = own_node(); node != nullptr) node->cut = true;
}

EXPORT void utofu_emulator_count(utofu_emulator_counts* out) {
  const Counts& now = counts();
  *out = {.posts = now.posts,
          .busy = now.busy,
          .overtaken = now.overtaken,
          .torn = now.torn,
          .vcqs = now.vcqs,
          .puts = {},
          .bytes = {}};
  std::ranges::copy(now.puts, out->puts);
  std::ranges::copy(now.bytes, out->bytes);
}

}  // extern "C"
