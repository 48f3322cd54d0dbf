// SPDX-License-Identifier: BSD-3-Clause
// ompl-bench-verbs: the layer beside ib_write_lat and ib_write_bw, between two machines.
#include <fmt/core.h>
#include <omnipgas/ompl_ext.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "common/command_line.hpp"
#include "common/input_error.hpp"
#include "measure.hpp"
#include "programs.hpp"

namespace {

using namespace bench_verbs;  // NOLINT(google-build-using-namespace)

constexpr const char* kByThreads = ", by threads";

struct Options {
  std::vector<std::size_t> sizes;       // of latencies
  std::vector<std::size_t> long_sizes;  // of bandwidths
  std::vector<unsigned> threads{1, 2, 4, 8};
  uint64_t iterations = 1000;
  uint64_t long_iterations = 200;
  bool perftest = false;
  std::string server;
  std::string json;
  std::string launcher;
  std::vector<unsigned> pools{1, 3, 8};
};

std::vector<std::size_t> powers(std::size_t from, std::size_t to) {
  std::vector<std::size_t> out;
  for (std::size_t size = from; size <= to; size *= 2) out.push_back(size);
  return out;
}

// Both ranks' host names, at both.
std::array<std::string, 2> hosts() {
  constexpr std::size_t kLongest = 256;
  uint64_t names = 0;
  check(ompl_alloc(2 * kLongest, &names), "ompl_alloc");
  const auto rank = static_cast<uint32_t>(ompl_rank());
  auto* const own = static_cast<char*>(ompl_ptr(rank, names));
  ::gethostname(own + rank * kLongest, kLongest - 1);
  check(ompl_put(reinterpret_cast<uintptr_t>(own + rank * kLongest), 1 - rank, names + rank * kLongest,
                 kLongest),
        "ompl_put");
  check(ompl_barrier(), "ompl_barrier");
  return {own, own + kLongest};
}

// The layer's figure beside perftest's, of the same column.
void compare(const Options& options, const Perftest& with, const char* tool, const Row& row,
             nlohmann::json* out) {
  const bool latency = row.times.has_value();
  std::string why;
  const std::vector<double> theirs =
      run_perftest(with, tool, row.bytes, latency ? options.iterations : options.long_iterations, &why);
  check(ompl_barrier(), "ompl_barrier");
  if (ompl_rank() != 0) return;
  nlohmann::json entry{{"tool", tool}, {"operation", row.operation}, {"bytes", row.bytes}};
  // ib_write_lat: bytes, iterations, t_min, t_max, t_typical...; ib_write_bw: bytes, iterations, peak, average...
  const std::size_t column = latency ? 4 : 3;
  if (theirs.size() <= column) {
    fmt::print(" {:<8} {}\n", row.bytes, why);
    entry["error"] = why;
  } else {
    const double ours = latency ? row.times->typical : row.bandwidth->average;
    fmt::print(" {:<8} {:<24} {:<14.2f} {:<12} {:<14.2f} {:.2f}\n", row.bytes, row.operation, ours,
               tool, theirs[column], ours / theirs[column]);
    entry.update({{"ompl", ours}, {"perftest", theirs[column]}});
  }
  out->push_back(entry);
}

std::vector<Row> measure(const Options& options) {
  std::vector<Row> rows;
  std::string last;
  const auto add = [&](const Row& row) {
    if (ompl_rank() == 0) print(row, last);
    last = row.operation;
    rows.push_back(row);
  };
  for (const bool together : {false, true})
    for (const std::size_t bytes : options.sizes)
      add(put_latency(together, bytes, 1, options.iterations));
  for (const std::size_t bytes : options.sizes) add(get_latency(bytes, options.iterations));
  for (const unsigned threads : options.threads) {
    Row row = put_latency(false, options.sizes.front(), threads, options.iterations);
    row.operation += kByThreads;
    add(row);
  }
  for (const Stream stream : {Stream::striped, Stream::whole, Stream::nonblocking})
    for (const std::size_t bytes : options.long_sizes)
      add(put_bandwidth(stream, bytes, options.long_iterations));
  return rows;
}

// A setting of the layer as the environment has it; ompl_init() has refused what cannot be used.
std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes it
  return value != nullptr ? value : otherwise;
}

int run_job(const Options& options) {
  ::setenv("OMPL_CONDUITS", "self,verbs", 0);  // NOLINT(concurrency-mt-unsafe): before any thread
  if (ompl_init() != OMPL_OK) {
    fmt::print(stderr, "ompl-bench-verbs: {}\n", ompl_error_detail());
    return 1;
  }
  if (ompl_size() != 2) {
    if (ompl_rank() == 0)
      fmt::print(stderr,
                 "ompl-bench-verbs: this job has {} rank(s); start two, one on each of two machines: "
                 "mpirun -n 2 -ppn 1 ompl-bench-verbs\n",
                 ompl_size());
    ompl_finalize();
    return 2;
  }
  const std::size_t most = std::max(options.sizes.back(), options.long_sizes.back());
  const std::string conduits = variable("OMPL_CONDUITS", ""),
                    endpoints = variable("OMPL_ENDPOINTS", "0");
  check(reserve(most, std::ranges::max(options.threads), variable("OMPL_STATISTICS", "0") == "1"),
        "ompl_alloc");
  const auto names = hosts();
  if (ompl_rank() == 0)
    fmt::print("omnipgas {}: {} and {}, OMPL_CONDUITS={}, endpoints: {}\n", ompl_version(), names[0],
               names[1], conduits, endpoints == "0" ? "chosen by the layer" : endpoints);
  const std::vector<Row> rows = measure(options);
  nlohmann::json beside = nlohmann::json::array();
  if (options.perftest) {
    const Perftest with{.server = options.server.empty() ? names[0] : options.server,
                        .device = variable("OMPL_VERBS_DEVICE", "")};
    if (ompl_rank() == 0)
      fmt::print("\nbeside perftest: t_typical[usec] or BW average[MiB/sec]\n #bytes   layer{:>45}\n",
                 "ours / theirs");
    for (const Row& row : rows) {
      if (row.operation != "get" && !row.operation.ends_with(kByThreads))
        compare(options, with, row.times ? "ib_write_lat" : "ib_write_bw", row, &beside);
    }
  }
  if (ompl_rank() == 0 && !options.json.empty()) {
    nlohmann::json out{{"omnipgas", ompl_version()},
                       {"hosts", names},
                       {"conduits", conduits},
                       {"endpoints", std::stoul(endpoints)},
                       {"rows", nlohmann::json::array()},
                       {"perftest", beside}};
    for (const Row& row : rows) out["rows"].push_back(to_json(row));
    try {
      write_json(options.json, out);
    } catch (const ompl::InputError& error) {  // the other rank waits
      ompl_abort(1, error.what());
    }
  }
  return ompl_finalize() == OMPL_OK ? 0 : 1;
}

void declare(CLI::App& app, Options& options) {
  app.description(
      "Latency and bandwidth of puts, flags and gets over Verbs, in the form of ib_write_lat and "
      "ib_write_bw. Two ranks on two machines.");
  app.footer("Exit status: 0, or 1 if something failed, or 2 for a job that has not two ranks.");
  const auto list = [&app](const char* name, auto& values, const char* what, const char* text,
                           auto most) {
    app.add_option(name, values, what)
        ->option_text(text)
        ->delimiter(',')
        ->check(CLI::Range(decltype(most){1}, most));
  };
  list("--sizes", options.sizes, "bytes of the latencies; 8 ... 65536", "BYTES,...",
       std::size_t{1} << 30);
  list("--long-sizes", options.long_sizes, "bytes of the bandwidths; 64 KiB ... 8 MiB", "BYTES,...",
       std::size_t{1} << 30);
  list("--threads", options.threads, "threads of the multithreaded latencies; 1,2,4,8", "N,...", 1024U);
  app.add_option("-n,--iterations", options.iterations, "of each latency; 1000")
      ->option_text("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--long-iterations", options.long_iterations, "of each bandwidth; 200")
      ->option_text("N")
      ->check(CLI::PositiveNumber);
  app.add_flag("--perftest", options.perftest,
               "run ib_write_lat and ib_write_bw on the same device and show both");
  app.add_option("--server", options.server, "address of rank 0's machine for perftest; its host name");
  app.add_option("--json", options.json, "file for the results")->take_last();
  app.add_option(
         "--launcher", options.launcher,
         "start the jobs by this command, one for each size of the pool: \"mpirun -n 2 -ppn 1\"")
      ->take_last();
  list("--pools", options.pools, "sizes of the pool, with --launcher; 1,3,8", "N,...", 64U);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app;
  declare(app, options);
  ompl::say_printable(app);
  CLI11_PARSE(app, argc, argv);
  if (!options.launcher.empty())
    return run_pools(options.launcher, options.pools, {argv + 1, argv + argc}, options.json);
  if (options.sizes.empty()) options.sizes = powers(8, std::size_t{64} << 10);
  if (options.long_sizes.empty())
    options.long_sizes = powers(std::size_t{64} << 10, std::size_t{8} << 20);
  std::ranges::sort(options.sizes);
  std::ranges::sort(options.long_sizes);
  return run_job(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "ompl-bench-verbs: {}\n", ompl::printable(error.what()));
    return 1;
  }
}
