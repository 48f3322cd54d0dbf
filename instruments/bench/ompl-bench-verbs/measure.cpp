// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include <fmt/core.h>
#include <omnipgas/ompl_ext.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <thread>

namespace bench_verbs {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPage = 4096;
constexpr uint64_t kWarmUp = 16;
constexpr uint64_t kWindow = 16;
constexpr int64_t kHour_ns = 3'600'000'000'000;
constexpr double kMiB = 1024.0 * 1024.0;

// Of each thread a source, a target and a page for its flag.
struct Reserved {
  uint64_t data = 0, flags = 0;
  std::size_t each = 0;
  bool statistics = false;
} g_reserved;

struct Places {
  unsigned char* source;  // own memory, the same place as `mine` of the other rank
  unsigned char* target;
  uint64_t from, to, flag;  // offsets
};

Places places(unsigned thread) {
  const uint64_t from = g_reserved.data + std::size_t{2} * thread * g_reserved.each;
  const uint64_t to = from + g_reserved.each;
  const auto rank = static_cast<uint32_t>(ompl_rank());
  return {static_cast<unsigned char*>(ompl_ptr(rank, from)),
          static_cast<unsigned char*>(ompl_ptr(rank, to)), from, to, g_reserved.flags + thread * kPage};
}

uint32_t other() { return 1 - static_cast<uint32_t>(ompl_rank()); }
uint64_t address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }
double us(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

// The first and the last byte tell which message came.
void mark(unsigned char* data, std::size_t bytes, uint64_t i) {
  data[0] = data[bytes - 1] = static_cast<unsigned char>(i);
}
void look(const unsigned char* data, std::size_t bytes, uint64_t i) {
  const auto wanted = static_cast<unsigned char>(i);
  if (data[0] == wanted && data[bytes - 1] == wanted) return;
  ompl_abort(1, "ompl-bench-verbs: wrong data arrived");
}

void send(bool together, const Places& p, std::size_t bytes, uint64_t i) {
  mark(p.source, bytes, i);
  if (together) {
    check(ompl_put_signal(address(p.source), other(), p.to, bytes, p.flag), "ompl_put_signal");
    return;
  }
  check(ompl_put(address(p.source), other(), p.to, bytes), "ompl_put");
  check(ompl_put_word(other(), p.flag), "ompl_put_word");
}

void receive(const Places& p, std::size_t bytes, uint64_t i) {
  check(ompl_wait(p.flag), "ompl_wait");
  look(p.target, bytes, i);
}

// What one thread has measured.
struct Samples {
  std::vector<double> times;
  std::optional<uint64_t> failed_claims;
};

std::optional<uint64_t> failed_claims() {
  if (!g_reserved.statistics) return std::nullopt;
  ompl_statistics counted = OMPL_STATISTICS_INIT;
  if (ompl_ctx_statistics(OMPL_CTX_DEFAULT, &counted) != OMPL_OK) return std::nullopt;
  return counted.failed_claims;
}

Samples ping_pong(bool together, std::size_t bytes, unsigned thread, uint64_t iterations) {
  const Places p = places(thread);
  Samples samples;
  samples.times.reserve(iterations);
  std::optional<uint64_t> before;
  for (uint64_t i = 0; i < kWarmUp + iterations; ++i) {
    if (i == kWarmUp) before = failed_claims();
    const auto start = Clock::now();
    if (ompl_rank() == 1) receive(p, bytes, i);
    send(together, p, bytes, i);
    if (ompl_rank() == 0) receive(p, bytes, i);
    if (i >= kWarmUp) samples.times.push_back(us(Clock::now() - start) / 2);
  }
  if (before) samples.failed_claims = *failed_claims() - *before;
  check(ompl_quiet(), "ompl_quiet");
  return samples;
}

Row row(const char* operation, std::size_t bytes, unsigned threads, uint64_t iterations) {
  Row out;
  out.operation = operation;
  out.bytes = bytes;
  out.threads = threads;
  out.iterations = iterations;
  return out;
}

// `count` puts at once; returns when all have landed.
void put_batch(Stream stream, const Places& p, std::size_t bytes, uint64_t count) {
  std::array<ompl_handle, kWindow> handles{};
  for (uint64_t i = 0; i < count; ++i) {
    int code = OMPL_OK;
    if (stream == Stream::nonblocking) {
      do {
        code = ompl_put_nb(OMPL_CTX_DEFAULT, address(p.source), other(), p.to, bytes, nullptr, 0,
                           &handles.at(i));
      } while (code >= OMPL_RETRY_FULL && code <= OMPL_RETRY_BUSY &&
               ompl_progress(OMPL_CTX_DEFAULT, 0) >= 0);
      if (code == OMPL_PENDING) code = OMPL_OK;
    } else {
      const int64_t limit = stream == Stream::whole ? kHour_ns : OMPL_FOREVER;
      code = ompl_ctx_put(OMPL_CTX_DEFAULT, address(p.source), other(), p.to, bytes, limit);
    }
    check(code, "a put");
  }
  if (stream == Stream::nonblocking) {
    check(ompl_handle_wait_all(OMPL_CTX_DEFAULT, handles.data(), count, OMPL_FOREVER),
          "ompl_handle_wait_all");
  } else {
    check(ompl_flush(), "ompl_flush");
  }
}

}  // namespace

void check(int code, const char* what) {
  if (code == OMPL_OK) return;
  const std::string text =
      fmt::format("ompl-bench-verbs: {}: {}: {}", what, ompl_strerror(code), ompl_error_detail());
  ompl_abort(1, text.c_str());
}

int reserve(std::size_t bytes, unsigned threads, bool statistics) {
  g_reserved.statistics = statistics;
  g_reserved.each = (bytes + kPage - 1) / kPage * kPage;
  const int code = ompl_alloc(std::size_t{2} * threads * g_reserved.each, &g_reserved.data);
  return code != OMPL_OK ? code : ompl_alloc((threads + 1) * kPage, &g_reserved.flags);
}

Row put_latency(bool together, std::size_t bytes, unsigned threads, uint64_t iterations) {
  std::vector<Samples> samples(threads);
  {
    std::vector<std::jthread> pool;
    for (unsigned thread = 0; thread < threads; ++thread) {
      pool.emplace_back(
          [&, thread] { samples[thread] = ping_pong(together, bytes, thread, iterations); });
    }
  }
  check(ompl_barrier(), "ompl_barrier");
  Row out = row(together ? "put_signal" : "put+flag", bytes, threads, iterations);
  std::vector<double> all;
  for (const Samples& one : samples) {
    all.insert(all.end(), one.times.begin(), one.times.end());
    if (!one.failed_claims) continue;
    const double messages = static_cast<double>(threads) * static_cast<double>(iterations);
    out.failed_claims =
        out.failed_claims.value_or(0) + static_cast<double>(*one.failed_claims) / messages;
  }
  out.times = times_of(std::move(all));
  return out;
}

Row get_latency(std::size_t bytes, uint64_t iterations) {
  const Places p = places(0);
  Row out = row("get", bytes, 1, iterations);
  std::vector<double> times{0};
  if (ompl_rank() == 1) {
    mark(p.source, bytes, 1);
    check(ompl_put_word(0, p.flag), "ompl_put_word");
    check(ompl_wait(p.flag), "ompl_wait");
  } else {
    check(ompl_wait(p.flag), "ompl_wait");
    times.clear();
    for (uint64_t i = 0; i < kWarmUp + iterations; ++i) {
      mark(p.target, bytes, 0);
      const auto start = Clock::now();
      check(ompl_get(address(p.target), 1, p.from, bytes), "ompl_get");
      if (i >= kWarmUp) times.push_back(us(Clock::now() - start));
      look(p.target, bytes, 1);
    }
    check(ompl_put_word(1, p.flag), "ompl_put_word");
  }
  check(ompl_barrier(), "ompl_barrier");
  out.times = times_of(std::move(times));
  return out;
}

Row put_bandwidth(Stream stream, std::size_t bytes, uint64_t iterations) {
  static constexpr const char* kNames[] = {"put, long ones striped", "put, each whole",
                                           "put_nb, 16 at once"};
  const Places p = places(0);
  Row out = row(kNames[static_cast<int>(stream)], bytes, 1, iterations);
  Bandwidth seen;
  if (ompl_rank() == 0) {
    const uint64_t batch = stream == Stream::nonblocking ? kWindow : 1;
    for (uint64_t i = 0; i < kWarmUp; ++i) put_batch(stream, p, bytes, batch);
    mark(p.source, bytes, iterations);
    const auto start = Clock::now();
    for (uint64_t done = 0; done < iterations; done += batch) {
      const auto begin = Clock::now();
      const uint64_t now = std::min(batch, iterations - done);
      put_batch(stream, p, bytes, now);
      const double moved = static_cast<double>(now) * static_cast<double>(bytes) / kMiB;
      seen.peak = std::max(seen.peak, moved / us(Clock::now() - begin) * 1e6);
    }
    const double seconds = us(Clock::now() - start) * 1e-6;
    seen.rate = static_cast<double>(iterations) / seconds * 1e-6;
    seen.average = seen.rate * 1e6 * static_cast<double>(bytes) / kMiB;
    check(ompl_put_word(1, p.flag), "ompl_put_word");
  } else {
    check(ompl_wait(p.flag), "ompl_wait");
    look(p.target, bytes, iterations);
  }
  check(ompl_barrier(), "ompl_barrier");
  out.bandwidth = seen;
  return out;
}

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
