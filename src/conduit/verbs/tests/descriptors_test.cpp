// SPDX-License-Identifier: BSD-3-Clause
// A process that may open few descriptors, or no more: an error that says so, or the right data, and no hang. Over the
// stand-in, whose completion channels are pipes.
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/thread_bootstrap.hpp"
#include "over_verbs.hpp"

namespace ompl::conformance {
namespace {

constexpr uint32_t kRanks = 2;

// While it lives, no descriptor can be opened but so many.
class Room {
 public:
  explicit Room(rlim_t descriptors) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int first_free = ::dup(STDERR_FILENO);
    ::close(first_free);
    const rlimit few{static_cast<rlim_t>(first_free) + descriptors, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~Room() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  rlimit before_{};
};

class VerbsDescriptors : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  static std::unique_ptr<Fabric> fabric() { return over_verbs(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(over, VerbsDescriptors, ::testing::Values("rc", "xrc", "dc"),
                         [](const auto& each) { return std::string(each.param); });

// Starts a job, one slot each; what each rank was told, "" if it started. Who fails takes the others with it.
std::array<std::string, kRanks> start(Fabric& fabric) {
  const bootstrap::ThreadJob job(kRanks);
  std::array<std::unique_ptr<Runtime>, kRanks> runtimes;
  std::array<std::string, kRanks> told;
  {
    std::vector<std::jthread> pool;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      pool.emplace_back([&, rank] {
        Settings settings;
        settings.segment_size = std::size_t{1} << 20;
        settings.endpoints = 1;
        fabric.tune(rank, &settings);
        settings.node_id = "node of " + std::to_string(rank);
        const int code =
            Runtime::create(settings, job.join(rank), fabric.conduits(rank), &runtimes[rank]);
        if (code == OMPL_OK) return;
        told[rank] = ompl_error_detail();
        job.join(rank)->abort(1, told[rank]);
      });
    }
  }
  return told;
}

TEST_P(VerbsDescriptors, TooFewToStartIsAnErrorThatSaysSo) {
  constexpr rlim_t kEnough = 200;
  constexpr const char* kTooMany = "Too many open files";
  const auto over = fabric();
  ASSERT_EQ(start(*over), (std::array<std::string, kRanks>{})) << "loads what stays open";
  rlim_t room = 0;
  for (; room < kEnough; ++room) {
    const Room few(room);
    const auto told = start(*over);
    if (told[0].empty() && told[1].empty()) break;
    const auto says = [](const std::string& text, const char* what) {
      return text.find(what) != std::string::npos;
    };
    EXPECT_TRUE(says(told[0] + told[1], kTooMany)) << room << ": " << told[0] << told[1];
    for (const std::string& text : told)  // what comes last may be short on one rank alone
      EXPECT_TRUE(text.empty() || says(text, kTooMany) || says(text, "verbs: not usable on rank"))
          << room << ": " << text;
  }
  EXPECT_GT(room, 4 * kRanks) << "segment, pipe, liveness listener and what to sleep on";
  EXPECT_LT(room, kEnough);
}

// Ranks that have started need none to connect.
TEST_P(VerbsDescriptors, NoneIsNeededForTheFirstMessage) {
  constexpr std::size_t kLength = 100'000;
  ThreadWorld world(fabric(), {.ranks = 3, .endpoints = 1});
  const uint64_t data = world.allocate(kLength);
  const uint64_t flag = world.allocate(64);
  const Room none(0);
  world.run([&](Rank& r) {
    const std::vector<std::byte> source = pattern(kLength, r.rank);
    ok(r.put(source.data(), r.right(), data, kLength));
    ok(r.signal(r.right(), flag));
    ok(r.wait(flag));
    EXPECT_EQ(mismatch(r.own(data), kLength, (r.rank + 2) % 3), kLength);
  });
}

}  // namespace
}  // namespace ompl::conformance
