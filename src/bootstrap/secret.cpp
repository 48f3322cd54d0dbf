// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>

#include "bootstrap/bootstrap.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {

int share_secret(Bootstrap& bootstrap, std::string* secret) {
  constexpr std::string_view kKey = "secret";
  if (bootstrap.rank() == 0) {
    std::array<unsigned char, 16> random;
    if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
      return fail(OMPL_ERR_SYSTEM, "getrandom: {}", error_text(errno));
    }
    const int result = bootstrap.set(kKey, fmt::format("{:02x}", fmt::join(random, "")));
    if (result != OMPL_OK) return result;
  }
  const int result = bootstrap.fence();
  return result == OMPL_OK ? bootstrap.get(0, kKey, secret) : result;
}

}  // namespace ompl::bootstrap
