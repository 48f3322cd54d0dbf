// SPDX-License-Identifier: BSD-3-Clause
// What the conduit posts for each message, read back from the device's operations: 1 to 8 threads on pools of 1 to 8,
// every payload looked at.  ompl_verbs_counters MESSAGES FILE: so many of each thread, results as JSON. Exits with 1 if a
// count is not what it must be.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"
#include "posts.hpp"

namespace {

using namespace ompl::conformance;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kFlagApart = 64;
constexpr uint64_t kRoom = 120;  // requests that a queue surely takes: one thread alone is not refused

// One way to send 8 bytes and a flag, and what it must cost.
struct Operation {
  const char* name;
  uint64_t doorbells, requests;  // of a message
  void (*send)(Rank&, const uint64_t* value, uint64_t data, uint64_t flag);
  void (*wait)(Rank&, uint64_t flag);
};

void put_and_flag(Rank& r, const uint64_t* value, uint64_t data, uint64_t flag) {
  ok(r.put(value, 1, data, sizeof *value));
  ok(r.signal(1, flag));
}

// No immediate carries a 64-bit flag: the put and a message, in one list.
void put_and_add64(Rank& r, const uint64_t* value, uint64_t data, uint64_t flag) {
  const ompl_signal add{flag, 1, OMPL_ADD64};
  ok(r.put(value, 1, data, sizeof *value));
  ok(ompl_ctx_signal(r.ctx(), 1, &add, OMPL_FOREVER));
}

void wait64(Rank& r, uint64_t flag) {
  const ompl_condition positive{.flag_addr = flag, .value = 0, .comparison = OMPL_TAKE, .width = 64};
  ok(ompl_ctx_wait_until(r.ctx(), &positive, OMPL_FOREVER));
}

constexpr Operation kOperations[] = {
    {"put, put_word", 1, 1, put_and_flag, [](Rank& r, uint64_t flag) { ok(r.wait(flag)); }},
    {"put, ADD64", 1, 2, put_and_add64, wait64},
};

ompl_statistics statistics(Rank& r) {
  ompl_statistics counted = OMPL_STATISTICS_INIT;
  ok(ompl_ctx_statistics(r.ctx(), &counted));
  return counted;
}

struct Result {
  Posts posts;
  std::atomic<uint64_t> verified{0}, failed_claims{0}, retries{0};
};

void run(const Operation& operation, unsigned threads, unsigned slots, uint64_t messages,
         Result* result) {
  const auto fabric = every_rank(ompl::conduit::self::make, ompl::conduit::verbs::make);
  ThreadWorld world(fabric(2), {.ranks = 2, .endpoints = slots, .statistics = true});
  const uint64_t data = world.allocate(threads * messages * sizeof(uint64_t));
  const uint64_t flags = world.allocate(threads * kFlagApart);
  std::atomic<unsigned> connected{0}, sent{0};
  std::atomic<bool> begun{false}, taken{false};
  world.run(
      [&](Rank& r) {
        const uint64_t my_data = data + r.thread * messages * sizeof(uint64_t);
        const uint64_t my_flag = flags + r.thread * kFlagApart;
        const auto value = [&](uint64_t i) { return (uint64_t{r.thread} << 32) + i + 1; };
        if (r.rank == 1) {
          operation.wait(r, my_flag);
          for (uint64_t i = 0; i < messages; ++i) {
            operation.wait(r, my_flag);
            const auto* const cells = reinterpret_cast<const uint64_t*>(r.own(my_data));
            if (cells[i] == value(i)) ++result->verified;
          }
          while (!taken) EXPECT_GE(r.poll(my_flag), 0);  // the end of the world sends signals, too
          return;
        }
        const uint64_t first = value(0);
        operation.send(r, &first, my_data, my_flag);  // connects
        ok(r.quiet());
        const ompl_statistics before = statistics(r);
        if (++connected == threads) {
          take_posts();
          begun = true;
        }
        while (!begun) EXPECT_GE(r.poll(flags), 0);
        for (uint64_t i = 0; i < messages; ++i) {
          const uint64_t now = value(i);
          operation.send(r, &now, my_data + i * sizeof now, my_flag);
        }
        const ompl_statistics after = statistics(r);
        result->failed_claims += after.failed_claims - before.failed_claims;
        result->retries += after.retries - before.retries;
        if (++sent < threads) return;
        result->posts = take_all_posts();
        taken = true;
      },
      threads);
}

// A put whose signal has to wait, for an endpoint or for room in its queue, goes out before it: one doorbell more for a
// post that was refused.
void expect_cost(uint64_t seen, uint64_t wanted, uint64_t refused) {
  EXPECT_GE(seen, wanted);
  EXPECT_LE(seen, wanted + refused);
}

std::string row(const Operation& operation, unsigned threads, unsigned slots, uint64_t messages) {
  Result seen;
  run(operation, threads, slots, messages, &seen);
  const uint64_t all = threads * messages;
  EXPECT_EQ(seen.verified, all) << "payloads";
  if (threads == 1 && messages * operation.requests <= kRoom) {
    EXPECT_EQ(seen.retries, 0U);
  }
  expect_cost(seen.posts.doorbells, all * operation.doorbells, seen.retries);
  expect_cost(seen.posts.requests, all * operation.requests, seen.retries);
  const auto each = [all](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(all);
  };
  return fmt::format(
      "{{\"operation\": \"{}\", \"threads\": {}, \"slots\": {}, \"messages\": {}, \"verified\": {}, "
      "\"doorbells\": {:.4f}, \"requests\": {:.4f}, \"failed_claims\": {:.4f}, \"refused\": {:.4f}, "
      "\"own\": {}}}",
      operation.name, threads, slots, all, seen.verified.load(), each(seen.posts.doorbells),
      each(seen.posts.requests), each(seen.failed_claims), each(seen.retries), seen.posts.own);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t messages = 0;
  if (argc != 3 ||
      std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), messages).ec != std::errc{} ||
      messages == 0) {
    fmt::print(stderr, "usage: ompl_verbs_counters MESSAGES FILE\n");
    return 2;
  }
  ompl::log::set_level(ompl::log::Level::error);
  std::string rows;
  for (const Operation& operation : kOperations) {
    for (const unsigned threads : {1U, 2U, 4U, 8U}) {
      for (const unsigned slots : {1U, 3U, 8U}) {
        const std::string now = row(operation, threads, slots, messages);
        fmt::print("{}\n", now);
        std::fflush(stdout);
        rows += (rows.empty() ? "\n  " : ",\n  ") + now;
      }
    }
  }
  std::ofstream file(argv[2]);
  file << fmt::format("{{\"per\": \"message of 8 bytes and its flag\", \"rows\": [{}\n]}}\n", rows);
  EXPECT_TRUE(file.good()) << "cannot write " << argv[2];
  return ::testing::Test::HasFailure() ? 1 : 0;
}
