// SPDX-License-Identifier: BSD-3-Clause
// How this build was made, and what the environment tells it: settings, launcher, folders.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "arch/libraries/library.hpp"
#include "check/check.hpp"
#include "conduit/registry.hpp"
#include "omnipgas/ompl.h"

namespace ompl::check {
namespace {

Finding build(const Surroundings& at) {
  const bool slow = at.build_type == "Debug" || !at.sanitizers.empty();
  std::string conduits;
  for (const conduit::Entry& entry : conduit::registry()) conduits += fmt::format(" {}", entry.name);
  return {.verdict = slow ? Verdict::slow : Verdict::fine,
          .found = fmt::format("omnipgas {}, {}{}{}; conduits{}", OMPL_VERSION_TEXT,
                               at.build_type.empty() ? "no build type" : at.build_type,
                               at.sanitizers.empty() ? "" : ", sanitizers ", at.sanitizers, conduits)};
}

Finding settings(const Surroundings& at) {
  Settings usable;
  const std::vector<std::string> refused = Settings::read_usable(&usable, at.lookup);
  if (!refused.empty())
    return {.verdict = Verdict::fails, .found = fmt::format("{}", fmt::join(refused, "; "))};
  std::string set;
  for (const Settings::Row& row : usable.describe(at.lookup)) {
    if (row.from_environment)
      set += fmt::format("{}{}={}", set.empty() ? "" : ", ", row.name, row.value);
  }
  return {.found = set.empty() ? "all have their defaults" : set};
}

Finding unknown_variables(const Surroundings& /*at*/) {
  Finding out;
  for (const Settings::Stranger& stranger : Settings::strangers()) {
    out.found += (out.found.empty() ? "" : "; ") + stranger.name;
    if (!stranger.meant.empty()) out.found += fmt::format(", did you mean {}?", stranger.meant);
    out.verdict = std::max(out.verdict, stranger.meant.empty() ? Verdict::note : Verdict::slow);
  }
  if (out.found.empty()) out.found = "none begins with OMPL_";
  return out;
}

Finding launcher(const Surroundings& at) {
  if (!at.launched.error.empty()) return {.verdict = Verdict::fails, .found = at.launched.error};
  std::string mpi;
  for (const std::string& file : arch::loaded_files("libmpi")) mpi += "; MPI is loaded: " + file;
  if (at.launched.by == "single") return {.found = "none: a job of one rank" + mpi};
  return {.found = fmt::format("{}: {} rank(s), {} on this node{}", at.launched.by, at.launched.ranks,
                               at.launched.on_node, mpi)};
}

// Whether files can be made there: what the rights say of a folder is not all.
std::string why_not_writable(const std::string& folder) {
  std::string name = folder + "/ompl-info.XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) return std::error_code(errno, std::generic_category()).message();
  ::close(file);
  ::unlink(name.c_str());
  return "";
}

Finding temporary_files(const Surroundings& at) {
  const std::string named = at.variable("TMPDIR");
  const std::string folder = named.empty() ? at.root + "/tmp" : named;
  const std::string why = why_not_writable(folder);
  return {.verdict = why.empty() ? Verdict::fine : Verdict::slow,
          .found = why.empty() ? folder + " is writable" : fmt::format("{}: {}", folder, why)};
}

// What the tuner would write into. The nearest folder of the path that exists: the rest would be made.
Finding cache_folder(const Surroundings& at) {
  const std::string& table = at.settings.tuner_table;
  const Verdict verdict = at.settings.tuner == "1" ? Verdict::slow : Verdict::note;
  if (table == "none") return {.found = "not wanted: OMPL_TUNER_TABLE is none"};
  const std::filesystem::path wanted = table.empty() ? std::filesystem::path(at.settings.cache_folder)
                                                     : std::filesystem::absolute(table).parent_path();
  if (wanted.empty()) return {.verdict = verdict, .found = "neither HOME nor XDG_CACHE_HOME is set"};
  std::filesystem::path place = wanted;
  std::error_code error;
  while (place.has_relative_path() && !std::filesystem::exists(place, error))
    place = place.parent_path();
  const std::string why = why_not_writable(place.string());
  return {.verdict = why.empty() ? Verdict::fine : verdict,
          .found = why.empty() ? wanted.string() : fmt::format("{}: {}", place.string(), why)};
}

constexpr auto kEnvironmentChecks = std::to_array<Check>({
    {"environment", "build", build, "a build for finding faults: several times slower",
     "build with the preset release"},
    {"environment", "settings", settings, "ompl_init returns OMPL_ERR_ARG on this rank",
     "set the variables to what the text says"},
    {"environment", "unknown variables", unknown_variables, "they have no effect on the layer",
     "ompl-info --variables lists all that it knows"},
    {"environment", "launcher", launcher, "ompl_init returns OMPL_ERR_LAUNCH", "do what the text says"},
    {"environment", "temporary files", temporary_files,
     "the layer needs none, but launchers (Open MPI, Slurm's PMIx) and omni do: they fail",
     "set TMPDIR to a local folder that is writable"},
    {"environment", "cache folder", cache_folder, "the tuner of collectives learns anew in each job",
     "set HOME, XDG_CACHE_HOME or OMPL_TUNER_TABLE to a place that is writable"},
});

}  // namespace

std::span<const Check> checks_of_the_environment() { return kEnvironmentChecks; }

}  // namespace ompl::check
