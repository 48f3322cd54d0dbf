// SPDX-License-Identifier: BSD-3-Clause
// Which launcher protocol a process starts up with, and the secret of a job.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "arch/libraries/library.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/mpi.hpp"
#include "bootstrap/pmi1.hpp"
#include "bootstrap/pmi1_wire.hpp"
#include "bootstrap/pmix.hpp"
#include "util/log.hpp"
#include "util/secret.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

int connect_pmi1(std::unique_ptr<Bootstrap>* out) {
  Pmi1Session session;
  const int result = pmi1_environment(&session);
  return result == OMPL_OK ? open_pmi1(session, out) : result;
}

int connect_pmix(const Settings& settings, std::unique_ptr<Bootstrap>* out) {
  PmixSession session;
  session.library = settings.pmix_library;
  const int result = pmix_environment(&session);
  return result == OMPL_OK ? open_pmix(session, out) : result;
}

int connect_single(std::unique_ptr<Bootstrap>* out) {
  *out = open_single();
  return OMPL_OK;
}

int connect_mpi(std::unique_ptr<Bootstrap>* out) {
  if (mpi_phase() == MpiPhase::running) return open_mpi(out);
  return fail(
      OMPL_ERR_LAUNCH,
      "OMPL_LAUNCHER=mpi, but MPI does not run in this process; call MPI_Init before ompl_init");
}

// Both PMI and PMIx are there, as when a launcher starts another: of the same rank, or which one is meant?
int refuse_two_launchers() {
  const char* pmi = ::secure_getenv("PMI_RANK");
  const char* pmix = ::secure_getenv("PMIX_RANK");
  if (pmi == nullptr || pmix == nullptr || std::string_view(pmi) == pmix) return OMPL_OK;
  return fail(OMPL_ERR_LAUNCH,
              "PMI_RANK={} and PMIX_RANK={} contradict each other: two launchers have set them; set "
              "OMPL_LAUNCHER to pmi1 or pmix, whichever started this job",
              pmi, pmix);
}

// Some MPIs cannot be initialised in a process that has joined its job already; said now, as their own words tell
// nothing, or they hang.
int refuse_to_come_before_mpi() {
  if (!pmi1_offered() && pmix_offered() && is_open_mpi5_before_init()) {
    return fail(
        OMPL_ERR_LAUNCH,
        "MPI_Init of Open MPI 5 would fail after ompl_init, as it cannot join a PMIx that runs "
        "already; call MPI_Init before ompl_init, or set OMPL_LAUNCHER=pmix if it is never called");
  }
  // PMI_JOBID: Slurm's. Its pmi2 plugin never answers the second `init` on a rank's socket.
  if (pmi1_offered() && any_set({"SLURM_PROCID"}) && any_set({"PMI_JOBID"}) && mpi_may_use_pmi1() &&
      mpi_phase() == MpiPhase::before_init) {
    return fail(
        OMPL_ERR_LAUNCH,
        "MPI_Init would hang after ompl_init under srun --mpi=pmi2, which takes one PMI session of "
        "each rank; call MPI_Init before ompl_init, or set OMPL_LAUNCHER=pmi1 if it is never called");
  }
  return OMPL_OK;
}

// Whether the environment variable holds a number above 1. Leftovers of other kinds are not ours to judge.
bool above_one(const char* name) {
  const char* text = ::secure_getenv(name);
  return text != nullptr && pmi1::to_number(text).value_or(0) > 1;
}

// A launcher that we cannot talk to must not give N jobs of one rank each.
int refuse_foreign_launchers() {
  for (const char* foreign : {"PMI_PORT", "PMI_ID"}) {
    if (const char* value = ::secure_getenv(foreign)) {
      return fail(OMPL_ERR_LAUNCH,
                  "the launcher set {}={}, but not PMI_FD: it speaks neither PMI-1 nor PMIx. Call "
                  "MPI_Init before ompl_init, or start with omplrun, or set OMPL_LAUNCHER=single for "
                  "ranks on their own",
                  foreign, value);
    }
  }
  // A step of srun, not the script of a batch job: that has SLURM_NTASKS too, but is one process.
  if (any_set({"SLURM_PROCID"}) && above_one("SLURM_STEP_NUM_TASKS")) {
    return fail(OMPL_ERR_LAUNCH,
                "srun started {} tasks (SLURM_STEP_NUM_TASKS) but offers no PMI; start with srun "
                "--mpi=pmix or --mpi=pmi2, or set OMPL_LAUNCHER=single for ranks on their own",
                ::secure_getenv("SLURM_STEP_NUM_TASKS"));
  }
  const char* of_open_mpi =
      above_one("OMPI_COMM_WORLD_SIZE") ? "OMPI_COMM_WORLD_SIZE" : "PRTE_LAUNCHED";
  if (const char* value = ::secure_getenv(of_open_mpi)) {
    return fail(
        OMPL_ERR_LAUNCH,
        "Open MPI's launcher set {}={}, but PMIX_NAMESPACE and its sisters are not set; pass its "
        "environment on unchanged, or set OMPL_LAUNCHER=single for ranks on their own",
        of_open_mpi, value);
  }
  return OMPL_OK;
}

// Through the MPI that runs here. One that does not speak the launcher's protocol, as Open MPI under omplrun, is a job
// of one rank in each process.
int connect_running_mpi(std::unique_ptr<Bootstrap>* out) {
  const int result = open_mpi(out);
  if (result == OMPL_OK && (*out)->size() == 1 && above_one("PMI_SIZE"))
    log::warn(
        "the launcher started {} processes, but MPI_COMM_WORLD has one rank in each: this MPI does not "
        "speak PMI-1, so each process is a job of its own; start it by its own MPI's mpirun, or call "
        "ompl_init without MPI_Init before",
        ::secure_getenv("PMI_SIZE"));
  return result;
}

int connect_auto(const Settings& settings, std::unique_ptr<Bootstrap>* out) {
  if (mpi_phase() == MpiPhase::running) return connect_running_mpi(out);
  int result = refuse_two_launchers();
  if (result == OMPL_OK) result = refuse_to_come_before_mpi();
  if (result != OMPL_OK) return result;
  if (pmi1_offered()) return connect_pmi1(out);
  if (pmix_offered()) return connect_pmix(settings, out);
  if (arch::is_privileged())
    log::warn(
        "this process has more rights than who started it (AT_SECURE), so the environment is ignored, "
        "with "
        "the launcher and every OMPL_ variable: it is a job of one rank, unless MPI runs in it");
  result = refuse_foreign_launchers();
  return result == OMPL_OK ? connect_single(out) : result;
}

}  // namespace

int connect(const Settings& settings, std::unique_ptr<Bootstrap>* out) {
  const auto chosen = [&] {
    if (settings.launcher == "single") return connect_single(out);
    if (settings.launcher == "pmi1") return connect_pmi1(out);
    if (settings.launcher == "pmix") return connect_pmix(settings, out);
    if (settings.launcher == "mpi") return connect_mpi(out);
    return connect_auto(settings, out);
  };
  const int result = chosen();
  if (result == OMPL_OK && settings.launcher != "single") keep_from_children();
  return result;
}

int share_secret(Bootstrap& bootstrap, std::string* secret) {
  constexpr std::string_view kKey = "secret";
  if (bootstrap.rank() == 0) {
    const std::string word =
        fmt::format("{:016x}{:016x}", unpredictable_number(), unpredictable_number());
    const int result = bootstrap.set(kKey, word);
    if (result != OMPL_OK) return result;
  }
  const int result = bootstrap.fence();
  return result == OMPL_OK ? bootstrap.get(0, kKey, secret) : result;
}

}  // namespace ompl::bootstrap
