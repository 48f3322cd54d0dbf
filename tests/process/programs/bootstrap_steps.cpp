// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap_steps.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace {

using ompl::bootstrap::Bootstrap;

constexpr unsigned kMostSeconds = 60;  // no rank outlives its test

std::unique_ptr<Bootstrap> g_bootstrap;

void require(bool truth, const char* what) {
  if (truth) return;
  fmt::print(stderr, "{} failed: {}\n", what, ompl::error_detail());
  std::_Exit(3);
}

void open() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kMostSeconds);
  ompl::Settings settings;
  require(ompl::Settings::read(&settings) == OMPL_OK, "reading the settings");
  ompl::log::set_level(settings.log_level);
  require(ompl::bootstrap::connect(settings, &g_bootstrap) == OMPL_OK, "connect");
}

// Different for every rank and key; some of the bytes are no text; the long ones need several pieces.
std::string expected(uint32_t rank, int key) {
  std::string value(static_cast<std::size_t>(key) * 1500, static_cast<char>(rank * 37 + 11));
  return value + fmt::format("\n{} = {}", rank, key) + '\0';
}

void exchange() {
  constexpr int kKeys = 3;
  for (int key = 0; key < kKeys; ++key) {
    const auto value = expected(g_bootstrap->rank(), key);
    require(g_bootstrap->set(fmt::format("key{}", key), value) == OMPL_OK, "set");
    require(g_bootstrap->fence() == OMPL_OK, "fence");
  }
  for (uint32_t rank = 0; rank < g_bootstrap->size(); ++rank) {
    for (int key = 0; key < kKeys; ++key) {
      std::string value;
      require(g_bootstrap->get(rank, fmt::format("key{}", key), &value) == OMPL_OK, "get");
      require(value == expected(rank, key), "comparing the values");
    }
  }
  std::string secret;
  require(share_secret(*g_bootstrap, &secret) == OMPL_OK && !secret.empty(), "sharing a secret");
  require(g_bootstrap->fence() == OMPL_OK, "the last fence");
}

// A value that nobody published is an error, soon: no launcher may be asked to wait for it.
void miss() {
  std::string value = "untouched";
  const uint32_t other = (g_bootstrap->rank() + 1) % g_bootstrap->size();
  require(g_bootstrap->get(other, "nothing", &value) == OMPL_ERR_LAUNCH, "missing a value");
  require(value == "untouched", "leaving the output alone");
}

void show() {
  fmt::print("rank {} of {} by {}, nodes {}\n", g_bootstrap->rank(), g_bootstrap->size(),
             g_bootstrap->name(), fmt::join(g_bootstrap->node_map(), ","));
  std::fflush(stdout);
}

[[noreturn]] void hang() {
  for (;;) pause();
}

void abort_job(int exit_code) {
  if (g_bootstrap->rank() + 1 < g_bootstrap->size()) hang();
  g_bootstrap->abort(exit_code, "the test wants it");
  require(false, "being ended by the launcher");
}

void die(uint32_t rank, int signal) {
  if (g_bootstrap->rank() != rank) hang();
  raise(signal);
}

}  // namespace

int bootstrap_step(const char* step) {
  const std::string_view name = step;
  uint32_t rank = 0;
  int number = 0;
  if (name == "open") {
    open();
  } else if (name == "exchange") {
    exchange();
  } else if (name == "show") {
    show();
  } else if (name == "miss") {
    miss();
  } else if (name == "finish") {
    require(g_bootstrap->finish() == OMPL_OK, "finish");
  } else if (std::sscanf(step, "abort:%d", &number) == 1) {
    abort_job(number);
  } else if (std::sscanf(step, "die:%u:%d", &rank, &number) == 2) {
    die(rank, number);
  } else if (name == "hang") {
    hang();
  } else {
    return 0;
  }
  return 1;
}
