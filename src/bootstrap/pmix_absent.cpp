// SPDX-License-Identifier: BSD-3-Clause
// Stands in for pmix.cpp where PMIx's headers were not found when the library was built.
#include "bootstrap/pmix.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {

int open_pmix(const PmixSession& session, std::unique_ptr<Bootstrap>* /*out*/) {
  return fail(
      OMPL_ERR_LAUNCH,
      "the launcher speaks PMIx (PMIX_NAMESPACE={}), but this library was built without it; build "
      "it with PMIx's headers (libpmix-dev), call MPI_Init before ompl_init, or use omplrun",
      session.name_space);
}

}  // namespace ompl::bootstrap
