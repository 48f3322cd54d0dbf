// SPDX-License-Identifier: BSD-3-Clause
// Which launcher protocol a process starts up with.
#include <cstdlib>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/mpi.hpp"
#include "bootstrap/pmi1.hpp"
#include "bootstrap/single.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

int connect_pmi1(std::unique_ptr<Bootstrap>* out) {
  Pmi1Session session;
  const int result = pmi1_environment(&session);
  return result == OMPL_OK ? open_pmi1(session, out) : result;
}

int connect_single(std::unique_ptr<Bootstrap>* out) {
  *out = open_single();
  return OMPL_OK;
}

int connect_auto(std::unique_ptr<Bootstrap>* out) {
  if (mpi_phase() == MpiPhase::running) return open_mpi(out);
  if (pmi1_offered()) return connect_pmi1(out);
  // A launcher that we cannot talk to must not give N jobs of one rank each.
  for (const char* foreign : {"PMIX_RANK", "PMI_PORT", "PMI_ID"}) {
    if (const char* value = std::getenv(foreign)) {
      return fail(
          OMPL_ERR_LAUNCH,
          "the launcher set {}={}, but not PMI_FD: it does not speak PMI-1. Call MPI_Init before "
          "ompl_init, or start with omplrun, or set OMPL_LAUNCHER=single for ranks on their own",
          foreign, value);
    }
  }
  return connect_single(out);
}

}  // namespace

int connect(const Settings& settings, std::unique_ptr<Bootstrap>* out) {
  if (settings.launcher == "single") return connect_single(out);
  if (settings.launcher == "pmi1") return connect_pmi1(out);
  if (settings.launcher == "mpi") {
    if (mpi_phase() == MpiPhase::running) return open_mpi(out);
    return fail(OMPL_ERR_LAUNCH,
                "OMPL_LAUNCHER=mpi, but MPI does not run in this process; call MPI_Init "
                "before ompl_init");
  }
  return connect_auto(out);
}

}  // namespace ompl::bootstrap
