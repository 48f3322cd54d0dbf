// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "omnipgas/ompl.h"
#include "util/printable.hpp"

namespace omplrun {
namespace {

constexpr uint32_t kMostRanks = 4096;  // each takes two or three descriptors and a process
constexpr int kUsageError = 2;

// What CLI11 says by itself of a wrong value names neither the option's meaning nor what is accepted.
CLI::Validator seconds(double least) {
  return {[least](std::string& text) {
            constexpr double kMost = 1e9;
            double value = 0;
            const bool good = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
            if (good && value >= least && value <= kMost) return std::string();
            return fmt::format("\"{}\" is no finite number of seconds from {} to {:.0f}", text, least,
                               kMost);
          },
          ""};
}

CLI::Validator number(uint32_t least, uint32_t most, const char* what) {
  return {[=](std::string& text) {
            uint32_t value = 0;
            const bool digits =
                !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
            if (digits && CLI::detail::lexical_cast(text, value) && value >= least && value <= most)
              return std::string();
            return fmt::format("\"{}\" is no {} from {} to {}", text, what, least, most);
          },
          ""};
}

const std::map<std::string, Options::Bind> kBinds{
    {"auto", Options::Bind::automatic}, {"none", Options::Bind::none}, {"core", Options::Bind::core}};

std::string check_bind(const std::string& text) {
  if (kBinds.contains(text)) return {};
  return fmt::format("\"{}\" is not one of none, core and auto", text);
}

constexpr const char* kFooter =
    "Exit code: 0 if every rank exits with 0; else that of the first rank that fails, 128 + N if "
    "signal N\n"
    "ended it, 1 if it left without ending its PMI session, 124 after --timeout, 126 or 127 if the\n"
    "program cannot be started. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to all "
    "ranks; a\n"
    "second SIGINT kills them, and so does what --grace says. SIGTSTP (^Z) stops the job with its "
    "ranks, SIGCONT\n"
    "(fg, bg) continues them.";

std::string check_assignment(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return fmt::format("\"{}\" is not NAME=VALUE", text);
  return {};
}

// The command line as CLI11 takes it, its end first; -np, which MPI's users type, is -n. The program's own options,
// behind the first word that is neither an option of ours nor the value of one, stay as they are.
std::vector<std::string> reversed_arguments(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (std::size_t i = 0; i < words.size() && words[i].starts_with('-') && words[i] != "--"; ++i) {
    if (words[i] == "-np") words[i] = "-n";
    const bool is_flag = words[i] == "--no-prefix" || words[i] == "--keep-going";
    if (!is_flag && words[i].find('=') == std::string::npos) ++i;  // its value
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// The usage names the program, which is no option.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "Usage: omplrun -n N [OPTIONS] PROGRAM [ARGUMENTS]\n";
  }
};

// What CLI11 cannot know; "" if all is well.
std::string check(const Options& options) {
  if (options.command.empty()) return "which program? omplrun -n N PROGRAM [ARGUMENTS]";
  const auto& program = options.command.front();
  if (program.starts_with('-')) return fmt::format("unknown option {}; see omplrun --help", program);
  if (!options.nodes.empty() && options.nodes.size() != options.ranks) {
    return fmt::format("--node-of names the nodes of {} ranks, but -n is {}", options.nodes.size(),
                       options.ranks);
  }
  return {};
}

}  // namespace

std::optional<int> parse_options(int argc, char** argv, Options* out) {
  Options options;
  double timeout = 0;
  double grace = std::chrono::duration<double>(options.grace).count();
  bool no_prefix = false;
  std::string bind = "auto";

  CLI::App app{
      "omplrun -n N [OPTIONS] PROGRAM [ARGUMENTS]: starts N ranks of a program on this machine and\n"
      "ends them together.",
      "omplrun"};
  app.prefix_command();
  app.set_version_flag("--version", fmt::format("omplrun {}.{}.{}", OMPL_VERSION_MAJOR,
                                                OMPL_VERSION_MINOR, OMPL_VERSION_PATCH));
  app.footer(kFooter);
  app.formatter(std::make_shared<Help>());
  app.add_option("-n", options.ranks, "Number of ranks; -np is the same")
      ->required()
      ->check(number(1, kMostRanks, "number of ranks"))
      ->option_text("N");
  app.add_flag("--no-prefix", no_prefix, "Do not put [RANK] before each line of output");
  app.add_flag("--keep-going", options.keep_going,
               "When a rank dies, let the others go on (their calls return OMPL_ERR_PEER)");
  app.add_option("--timeout", timeout, "End the job after this many seconds (default: no limit)")
      ->check(seconds(0.001))
      ->option_text("SECONDS");
  app.add_option("--grace", grace,
                 "Kill ranks that are still there this many seconds after SIGINT, SIGTERM or SIGHUP\n"
                 "was passed on, and what a rank has started this many seconds after the rank's end\n"
                 "(default: 3)")
      ->check(seconds(0))
      ->option_text("SECONDS");
  app.add_option("--bind", bind,
                 "How to share out the cores: an equal share of whole cores for each rank\n"
                 "or none; auto (default): core unless there are more ranks than cores")
      ->check(check_bind)
      ->option_text("none|core|auto");
  app.add_option("--env", options.environment,
                 "Set a variable of the ranks' environment; may be repeated")
      ->allow_extra_args(false)
      ->check(check_assignment)
      ->option_text("NAME=VALUE");
  app.add_option("--wdir", options.directory, "Directory to start the ranks in (default: this one)")
      ->check(CLI::ExistingDirectory)
      ->option_text("DIRECTORY");
  app.add_option(
         "--node-of", options.nodes,
         "Pretend that there are several nodes: that of each rank, as in 0,0,1,1 (default: one node)")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->check(number(0, kMostRanks, "number of a node"))
      ->option_text("LIST");
  app.failure_message([](const CLI::App* of, const CLI::Error& error) {
    return "omplrun: " + ompl::printable(CLI::FailureMessage::simple(of, error));
  });
  try {
    app.parse(reversed_arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }

  options.prefix = !no_prefix;
  options.bind = kBinds.at(bind);
  if (timeout > 0) options.timeout = std::chrono::milliseconds(static_cast<int64_t>(timeout * 1000));
  options.grace = std::chrono::milliseconds(static_cast<int64_t>(grace * 1000));
  options.command = app.remaining();
  if (!options.command.empty() && options.command.front() == "--") {
    options.command.erase(options.command.begin());
  }
  if (const auto wrong = check(options); !wrong.empty()) {
    fmt::print(stderr, "omplrun: {}\n", ompl::printable(wrong));
    return kUsageError;
  }
  *out = std::move(options);
  return std::nullopt;
}

}  // namespace omplrun
