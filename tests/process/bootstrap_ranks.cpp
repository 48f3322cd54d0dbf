// SPDX-License-Identifier: BSD-3-Clause
// A rank that starts up through whatever launcher started it, checks that values reach all ranks, and
// then does what its argument says:
//   exchange          leaves properly                     prints "rank R of N by NAME, nodes A,B,..."
//   leave             exits 0 without finish()
//   abort CODE        the last rank aborts the job; the others wait for it
//   die RANK SIGNAL   that rank kills itself, the others wait for it
//   hang              waits forever
// With any of them, a wrong value is exit code 3.
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

void require(bool truth, const char* what) {
  if (truth) return;
  fmt::print(stderr, "bootstrap_ranks: {} ({})\n", what, ompl::error_detail());
  std::_Exit(3);
}

// Different for every rank and key; some of the bytes are no text; the long ones need several pieces.
std::string expected(uint32_t rank, int key) {
  std::string value(static_cast<std::size_t>(key) * 1500, static_cast<char>(rank * 37 + 11));
  return value + fmt::format("\n{} = {}", rank, key) + '\0';
}

void exchange(Bootstrap& bootstrap) {
  constexpr int kKeys = 3;
  for (int key = 0; key < kKeys; ++key) {
    const auto value = expected(bootstrap.rank(), key);
    require(bootstrap.set(fmt::format("key{}", key), value) == OMPL_OK, "set");
    require(bootstrap.fence() == OMPL_OK, "fence");
  }
  for (uint32_t rank = 0; rank < bootstrap.size(); ++rank) {
    for (int key = 0; key < kKeys; ++key) {
      std::string value;
      require(bootstrap.get(rank, fmt::format("key{}", key), &value) == OMPL_OK, "get");
      require(value == expected(rank, key), "another value came than was set");
    }
  }
  require(bootstrap.fence() == OMPL_OK, "last fence");
}

int act(Bootstrap& bootstrap, const std::string& action, char** rest) {
  if (action == "leave") return 0;
  if (action == "abort" && bootstrap.rank() + 1 == bootstrap.size()) {
    bootstrap.abort(std::atoi(rest[0]), "the test wants it");
    return 3;  // the launcher did not end us
  }
  if (action == "die" && bootstrap.rank() == static_cast<uint32_t>(std::atoi(rest[0]))) {
    raise(std::atoi(rest[1]));
  }
  if (action != "exchange") {
    for (;;) pause();
  }
  require(bootstrap.finish() == OMPL_OK, "finish");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kMostSeconds);
  const std::string action = argc > 1 ? argv[1] : "exchange";
  ompl::Settings settings;
  require(ompl::Settings::read(&settings) == OMPL_OK, "settings");
  std::unique_ptr<Bootstrap> bootstrap;
  require(ompl::bootstrap::connect(settings, &bootstrap) == OMPL_OK, "connect");
  exchange(*bootstrap);
  fmt::print("rank {} of {} by {}, nodes {}\n", bootstrap->rank(), bootstrap->size(), bootstrap->name(),
             fmt::join(bootstrap->node_map(), ","));
  std::fflush(stdout);
  return act(*bootstrap, action, argv + 2);
}
