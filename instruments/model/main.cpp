// SPDX-License-Identifier: BSD-3-Clause
// ompl-model: predicts the time of a traced program under LogGPS and its relatives. `omni model` is its face.
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "common/command_line.hpp"
#include "common/input_error.hpp"
#include "common/output_file.hpp"
#include "model/readers/goal.hpp"
#include "model/readers/isolated.hpp"
#include "model/readers/otf2/trace.hpp"
#include "model/readers/patterns.hpp"
#include "model/readers/recording.hpp"
#include "model/replay/parameters.hpp"
#include "model/replay/replay.hpp"
#include "model/replay/timeline.hpp"
#include "model/whatif/whatif.hpp"
#include "model/writers/goal_writer.hpp"
#include "model/writers/otf2_writer.hpp"
#include "model/writers/report.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

// Those that this process may use.
unsigned cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());  // more than cpu_set_t holds
}

struct Request {
  std::string input;
  std::string parameters;
  std::string model = "loggps";
  std::string json = "-";
  std::string timeline;
  std::string output;
  uint64_t timeline_records = 2'000'000;
  double compute_scale = 1;
  bool no_sharing = false;
  bool no_sensitivity = false;
  std::string changes;
  unsigned jobs = cores();
  unsigned threads = 0;  // of a replay; 0: as many as are of use
  Options options;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Score-P's folders hold an archive of this name.
std::string archive_in(const std::string& input) {
  const std::filesystem::path archive = std::filesystem::path(input) / "traces.otf2";
  std::error_code error;
  return std::filesystem::exists(archive, error) ? archive.string() : input;
}

std::unique_ptr<Trace> open_trace(const std::string& input) {
  if (is_pattern(input)) return make_pattern(input);
  if (is_otf2(input)) return read_otf2(input);
  if (is_recording(input)) return std::make_unique<Recording>(input);
  return read_goal_file(input);
}

// Threads that meet after each window need enough ranks to be busy with between.
unsigned threads_of(const Request& request, const Trace& trace, unsigned cores) {
  constexpr unsigned kRanksEach = 256;
  if (request.threads > 0) return request.threads;
  return std::max(1U, std::min(cores, trace.ranks() / kRanksEach));
}

// What would change if the shortest message above S were sent without synchronization.
double with_longer_limit(const Trace& trace, Parameters parameters, const Options& options,
                         const Result& result) {
  if (result.shortest_rendezvous == 0) return std::nan("");
  parameters.longest_eager = result.shortest_rendezvous;
  return replay(trace, parameters, options).predicted_ns;
}

// Two replays, at once if each is by one thread.
nlohmann::json sensitivity(const Trace& trace, const Parameters& parameters, const Request& request,
                           const Options& options, const Result& result) {
  const bool at_once = request.jobs > 1 && result.threads == 1;
  auto other = std::async(at_once ? std::launch::async : std::launch::deferred,
                          [&] { return with_longer_limit(trace, parameters, options, result); });
  const Sensitivity path = trace_critical_path(trace, parameters, options);
  return to_json(path, result, trace, parameters, other.get());
}

void write(const std::string& file, const nlohmann::json& out) {
  if (file == "-") {
    std::cout << out.dump(1) << '\n';
    return;
  }
  ompl::OutputFile result(file);
  result.stream() << out.dump(1) << '\n';
  result.commit();
}

int predict(const Request& request) {
  Parameters parameters = find_parameters(request.parameters, model_named(request.model));
  parameters.value[compute] = request.compute_scale;
  auto start = std::chrono::steady_clock::now();
  const auto trace = open_trace(request.input);
  Prediction prediction{.input = request.input, .read_seconds = seconds_since(start), .result = {}};
  Options options = request.options;
  options.threads = threads_of(request, *trace, cores());
  std::optional<Timeline> timeline;
  if (!request.timeline.empty())
    timeline.emplace(request.timeline, trace->threads_by_rank(), request.timeline_records);
  start = std::chrono::steady_clock::now();
  prediction.result = replay(*trace, parameters, options, timeline ? &*timeline : nullptr);
  prediction.replay_seconds = seconds_since(start);
  if (prediction.result.blocked_count > 0)
    ompl::refuse("{}: {}", request.input, describe_deadlock(prediction.result));
  nlohmann::json out = to_json(prediction, *trace, parameters);
  if (timeline) {
    timeline->close();
    out["timeline"] = {{"records", timeline->records()}, {"left_out", timeline->left_out()}};
  }
  if (!request.no_sensitivity)
    out["sensitivity"] = sensitivity(*trace, parameters, request, options, prediction.result);
  write(request.json, out);
  return 0;
}

int write_goal(const std::string& input, const std::string& file) {
  const auto trace = open_trace(input);
  ompl::OutputFile out(file);
  const GoalLosses losses = write_goal(*trace, out.stream());
  out.commit();
  if (losses.synchronous > 0)
    fmt::print(stderr, "warning: {} synchronous sends became ordinary ones, for GOAL has no others\n",
               losses.synchronous);
  return 0;
}

int write_otf2_archive(const std::string& input, const std::string& file) {
  const Otf2Losses losses = write_otf2(input, file);
  if (losses.modes > 0)
    fmt::print(stderr,
               "warning: {} persistent sends became ordinary ones, for OTF2 does not tell their mode\n",
               losses.modes);
  if (losses.regions > 0)
    fmt::print(stderr,
               "warning: {} one-sided and neighbour operations, and this layer's own, became regions "
               "alone, which replay as computation\n",
               losses.regions);
  if (losses.open > 0)
    fmt::print(stderr, "warning: {} nonblocking operations that nothing completed are left out\n",
               losses.open);
  return 0;
}

nlohmann::json parse(const std::string& file) {
  std::ifstream in(file);
  if (!in && file != "-") ompl::refuse("{} cannot be read", file);
  nlohmann::json out = nlohmann::json::parse(file == "-" ? std::cin : in, nullptr, false);
  if (!out.is_array()) ompl::refuse("{}: not a JSON array of changes", file);
  return out;
}

int whatif(const Request& request) {
  const Parameters base = find_parameters(request.parameters, model_named(request.model));
  std::vector<Change> changes;
  if (!request.changes.empty())
    for (const nlohmann::json& object : parse(request.changes))
      changes.push_back(read_change(object, base));
  const auto trace = open_trace(request.input);
  // Where there are more cores than replays each replay gets several.
  const auto replays = static_cast<unsigned>(changes.size()) + 1;
  Options options = request.options;
  options.threads = threads_of(request, *trace, cores() / std::min(replays, request.jobs));
  nlohmann::json out = what_if(*trace, base, options, changes, request.jobs);
  if (out["base"].contains("error"))
    ompl::refuse("{}: {}", request.input, out["base"]["error"].get<std::string>());
  out["input"] = request.input;
  write(request.json, out);
  return 0;
}

// nan passes every comparison of CLI11's ranges.
const CLI::Validator kFinite(
    [](std::string& text) {
      double value = 0;
      const bool good = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
      return good ? std::string() : text + " is no finite number";
    },
    "");

// What both commands take.
void declare_common(CLI::App* command, Request& request) {
  command
      ->add_option(
          "input", request.input,
          "folder of a trace or of Score-P, OTF2 archive (NAME.otf2), GOAL file, or a pattern such as "
          "ring:64:1000:8")
      ->required();
  command->add_option("--params", request.parameters, "file, or cenju4, myrinet, fast-ethernet")
      ->required();
  command->add_option("--model", request.model, "loggps, loggp-1, loggp-2, loggops-mpi, curve; loggps");
  command->add_option("--json", request.json, "file for the result; - (standard output)");
  command->add_flag("--no-sharing", request.no_sharing,
                    "messages do not share their receiver's bandwidth");
  command
      ->add_option("--jobs", request.jobs, "replays at a time; as many as this process may use cores")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--threads", request.threads,
                   "threads of a replay; as many as this process may use cores, one for 256 ranks")
      ->check(CLI::Range(1, 1024));
  command->add_option("--eager-buffer", request.options.eager_buffer,
                      "bytes that a rank may have sent another before they are received; 0: no limit");
}

void declare(CLI::App& app, Request& request) {
  app.description("Predicts the time of a traced program on a machine, and where the time goes.");
  app.footer("Exit status: 0, or 1 for input that cannot be used, a deadlock among it.");
  app.require_subcommand(1);
  CLI::App* const whatif = app.add_subcommand("whatif", "replay a trace under many changes at once");
  declare_common(whatif, request);
  whatif->add_option("--changes", request.changes,
                     "file with a JSON array of them; - (standard input)");
  CLI::App* const predict = app.add_subcommand("predict", "replay a trace under a model");
  declare_common(predict, request);
  predict->add_option("--timeline", request.timeline,
                      "file for what each rank does and when (model/timeline.hpp)");
  predict->add_option("--timeline-records", request.timeline_records,
                      "of it at most, of each rank its first ones; 2000000");
  predict->add_flag("--no-sensitivity", request.no_sensitivity, "no critical path and no derivatives");
  predict->add_option("--compute-scale", request.compute_scale, "factor of all computation; 1")
      ->check(kFinite & CLI::NonNegativeNumber);
  predict
      ->add_option("--noise", request.options.noise,
                   "computation takes longer by this part on average; 0")
      ->check(kFinite & CLI::NonNegativeNumber);
  predict->add_option("--seed", request.options.seed, "of the noise; 1");
  CLI::App* const goal = app.add_subcommand("goal", "write a trace as a GOAL schedule");
  goal->add_option("input", request.input, "folder of a trace, OTF2 archive, or a pattern")->required();
  goal->add_option("output", request.output, "file to write")->required();
  CLI::App* const otf2 = app.add_subcommand("otf2", "write a recorded trace as an OTF2 archive");
  otf2->add_option("input", request.input, "folder of a trace")->required();
  otf2->add_option("output", request.output, "NAME.otf2 to write, with the folder NAME beside it")
      ->required();
}

int run(const CLI::App& app, const Request& request) {
  if (app.got_subcommand("goal")) return write_goal(request.input, request.output);
  if (app.got_subcommand("otf2")) return write_otf2_archive(request.input, request.output);
  return app.got_subcommand("whatif") ? whatif(request) : predict(request);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Request request;
    CLI::App app;
    declare(app, request);
    ompl::say_printable(app);
    CLI11_PARSE(app, argc, argv);
    request.input = archive_in(request.input);
    request.options.sharing = !request.no_sharing;
    const auto work = [&] { return run(app, request); };
    // The OTF2 library may abort on a damaged archive.
    return is_otf2(request.input) ? isolated(request.input, work) : work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "ompl-model: {}\n", ompl::printable(error.what()));
    return 1;
  }
}
