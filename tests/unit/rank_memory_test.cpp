// SPDX-License-Identifier: BSD-3-Clause
// The memory that a rank takes in a large job, and what of it grows with the number of ranks: one process that believes itself to be
// rank 0 of 1,000, and of 2,000, over a network that carries everything at once and keeps nothing. Counted is what operator new
// gives; segments, and the conduits' own connections, are not (docs/explanation/sizes.md).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <map>
#include <new>

#include "conduit/registry.hpp"
#include "core/data/operations.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace {

std::atomic<std::size_t> g_bytes{0};  // operator new takes no argument that could lead here

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  g_bytes.fetch_add(::malloc_usable_size(memory));
  return memory;
}
void uncounted(void* memory) {
  if (memory != nullptr) g_bytes.fetch_sub(::malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { uncounted(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  uncounted(memory);
}

namespace ompl {
namespace {

// All ranks say what this one says, and nobody is waited for.
class Believed final : public bootstrap::Bootstrap {
 public:
  explicit Believed(uint32_t size) : size_(size) {}
  [[nodiscard]] std::string_view name() const override { return "believed"; }
  [[nodiscard]] uint32_t rank() const override { return 0; }
  [[nodiscard]] uint32_t size() const override { return size_; }
  [[nodiscard]] bool of_processes() const override { return false; }
  [[nodiscard]] std::vector<uint32_t> node_map() const override { return {}; }
  int set(std::string_view key, std::string_view value) override {
    said_[std::string(key)] = value;
    return OMPL_OK;
  }
  int fence() override { return OMPL_OK; }
  int get(uint32_t /*rank*/, std::string_view key, std::string* value) override {
    *value = said_[std::string(key)];
    return OMPL_OK;
  }
  int finish() override { return OMPL_OK; }
  void abort(int /*exit_code*/, std::string_view /*why*/) override {}

 private:
  const uint32_t size_;
  std::map<std::string, std::string> said_;
};

class NowhereEndpoint final : public conduit::Endpoint {
 public:
  conduit::Post put(uint32_t /*rank*/, const void* /*source*/, uint64_t /*offset*/,
                    std::size_t /*length*/) override {
    return {.state = conduit::Post::State::done, .ticket = ++posted_};
  }
  conduit::Post get(uint32_t /*rank*/, void* /*target*/, uint64_t /*offset*/,
                    std::size_t /*length*/) override {
    return {.state = conduit::Post::State::done, .ticket = ++posted_};
  }
  conduit::Post signal(uint32_t /*rank*/, const conduit::Signal& /*record*/) override {
    return {.state = conduit::Post::State::done};
  }
  int progress(conduit::Sink& /*sink*/, int /*budget*/) override { return 0; }
  [[nodiscard]] uint64_t completed(uint32_t /*rank*/) const override { return posted_; }
  [[nodiscard]] int failure(uint32_t /*rank*/) const override { return OMPL_OK; }

 private:
  uint64_t posted_ = 0;
};

class Nowhere final : public conduit::Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "nowhere"; }
  [[nodiscard]] conduit::Capabilities capabilities() const override {
    return {.passive_target = true,
            .ordered_signals = true,
            .ordered_puts = true,
            .remote_completion = true,
            .stalls_sender = true};
  }
  int open(const conduit::Job& /*job*/) override { return OMPL_OK; }
  [[nodiscard]] std::string address() const override { return "nowhere"; }
  conduit::Reach connect(uint32_t /*rank*/, std::string_view /*address*/) override {
    return {.usable = true, .why = "by a network that a job of many nodes has"};
  }
  int endpoint(uint32_t /*slot*/, std::unique_ptr<conduit::Endpoint>* out) override {
    *out = std::make_unique<NowhereEndpoint>();
    return OMPL_OK;
  }
};

// Bytes after each step of a program, above what there was before the first.
struct Steps {
  std::size_t joined = 0;    // ompl_init
  std::size_t contexts = 0;  // of which kContexts are open,
  std::size_t one = 0;       // each has put and signalled to one rank,
  std::size_t all = 0;       // and to every rank
};
constexpr uint32_t kContexts = 8;

Steps run(uint32_t ranks) {
  Steps steps;
  Settings settings;
  settings.segment_size = std::size_t{64} << 20;
  settings.endpoints = 4;
  const std::size_t before = g_bytes.load();
  Runtime::Conduits conduits;
  conduits.push_back(conduit::self::make());
  conduits.push_back(std::make_unique<Nowhere>());
  std::unique_ptr<Runtime> runtime;
  const int code =
      Runtime::create(settings, std::make_unique<Believed>(ranks), std::move(conduits), &runtime);
  EXPECT_EQ(code, OMPL_OK) << error_detail();
  if (code != OMPL_OK) return steps;
  steps.joined = g_bytes.load() - before;
  std::vector<Context*> contexts;
  contexts.reserve(kContexts);
  for (uint32_t i = 0; i < kContexts; ++i) contexts.push_back(runtime->contexts.open());
  steps.contexts = g_bytes.load() - before;
  uint64_t place = 0;
  EXPECT_EQ(runtime->memory.allocate(256, &place), OMPL_OK);
  const uint64_t word = 1;
  const auto send = [&](uint32_t to) {
    for (Context* const context : contexts) {
      EXPECT_EQ(put(*context, &word, to, place, sizeof word), OMPL_OK) << error_detail();
      EXPECT_EQ(signal(*context, to, {.offset = place + 64}), OMPL_OK) << error_detail();
      EXPECT_EQ(flush(*context), OMPL_OK);
    }
  };
  send(1);
  steps.one = g_bytes.load() - before;
  for (uint32_t to = 1; to < ranks; ++to) send(to);
  steps.all = g_bytes.load() - before;
  return steps;
}

TEST(RankMemory, GrowsWithTheRanksThatAreUsed) {
  constexpr uint32_t kRanks = 1000;
  run(2);  // what is made once for a process
  const Steps small = run(kRanks);
  const Steps large = run(2 * kRanks);
  const auto per_peer = [](std::size_t of_small, std::size_t of_large) {
    return (static_cast<double>(of_large) - static_cast<double>(of_small)) / kRanks;
  };
  const double joined = per_peer(small.joined, large.joined);
  const double context =
      per_peer(small.contexts - small.joined, large.contexts - large.joined) / kContexts;
  const double one = per_peer(small.one - small.contexts, large.one - large.contexts);
  const double used = per_peer(small.all - small.one, large.all - large.one);
  fmt::print("at {} ranks, bytes                        in all   of it for each rank of the job\n",
             kRanks);
  fmt::print("a rank that has joined             {:>12} {:>12.1f}\n", small.joined, joined);
  fmt::print("  of it Membership's Peer          {:>12} {:>12}\n", kRanks * sizeof(Peer), sizeof(Peer));
  fmt::print("  of it Failures' PeerState        {:>12} {:>12}\n", kRanks * sizeof(PeerState),
             sizeof(PeerState));
  fmt::print("  of it pools of slots             {:>12} {:>12}\n", kRanks * sizeof(Pool), sizeof(Pool));
  fmt::print("  of it where segments are mapped  {:>12} {:>12}\n", kRanks * sizeof(void*),
             sizeof(void*));
  fmt::print("each further context               {:>12} {:>12.1f}\n",
             (small.contexts - small.joined) / kContexts, context);
  fmt::print("{} contexts that use one rank       {:>12} {:>12.1f}\n", kContexts,
             small.one - small.contexts, one);
  fmt::print("{} contexts that use every rank     {:>12} {:>12.1f}\n", kContexts, small.all - small.one,
             used);
  EXPECT_LT(joined, 128) << "a rank keeps something new for every other one";
  EXPECT_LT(context, 1) << "a context keeps something for ranks that it does not use";
  EXPECT_LT(one, 8) << "slots, or contexts, keep something for ranks that they do not use";
  EXPECT_LT(used, 12000) << "what is kept of a rank that is used has grown";
}

}  // namespace
}  // namespace ompl
