// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace bench_verbs {

Times times_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  const auto count = static_cast<double>(samples.size());
  const auto at = [&samples, count](double part) {
    return samples[std::min(samples.size() - 1, static_cast<std::size_t>(count * part))];
  };
  const double average = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - average) * (sample - average);
  return {.min = samples.front(),
          .max = samples.back(),
          .typical = at(0.5),
          .average = average,
          .stdev = std::sqrt(squares / count),
          .p99 = at(0.99),
          .p999 = at(0.999)};
}

void print(const Row& row, const std::string& last_operation) {
  if (row.operation != last_operation) {
    fmt::print("\n{}\n", row.operation);
    if (row.times) {
      fmt::print(
          " #bytes  #iterations  t_min[usec]  t_max[usec]  t_typical[usec]  t_avg[usec]  t_stdev[usec] "
          " "
          "99%[usec]  99.9%[usec]  threads  failed claims\n");
    } else {
      fmt::print(
          " #bytes  #iterations  BW peak[MiB/sec]  BW average[MiB/sec]  MsgRate[Mpps]  threads\n");
    }
  }
  if (const auto& t = row.times) {
    fmt::print(
        " {:<7} {:<12} {:<12.2f} {:<12.2f} {:<16.2f} {:<12.2f} {:<14.2f} {:<10.2f} {:<12.2f} {:<8} "
        "{}\n",
        row.bytes, row.iterations, t->min, t->max, t->typical, t->average, t->stdev, t->p99, t->p999,
        row.threads, row.failed_claims ? fmt::format("{:.4f}", *row.failed_claims) : "-");
  } else if (const auto& b = row.bandwidth) {
    fmt::print(" {:<7} {:<12} {:<17.2f} {:<20.2f} {:<14.6f} {}\n", row.bytes, row.iterations, b->peak,
               b->average, b->rate, row.threads);
  }
  std::fflush(stdout);
}

nlohmann::json to_json(const Row& row) {
  nlohmann::json out{{"operation", row.operation},
                     {"threads", row.threads},
                     {"bytes", row.bytes},
                     {"iterations", row.iterations}};
  if (const auto& t = row.times) {
    out.update({{"t_min_us", t->min},
                {"t_max_us", t->max},
                {"t_typical_us", t->typical},
                {"t_avg_us", t->average},
                {"t_stdev_us", t->stdev},
                {"p99_us", t->p99},
                {"p99.9_us", t->p999}});
  }
  if (const auto& b = row.bandwidth) {
    out.update({{"peak_MiBps", b->peak}, {"average_MiBps", b->average}, {"rate_Mpps", b->rate}});
  }
  if (row.failed_claims) out["failed_claims"] = *row.failed_claims;
  return out;
}

}  // namespace bench_verbs
