// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/environment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "arch/libraries/library.hpp"
#include "bootstrap/pmi1_wire.hpp"
#include "bootstrap/pmix.hpp"
#include "util/status.hpp"

extern char** environ;

namespace ompl::bootstrap {
namespace {

// Servers give one address for each version of the protocol: PMIX_SERVER_URI2, PMIX_SERVER_URI41, ...
bool server_is_named() {
  if (arch::is_privileged()) return false;  // as secure_getenv()
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("PMIX_SERVER_URI")) return true;
  }
  return false;
}

// Set by the first process that joins a job by PMIx: which rank it is, and its process.
constexpr const char* kJoined = "OMPL_JOINED_AS";

// "NAMESPACE.RANK", or "" without PMIx.
std::string pmix_rank() {
  const char* const name_space = ::secure_getenv("PMIX_NAMESPACE");
  const char* const rank = ::secure_getenv("PMIX_RANK");
  return name_space != nullptr && rank != nullptr ? fmt::format("{}.{}", name_space, rank) : "";
}

// Whether another process is that rank already, which then has started this one.
bool is_taken_by_another() {
  const char* const joined = ::secure_getenv(kJoined);
  if (joined == nullptr) return false;
  const std::string_view text = joined;
  const auto space = text.rfind(' ');
  return space != std::string_view::npos && text.substr(0, space) == pmix_rank() &&
         text.substr(space + 1) != std::to_string(::getpid());
}

}  // namespace

bool any_set(std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [](const char* name) { return ::secure_getenv(name) != nullptr; });
}

int read_text(const char* name, const Protocol& protocol, const char** out) {
  const char* text = ::secure_getenv(name);
  if (text == nullptr) {
    return fail(OMPL_ERR_LAUNCH,
                "{} is not set, but {} needs it; start with {}, or set OMPL_LAUNCHER=single", name,
                protocol.name, protocol.launchers);
  }
  *out = text;
  return OMPL_OK;
}

int read_number(const char* name, const Protocol& protocol, uint32_t max, uint32_t* out) {
  const char* text = nullptr;
  const int result = read_text(name, protocol, &text);
  if (result != OMPL_OK) return result;
  const auto number = pmi1::to_number(text);
  if (!number || *number > max) {
    return fail(OMPL_ERR_LAUNCH, "{}=\"{}\" is not a number from 0 to {}; start with {}", name, text,
                max, protocol.launchers);
  }
  *out = *number;
  return OMPL_OK;
}

// PMI-1: the socket is not inherited. PMIx, whose server takes whoever names the rank: by a variable that names the process.
void keep_from_children() {
  const char* const socket = ::secure_getenv("PMI_FD");
  if (const auto fd = pmi1::to_number(socket != nullptr ? socket : ""); fd)
    ::fcntl(static_cast<int>(*fd), F_SETFD, FD_CLOEXEC);
  if (const std::string rank = pmix_rank(); !rank.empty())
    ::setenv(kJoined, fmt::format("{} {}", rank, ::getpid()).c_str(), 1);
}

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
  if (is_taken_by_another()) {
    return fail(
        OMPL_ERR_LAUNCH,
        "PMIX_RANK={} is the process that has started this one, which is no rank; start it with a "
        "launcher of its own, or set OMPL_LAUNCHER=single to run it alone",
        rank);
  }
  out->name_space = name_space;
  out->rank = rank;
  return OMPL_OK;
}

}  // namespace ompl::bootstrap
