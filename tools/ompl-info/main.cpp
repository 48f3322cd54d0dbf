// SPDX-License-Identifier: BSD-3-Clause
// ompl-info: what this installation is, which conduits it can use here and why not, every variable; what would make a job slow here
// or fail; under a launcher also how each rank reaches the others.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "bootstrap/bootstrap.hpp"
#include "check/check.hpp"
#include "check/conduits.hpp"
#include "conduit/registry.hpp"
#include "core/job/runtime.hpp"
#include "tables.hpp"
#include "util/printable.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace {

using ompl::Settings;
namespace check = ompl::check;
namespace conduit = ompl::conduit;

void print_build() {
  fmt::print("omnipgas {}\n", OMPL_VERSION_TEXT);
  fmt::print("  compiler    {}\n  build type  {}\n  sanitizers  {}\n", OMPL_INFO_COMPILER,
             OMPL_INFO_BUILD_TYPE,
             std::string_view(OMPL_INFO_SANITIZE).empty() ? "none" : OMPL_INFO_SANITIZE);
#ifdef OMPL_HAVE_PMIX
  fmt::print("  pmix        built in, libpmix is loaded when the launcher speaks PMIx\n");
#else
  fmt::print("  pmix        not built in: its headers were not found, or OMPL_WITH_PMIX is off\n");
#endif
#ifdef OMPL_HAVE_VERBS
  fmt::print("  libibverbs  built in, loaded when a job needs a network\n");
#else
  fmt::print("  libibverbs  not built in: its header was not found, or OMPL_WITH_VERBS is off\n");
#endif
#ifdef OMPL_HAVE_OFI
  fmt::print("  libfabric   built in, loaded when a job needs a network\n");
#else
  fmt::print("  libfabric   not built in: its headers were not found, or OMPL_WITH_OFI is off\n");
#endif
#ifdef OMPL_HAVE_UCX
  fmt::print("  ucx         built in, loaded when OMPL_CONDUITS names it and a job needs a network\n");
#else
  fmt::print("  ucx         not built in: its headers were not found, or OMPL_WITH_UCX is off\n");
#endif
#ifdef OMPL_HAVE_UTOFU
  fmt::print("  utofu       built in, loaded when OMPL_CONDUITS names it and a job needs a network\n");
#else
  fmt::print("  utofu       not built in: its header was not found, or OMPL_WITH_UTOFU is off\n");
#endif
#ifdef OMPL_HAVE_PSM2
  fmt::print(
      "  psm2        built in, loaded when OMPL_CONDUITS names it, or a card of Omni-Path is here\n");
#else
  fmt::print("  psm2        not built in: OMPL_WITH_PSM2 is off\n");
#endif
#ifdef OMPL_HAVE_HWLOC
  fmt::print("  hwloc       built in, loaded when a progress thread gets a core\n");
#else
  fmt::print("  hwloc       not built in: its headers were not found, or OMPL_WITH_HWLOC is off\n");
#endif
}

void print_conduits(const Settings& settings) {
  fmt::print("\nConduits, in order of preference (OMPL_CONDUITS={})\n",
             ompl::printable(settings.conduits));
  std::string error;
  const std::vector<check::ConduitState> states = check::try_conduits(settings, &error);
  if (states.empty()) fmt::print("  none: {}\n", error);
  for (const check::ConduitState& state : states) {
    const std::string how = state.why_not.empty() ? "usable"
                            : state.wanted        ? "not usable: " + state.why_not
                                                  : state.why_not;
    fmt::print("  {:<6} {}; {}{}\n", state.entry.name, state.entry.text, how,
               state.entry.verified ? "" : "; never run on real hardware");
  }
}

void print_variables(const Settings& settings) {
  fmt::print("\nVariables (* set in the environment)\n");
  for (const Settings::Row& row : settings.describe()) {
    fmt::print("{} {:<20} {:<24} {} (type {}, default {})\n", row.from_environment ? '*' : ' ',
               row.name, row.value.empty() ? "\"\"" : ompl::printable(row.value), row.text, row.type,
               row.default_value.empty() ? "\"\"" : row.default_value);
  }
}

// Joins the job of the launcher, if there is one, and says how every rank is reached.
int print_reasons(const Settings& settings) {
  std::unique_ptr<ompl::bootstrap::Bootstrap> bootstrap;
  if (const int code = ompl::bootstrap::connect(settings, &bootstrap); code != OMPL_OK) return code;
  std::string text = fmt::format("\nRank {} of {} (launcher: {})\n", bootstrap->rank(),
                                 bootstrap->size(), bootstrap->name());
  std::unique_ptr<ompl::Runtime> runtime;
  const int code = ompl::Runtime::create(settings, std::move(bootstrap), conduit::registry(), &runtime);
  if (code != OMPL_OK) return code;
  for (uint32_t rank = 0; rank < runtime->size(); ++rank) {
    text += fmt::format("  rank {}: {} ({})\n", rank, runtime->members.peer(rank).conduit,
                        runtime->members.peer(rank).why);
  }
  const ompl::arch::Cores cores = ompl::arch::cores_of(runtime->members.processors());
  text += fmt::format("  progress mode spare: {}\n",
                      text_of(ompl::spare_core(cores, runtime->members.sharing())));
  text += fmt::format("  progress mode node: a thread of rank {}", runtime->members.first_of_node());
  text += runtime->members.node_rank() != 0 ? "\n"
                                            : fmt::format(" on {}\n", text_of(ompl::node_core(cores)));
  text += fmt::format(
      "  progress thread for other ranks: {}\n",
      runtime->progress.serves() ? "yes" : "none (OMPL_PROGRESS, or ompl_set_progress_thread)");
  fmt::print("{}", ompl::printable(text));
  return runtime->finalize(*runtime->contexts.open());
}

int inform(bool why, bool variables_only) {
  Settings settings;
  if (const int code = Settings::read(&settings); code != OMPL_OK) return code;
  // What is not usable here is this tool's output, not an error to log.
  ompl::log::set_level(settings.log_level == ompl::log::Level::debug ? settings.log_level
                                                                     : ompl::log::Level::off);
  if (variables_only) {
    print_variables(settings);
    return OMPL_OK;
  }
  if (why) return print_reasons(settings);
  print_build();
  print_conduits(settings);
  print_progress_modes();
  print_variables(settings);
  return OMPL_OK;
}

struct CheckOptions {
  bool wanted = false;
  bool json = false;
  check::Plan plan{.ranks = 0, .threads = 1, .nodes = 0};  // 0: what the launcher says
};

// Prints what would make a job slow, or fail; the exit status.
int look_at_everything(const CheckOptions& options) {
  ompl::log::set_level(ompl::log::Level::off);
  check::Surroundings at{
      .plan = options.plan, .build_type = OMPL_INFO_BUILD_TYPE, .sanitizers = OMPL_INFO_SANITIZE};
  Settings::read_usable(&at.settings);
  at.launched = check::ask_launcher(at.settings);
  if (at.plan.ranks == 0) at.plan.ranks = at.launched.on_node;
  if (at.plan.nodes == 0) at.plan.nodes = at.launched.nodes;
  std::vector<check::Row> rows;
  for (const check::Check& one : check::all_checks())
    rows.push_back({.check = one, .finding = check::look_apart(one, at)});
  fmt::print("{}", options.json ? check::json(at, rows) : check::table(rows));
  return check::status_of(check::verdict_of(rows));
}

void add_check_options(CLI::App& app, CheckOptions& options) {
  CLI::Option* const wanted = app.add_flag(
      "--check", options.wanted,
      "what would make a job slow here, or fail, and what to change; see the exit status below");
  app.add_flag("--json", options.json, "with --check: as a JSON document")
      ->needs(wanted)
      ->option_text(" ");
  const auto add_count = [&](const char* name, uint32_t& count, const char* text) {
    app.add_option(name, count, text)->needs(wanted)->check(CLI::Range(1U, 1U << 20))->option_text("N");
  };
  add_count(
      "--ranks", options.plan.ranks,
      "with --check: ranks that the job has on this node; without it those of the launcher, or 1");
  add_count("--threads", options.plan.threads, "with --check: threads of each rank; 1 by default");
  add_count("--nodes", options.plan.nodes,
            "with --check: nodes of the job; without it those of the launcher, or 1");
  app.add_option("--allocate", options.plan.allocated,
                 "with --check: bytes that each rank allocates (as 1GiB); 0 by default")
      ->needs(wanted)
      ->transform(CLI::AsSizeValue(false))
      ->option_text("SIZE");
  app.footer(
      "Exit status: with --check 0 if all is fine, 1 if something will be slow, 2 if something will "
      "fail; else 0, or 1 if "
      "the layer cannot start; above 100 if an option is wrong.");
}

int run(int argc, char** argv) {
  CLI::App app{"What this OmniPGAS installation is and can do here."};
  CheckOptions checks;
  bool why = false;
  bool variables = false;
  app.set_version_flag("--version", OMPL_VERSION_TEXT);
  app.add_flag(
      "--why", why,
      "how each rank of the job is reached, and why so; the core of its progress thread (run it "
      "under the launcher)");
  app.add_flag("--variables", variables, "only the variables, with value and meaning");
  add_check_options(app, checks);
  CLI::App* memory = app.add_subcommand(
      "memory", "what the queue pairs of InfiniBand take in large jobs, by transport and pool");
  uint64_t ranks_per_node = 1;
  uint64_t budget = 0;
  memory->add_option("--ranks-per-node", ranks_per_node, "ranks of the job on each node; 1 by default")
      ->check(CLI::Range(uint64_t{1}, uint64_t{4096}))
      ->option_text("N");
  memory
      ->add_option("--budget", budget,
                   "also the pools that so many bytes of a rank allow (as 1GiB); without it none")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("SIZE");
  app.failure_message([](const CLI::App* of, const CLI::Error& error) {
    return ompl::printable(CLI::FailureMessage::simple(of, error));
  });
  CLI11_PARSE(app, argc, argv);
  if (memory->parsed()) {
    print_queue_pair_memory(ranks_per_node, budget);
    return 0;
  }
  if (checks.wanted) return look_at_everything(checks);
  const int code = inform(why, variables);
  if (code == OMPL_OK) return 0;
  fmt::print(stderr, "ompl-info: {}: {}\n", ompl_strerror(code), ompl::error_detail());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ompl-info: %s\n", ompl::printable(error.what()).c_str());
    return 1;
  }
}
