// SPDX-License-Identifier: BSD-3-Clause
// The conduits, and the libraries below them with what is known of their versions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "arch/libraries/library.hpp"
#include "check/check.hpp"
#include "check/conduits.hpp"
#include "util/status.hpp"
#ifdef OMPL_HAVE_OFI
#include "conduit/ofi/provider.hpp"
#endif
#ifdef OMPL_HAVE_UCX
#include "conduit/ucx/library.hpp"
#endif

namespace ompl::check {
namespace {

// Names of OMPL_CONDUITS that this build does not have.
std::string unknown_conduits(const std::string& list) {
  std::string unknown;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    const auto same = [&](const conduit::Entry& entry) { return entry.name == name; };
    if (std::ranges::none_of(conduit::registry(), same))
      unknown += (unknown.empty() ? "" : ", ") + fmt::format("\"{}\"", name);
  }
  return unknown;
}

Finding conduits(const Surroundings& at) {
  std::string error;
  const std::vector<ConduitState> states = try_conduits(at.settings, &error);
  if (states.empty()) return {.verdict = Verdict::fails, .found = error};
  Finding out;
  bool networks = false;
  for (const ConduitState& state : states) {
    const bool of_the_program = state.entry.name == "mpi";  // whose MPI is not to be seen from here
    networks =
        networks || (!state.direct && (state.why_not.empty() || (state.wanted && of_the_program)));
    if (!state.wanted) continue;
    if (state.direct && !state.why_not.empty()) out.verdict = Verdict::fails;
    out.found += fmt::format("{}{}: {}", out.found.empty() ? "" : "; ", state.entry.name,
                             state.why_not.empty() ? "usable" : state.why_not);
  }
  if (!networks) {
    out.verdict = std::max(out.verdict, at.between_nodes(Verdict::fails));
    out.means = "no network: ranks that do not share memory cannot reach each other";
    out.change = "name tcp in OMPL_CONDUITS, or the conduit of the machine's network";
  }
  const auto shm = std::ranges::find(states, "shm", [](const auto& state) { return state.entry.name; });
  if (shm != states.end() && !shm->wanted && at.plan.ranks > 1) {
    out.verdict = std::max(out.verdict, networks ? Verdict::slow : Verdict::fails);
    out.found += "; shm: left out by OMPL_CONDUITS";
    out.means = "ranks of a node do not use memory";
  }
  if (const std::string unknown = unknown_conduits(at.settings.conduits); !unknown.empty()) {
    out.verdict = std::max(out.verdict, Verdict::slow);
    out.found += fmt::format("; not in this build: {}", unknown);
    if (out.means.empty()) out.means = "what OMPL_CONDUITS names is not used";
  }
  return out;
}

// "libfabric.so.1 of /usr/lib", of what this process has loaded.
[[maybe_unused]] std::string place_of(std::string_view library) {
  const std::vector<std::string> files = arch::loaded_files(library);
  return files.empty() ? std::string(library) : files.front();
}

[[maybe_unused]] bool is_wanted(const Settings& settings, std::string_view conduit) {
  return ("," + settings.conduits + ",").find(fmt::format(",{},", conduit)) != std::string::npos;
}

#ifdef OMPL_HAVE_OFI
Finding libfabric(const Surroundings& at) {
  if (!is_wanted(at.settings, "ofi")) return {.found = "not wanted (OMPL_CONDUITS)"};
  conduit::ofi::Library library;
  const bool tcp_is_there = at.settings.names_conduit("tcp");  // then only a fabric is missed
  if (library.load() != OMPL_OK)
    return {.verdict = tcp_is_there ? Verdict::note : at.between_nodes(Verdict::slow),
            .found = error_detail(),
            .means = "the conduit ofi is not usable"};
  conduit::ofi::ProviderChoice choice;
  const int code = conduit::ofi::choose_provider(library, at.settings, {}, &choice);
  Finding out{.found = fmt::format("{}: {}", place_of("libfabric"),
                                   code == OMPL_OK ? choice.why : error_detail())};
  if (code != OMPL_OK) {
    if (tcp_is_there) return out;
    out.verdict = at.between_nodes(Verdict::slow);
    out.means = "the conduit ofi is not usable";
  } else if (choice.name == "net") {
    out.verdict = at.between_nodes(Verdict::slow);
    out.means = "with this provider a rank that waits polls with a whole core";
    out.change = "install libfabric 1.18 or later, whose tcp provider sleeps";
  } else if (!arch::loaded_files("libpsm2").empty()) {
    out.verdict = Verdict::note;
    out.found += "; it loads libpsm2";
    out.means =
        "libpsm2 takes signals and may hang when it ends a process; the layer keeps it from that, an "
        "MPI "
        "that loads it before may not";
    out.change = "set HFI_NO_BACKTRACE=1 and IPATH_NO_BACKTRACE=1, or use a libfabric without psm2";
  }
  return out;
}
#endif

#ifdef OMPL_HAVE_UCX
Finding ucx(const Surroundings& at) {
  const bool wanted = is_wanted(at.settings, "ucx");
  conduit::ucx::Library library;
  if (library.load() != OMPL_OK) {
    return {.verdict = wanted ? at.between_nodes(Verdict::slow) : Verdict::fine,
            .found = wanted ? error_detail() : "not there, not wanted (OMPL_CONDUITS)",
            .means = "the conduit ucx is not usable",
            .change = "install UCX 1.13 or later, or add its folder to LD_LIBRARY_PATH"};
  }
  Finding out{.found = fmt::format("{}: UCX {}{}", place_of("libucp"), library.version(),
                                   wanted ? "" : "; not wanted (OMPL_CONDUITS)")};
  if (wanted && library.version() == "1.13") out.verdict = Verdict::note;
  return out;
}
#endif

constexpr auto kLibraryChecks = std::to_array<Check>({
    {"libraries", "conduits", conduits, "a mechanism that OMPL_CONDUITS names cannot be used",
     "change what the text names, or OMPL_CONDUITS"},
#ifdef OMPL_HAVE_OFI
    {"libraries", "libfabric", libfabric, "",
     "install libfabric 1.17 or later, or set OMPL_OFI_PROVIDER and OMPL_NET_INTERFACE to what is "
     "there"},
#endif
#ifdef OMPL_HAVE_UCX
    {"libraries", "UCX", ucx,
     "UCX 1.13 ends a rank that another one dies in the middle of a long put to (ucp_put_handler)",
     "use a later UCX, or the conduit ofi"},
#endif
});

}  // namespace

std::span<const Check> checks_of_libraries() { return kLibraryChecks; }

}  // namespace ompl::check
