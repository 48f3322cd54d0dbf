// SPDX-License-Identifier: BSD-3-Clause
// The psm2 conduit over PSM2's shared memory: two ranks in one process.
#include <csignal>

#include "conduit/psm2/endpoint.hpp"
#include "conformance/rules/endpoint_rules.hpp"
#include "over_psm2.hpp"

namespace ompl::conduit::psm2::test {
namespace {

using namespace conduit::test;

Settings by_memory() {
  Settings settings;
  settings.psm2_devices = conformance::kPsm2Devices;
  return settings;
}

EndpointCase shared_memory() {
  conformance::no_psm2();
  return {"shm", [](uint32_t rank, uint32_t slots) {
            return std::make_unique<Node>(make(), rank, 2, slots, by_memory());
          }};
}

INSTANTIATE_TEST_SUITE_P(Psm2, EndpointRules, testing::Values(shared_memory()),
                         [](const auto& each) { return each.param.name; });

class Psm2EndpointTest : public EndpointRules {};
INSTANTIATE_TEST_SUITE_P(Psm2, Psm2EndpointTest, testing::Values(shared_memory()),
                         [](const auto& each) { return each.param.name; });

TEST_P(Psm2EndpointTest, ConnectExplainsWhatItRefuses) {
  expect_addresses_refused({changed_in_the_middle(b->conduit->address())});
  EXPECT_LE(b->conduit->address().size(), 512U) << "kept short";
}

TEST_P(Psm2EndpointTest, CapabilitiesAreThoseOfOrderedMessages) {
  const Capabilities capabilities = a->conduit->capabilities();
  EXPECT_TRUE(capabilities.ordered_signals && capabilities.ordered_puts);
  EXPECT_TRUE(capabilities.remote_completion && capabilities.stalls_sender);
  EXPECT_FALSE(capabilities.passive_target || capabilities.direct);
  EXPECT_GE(capabilities.max_message, 4096U);
}

// What is asked for while the other side stays outside is not complete, and is when it has been there.
TEST_P(Psm2EndpointTest, APutIsCompleteOnceItsTargetHasTakenIt) {
  signal(from_a(), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  const uint64_t word = 42;
  const Post post = insist([&] { return from_a().put(1, &word, kData, 8); }, [&] { step(); });
  ASSERT_EQ(post.state, Post::State::done);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_LT(from_a().completed(1), post.ticket);
    a->progress();
  }
  ASSERT_TRUE(until([&] { return from_a().completed(1) >= post.ticket; }, [&] { step(); }));
  EXPECT_EQ(*b->at<uint64_t>(kData), word);
}

// Records beyond the budget are kept, in order, and their sender is not told that they were taken.
TEST_P(Psm2EndpointTest, ProgressTakesNoMoreThanItsBudget) {
  signal(from_a(), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  Post last;
  uint32_t sent = 0;
  for (Post post; post.state != Post::State::retry; ++sent) {
    post = from_a().signal(1, {.offset = kFlag, .value = 1});
    if (is_posted(post)) last = post;
  }
  for (uint64_t before = b->sink.count; b->flag(kFlag) < sent; before = b->sink.count) {
    ASSERT_GE(from_b().progress(b->sink, 4), 0);
    ASSERT_LE(b->sink.count, before + 4);
    a->progress();
  }
  ASSERT_TRUE(until([&] { return from_a().completed(1) >= last.ticket; }, [&] { step(); }));
}

TEST_P(Psm2EndpointTest, AStrangerIsRefused) {
  Node stranger(make(), 0, 2, 1, by_memory(), "another job's secret");
  ASSERT_EQ(stranger.opened, OMPL_OK);
  EXPECT_FALSE(stranger.conduit->connect(1, b->conduit->address()).usable);
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
  for (int i = 0; i < 100'000; ++i) {
    const Post post = stranger.endpoints[0]->signal(1, {.offset = kFlag});
    ASSERT_FALSE(is_posted(post));
    both();
  }
  signal(from_a(), 1, {.offset = kFlag + 4});  // the rank that it pretended to be still gets in
  ASSERT_TRUE(until([&] { return b->flag(kFlag + 4) == 1; }, [&] { step(); }));
  EXPECT_EQ(b->flag(kFlag), 0U);
  EXPECT_EQ(from_b().failure(0), OMPL_OK);
}

std::vector<void (*)(int)> handlers() {
  std::vector<void (*)(int)> out;
  for (int number = 1; number < 32; ++number) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    out.push_back(action.sa_handler);
  }
  return out;
}

// libpsm2 takes SIGSEGV and SIGBUS for each connection.
TEST_P(Psm2EndpointTest, LeavesSignalsAlone) {
  const auto before = handlers();
  ASSERT_NO_FATAL_FAILURE(start(4, 4));
  for (uint32_t slot = 0; slot < 4; ++slot) signal(from_a(slot), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 4; }, [&] { step(); }));
  EXPECT_TRUE(handlers() == before);
}

// Three ranks, of which the last one stays outside the layer: PSM2 waits two seconds for it each time.
class Psm2Waiting : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = conformance::no_psm2(); !why.empty()) GTEST_SKIP() << why;
    for (uint32_t rank = 0; rank < 3; ++rank) {
      nodes.push_back(std::make_unique<Node>(make(), rank, 3, 1, by_memory()));
      ASSERT_EQ(nodes.back()->opened, OMPL_OK) << error_detail();
    }
    introduce({nodes[0].get(), nodes[1].get(), nodes[2].get()});
    insist([this] { return post(1, 0); }, [this] { step(); });
    ASSERT_TRUE(until([this] { return nodes[0]->flag(kFlag) == 1; }, [this] { step(); }));
  }
  Post post(uint32_t from, uint32_t to) {
    return nodes[from]->endpoints[0]->signal(to, {.offset = kFlag});
  }
  void step() {
    nodes[0]->progress();
    nodes[1]->progress();
  }
  std::vector<std::unique_ptr<Node>> nodes;
};

TEST_F(Psm2Waiting, RecordsStillComeAndPostsNeverWait) {
  constexpr uint32_t kRecords = 1000;
  ASSERT_EQ(post(0, 2).reason, Post::Reason::connecting);
  for (uint32_t sent = 0; sent < kRecords;) {
    ASSERT_EQ(post(0, 2).reason, Post::Reason::connecting);
    sent += is_posted(post(1, 0)) ? 1 : 0;
    step();
  }
  ASSERT_TRUE(until([this] { return nodes[0]->flag(kFlag) == 1 + kRecords; }, [this] { step(); }));
  insist([this] { return post(0, 1); }, [this] { step(); });  // between two attempts
  ASSERT_TRUE(until([this] { return nodes[1]->flag(kFlag) == 1; }, [this] { step(); }));
  const auto all = [this] {
    step();
    nodes[2]->progress();
  };
  insist([this] { return post(0, 2); }, all);
  ASSERT_TRUE(until([this] { return nodes[2]->flag(kFlag) == 1; }, all));
}

TEST_F(Psm2Waiting, ADeathEndsTheWait) {
  ASSERT_EQ(post(0, 2).reason, Post::Reason::connecting);
  for (int i = 0; i < 1000; ++i) step();
  nodes[2].reset();
  ASSERT_TRUE(
      until([this] { return nodes[0]->endpoints[0]->failure(2) != OMPL_OK; }, [this] { step(); }));
  EXPECT_EQ(nodes[0]->endpoints[0]->failure(2), OMPL_ERR_PEER);
  EXPECT_EQ(nodes[0]->endpoints[0]->failure(1), OMPL_OK);
}

}  // namespace
}  // namespace ompl::conduit::psm2::test
