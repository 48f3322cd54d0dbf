// SPDX-License-Identifier: BSD-3-Clause
// The ucx conduit over the transports of UCX_TLS: two ranks in one process.
#include <sys/mman.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "conduit/common/doorkeeper.hpp"
#include "conduit/registry.hpp"
#include "conduit/ucx/wire.hpp"
#include "conformance/rules/endpoint_rules.hpp"
#include "conformance/strangers.hpp"

namespace ompl::conduit::ucx::test {
namespace {

using namespace conduit::test;

EndpointCase plain() {
  return {"plain",
          [](uint32_t rank, uint32_t slots) { return std::make_unique<Node>(make(), rank, 2, slots); }};
}
Settings of_loopback() {
  Settings settings;
  settings.net_interface = "lo";
  return settings;
}
// By one network, where this test's strangers can come from.
EndpointCase loopback() {
  return {"loopback", [](uint32_t rank, uint32_t slots) {
            return std::make_unique<Node>(make(), rank, 2, slots, of_loopback());
          }};
}
std::string name_of(const testing::TestParamInfo<EndpointCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Ucx, EndpointRules, testing::Values(plain()), name_of);

class UcxEndpointTest : public EndpointRules {};
INSTANTIATE_TEST_SUITE_P(Ucx, UcxEndpointTest, testing::Values(loopback()), name_of);

// Puts that UCX sends its own way, some of them still under way when the next signal is due.
TEST_P(UcxEndpointTest, SignalsNeverOvertakeLongPuts) {
  constexpr std::size_t kWords = 16384;
  uint32_t seen = 0;
  uint64_t wrong = 0;
  b->sink.on_arrival = [&](const Arrival&) {
    ++seen;
    const auto* words = b->at<uint32_t>(kData + kWords * 4 * (seen % 64));
    for (std::size_t i = 0; i < kWords; i += kWords / 8) wrong += words[i] != seen;
    wrong += words[kWords - 1] != seen;
  };
  std::vector<std::vector<uint32_t>> payloads(64, std::vector<uint32_t>(kWords));
  for (uint32_t round = 1; round <= 1000; ++round) {
    std::vector<uint32_t>& payload = payloads[round % 64];
    payload.assign(kWords, round);
    const uint64_t place = kData + kWords * 4 * (round % 64);
    const Post post =
        insist([&] { return from_a().put(1, payload.data(), place, kWords * 4); }, [&] { step(); });
    signal(from_a(), 1, {.offset = kFlag});
    finish(from_a(), 1, post);
    ASSERT_TRUE(until([&] { return round - seen < 60; }, [&] { step(); }));
  }
  ASSERT_TRUE(until([&] { return seen == 1000; }, [&] { step(); }));
  EXPECT_EQ(wrong, 0U);
}

// It may connect, as UCX admits everybody; what it sends is dropped.
TEST_P(UcxEndpointTest, AStrangersRecordsAndDataAreDropped) {
  Node stranger(make(), 0, 2, 1, of_loopback(), "another job's secret");
  ASSERT_EQ(stranger.opened, OMPL_OK);
  const Reach refused = stranger.conduit->connect(1, b->conduit->address());
  EXPECT_FALSE(refused.usable) << "the card is another job's";
  // It has got hold of the card's contents all the same.
  std::string card = b->conduit->address();
  card.resize(card.size() - sizeof(uint64_t));
  const uint64_t hash = keyed_hash("another job's secret", card);
  card.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  ASSERT_TRUE(stranger.conduit->connect(1, card).usable);
  stranger.open_endpoints();
  const auto both = [&] {
    stranger.progress();
    b->progress();
  };
  const uint64_t word = 7;
  const auto posted = [](const Post& post) { return post.state != Post::State::failed; };
  EXPECT_TRUE(posted(insist([&] { return stranger.endpoints[0]->put(1, &word, kData, 8); }, both)));
  EXPECT_TRUE(
      posted(insist([&] { return stranger.endpoints[0]->signal(1, {.offset = kFlag}); }, both)));
  signal(from_a(), 1, {.offset = kFlag + 4});  // the rank that it pretended to be still gets in
  for (int i = 0; i < 1000; ++i) both();
  ASSERT_TRUE(until([&] { return b->flag(kFlag + 4) == 1; }, [&] { step(); }));
  EXPECT_EQ(b->flag(kFlag), 0U);
  EXPECT_EQ(*b->at<uint64_t>(kData), 0U);
  EXPECT_EQ(from_b().failure(0), OMPL_OK);
}

// UCX accepts everybody, and waits for ever for his first words.
TEST_P(UcxEndpointTest, StrangersHoldFewDescriptors) {
  int tried = 0;
  const std::size_t before = open_descriptors();
  for (const uint16_t port : listening_ports()) {  // of UCX: nobody else listens in this process
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}}) {
      const Strangers strangers(port, 300, bytes);
      ASSERT_TRUE(until([&] { return strangers.came(); }, [&] { step(); }));
      if (!strangers.are_there()) continue;  // it is not at the loopback
      ++tried;
      ASSERT_TRUE(until([&] { return open_descriptors() < before + 150; }, [&] { step(); }));
      signal(from_a(), 1, {.offset = kFlag});
      EXPECT_EQ(from_a().failure(1), OMPL_OK);
      EXPECT_LT(open_descriptors(), before + 150);
    }
  }
  if (tried == 0) GTEST_SKIP() << "these transports of UCX do not listen at the loopback";
}

// As many descriptors as the process may have are taken for a moment: the other rank is not dead.
TEST_P(UcxEndpointTest, AConnectionWaitsForDescriptors) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit low{.rlim_cur = open_descriptors() + 2, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(from_a().signal(1, {.offset = kFlag}).reason, Post::Reason::connecting);
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(from_a().failure(1), OMPL_OK);
  setrlimit(RLIMIT_NOFILE, &limit);
  signal(from_a(), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
}

TEST_P(UcxEndpointTest, ConnectExplainsWhatItRefuses) {
  const std::string good = b->conduit->address();
  expect_addresses_refused({changed_in_the_middle(good)});
  EXPECT_LE(good.size(), 512U) << "kept short";
}

// UCX would take the signals of errors, and patch the C library's memory functions.
TEST(UcxConduitTest, LeavesSignalsAndMemoryFunctionsAlone) {
  const auto code = [] {
    std::vector<unsigned char> bytes;
    for (void* function : {reinterpret_cast<void*>(&munmap), reinterpret_cast<void*>(&mmap),
                           reinterpret_cast<void*>(&madvise), reinterpret_cast<void*>(&mremap)}) {
      bytes.insert(bytes.end(), static_cast<unsigned char*>(function),
                   static_cast<unsigned char*>(function) + 16);
    }
    return bytes;
  };
  const auto handlers = [] {
    std::vector<void (*)(int)> out;
    for (int number = 1; number < 32; ++number) {
      struct sigaction action {};
      sigaction(number, nullptr, &action);
      out.push_back(action.sa_handler);
    }
    return out;
  };
  const auto code_before = code();
  const auto handlers_before = handlers();
  Node node(make(), 0, 1);
  ASSERT_EQ(node.opened, OMPL_OK) << error_detail();
  EXPECT_TRUE(code() == code_before);
  EXPECT_TRUE(handlers() == handlers_before);
  const Capabilities capabilities = node.conduit->capabilities();
  EXPECT_TRUE(capabilities.ordered_signals);
  EXPECT_FALSE(capabilities.remote_completion || capabilities.passive_target || capabilities.direct);
}

}  // namespace
}  // namespace ompl::conduit::ucx::test
