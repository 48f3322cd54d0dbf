// SPDX-License-Identifier: BSD-3-Clause
#include <limits>
#include <string_view>

#include "bootstrap/environment.hpp"
#include "bootstrap/pmix.hpp"
#include "util/status.hpp"

extern char** environ;

namespace ompl::bootstrap {
namespace {

// Servers give one address for each version of the protocol: PMIX_SERVER_URI2, PMIX_SERVER_URI41, ...
bool server_is_named() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("PMIX_SERVER_URI")) return true;
  }
  return false;
}

}  // namespace

bool pmix_offered() { return any_set({"PMIX_NAMESPACE", "PMIX_RANK"}) || server_is_named(); }

int pmix_environment(PmixSession* out) {
  constexpr Protocol kPmix{"PMIx", "mpirun of Open MPI, prterun or srun --mpi=pmix"};
  constexpr uint32_t kMax = std::numeric_limits<int>::max();
  const char* name_space = nullptr;
  uint32_t rank = 0;
  int result = read_text("PMIX_NAMESPACE", kPmix, &name_space);
  if (result == OMPL_OK) result = read_number("PMIX_RANK", kPmix, kMax, &rank);
  if (result != OMPL_OK) return result;
  if (!server_is_named()) {
    return fail(OMPL_ERR_LAUNCH,
                "PMIX_RANK={}, but no PMIX_SERVER_URI names the launcher's server; pass the launcher's "
                "environment on unchanged, or set OMPL_LAUNCHER=single",
                rank);
  }
  out->name_space = name_space;
  out->rank = rank;
  return OMPL_OK;
}

}  // namespace ompl::bootstrap
