// SPDX-License-Identifier: BSD-3-Clause
// The ofi conduit over the loopback interface: two ranks in one process, for each provider there is.
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>

#include "arch/clock.hpp"
#include "conduit/ofi/wire.hpp"
#include "conformance/rules/endpoint_rules.hpp"
#include "node.hpp"

namespace ompl::conduit::ofi::test {
namespace {

// A provider, used as it would be if it asked for what others do.
struct Form {
  std::string name;
  std::string provider;
  Demands demands = {};
  bool addressed = true;
};

const std::vector<Form> kForms{{"tcp", "tcp", {}, false},
                               {"net", "net", {}, false},
                               {"tcp_ofi_rxm", "tcp;ofi_rxm"},
                               {"net_rdm", "net/rdm"},
                               {"tcp_rdm", "tcp/rdm"},
                               {"shm", "shm"},
                               {"registering", "tcp;ofi_rxm", {.registration = true}},
                               {"unordered", "tcp;ofi_rxm", {.unordered = true}},
                               {"unordered_shm", "shm", {.registration = true, .unordered = true}},
                               {"no_immediates", "shm", {.no_immediates = true}}};

const Form& form(const std::string& name) { return *std::ranges::find(kForms, name, &Form::name); }

std::unique_ptr<Node> make_node_of(const Form& form, uint32_t rank, uint32_t slots,
                                   const std::string& secret = "a secret of the job") {
  return make_node(rank, 2, slots, form.provider, form.provider == "shm" ? "" : "lo", secret,
                   form.demands);
}

std::vector<EndpointCase> cases(const std::vector<std::string>& names) {
  std::vector<EndpointCase> out;
  for (const std::string& name : names) {
    const Form& one = form(name);
    const bool shm = one.provider == "shm";
    out.push_back(
        {.name = name,
         .node = [&one](uint32_t rank, uint32_t slots) { return make_node_of(one, rank, slots); },
         .pending_from = 10'000,  // more than any provider copies
         .no_early_close =
             shm ? "libfabric 1.17's shm crashes if an endpoint of the same process closes early" : "",
         .no_deaths = shm ? "libfabric's shm tells nothing of the dead: README.md" : ""});
  }
  return out;
}

const auto kProviders = testing::ValuesIn(cases({"tcp", "net", "tcp_ofi_rxm"}));
// Not in the quick set.
const auto kMore = testing::ValuesIn(
    cases({"net_rdm", "tcp_rdm", "shm", "registering", "unordered", "unordered_shm", "no_immediates"}));
constexpr auto kCaseName = [](const auto& test) { return test.param.name; };

INSTANTIATE_TEST_SUITE_P(Providers, EndpointRules, kProviders, kCaseName);
INSTANTIATE_TEST_SUITE_P(More, EndpointRules, kMore, kCaseName);

class OfiEndpointTest : public EndpointRules {};
INSTANTIATE_TEST_SUITE_P(Providers, OfiEndpointTest, kProviders, kCaseName);
INSTANTIATE_TEST_SUITE_P(More, OfiEndpointTest, kMore, kCaseName);

// The endpoint may hold a small put until its signal comes. Whatever comes instead, the data go first; and if nothing
// comes, progress sends them.
TEST_P(OfiEndpointTest, ASmallPutIsThereBeforeWhateverComesNext) {
  uint64_t seed = 0;
  const auto then = [&](const std::function<void()>& next) {
    uint64_t sent = ++seed;
    put(from_a(), 1, &sent, kData, sizeof sent);
    sent = 0;  // the source may be reused
    next();
    ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
    *b->at<uint32_t>(kFlag) = 0;
    ASSERT_EQ(*b->at<uint64_t>(kData), seed);
  };
  const uint64_t other = 77;
  then([&] { signal(from_a(), 1, {.offset = kFlag}); });
  then([&] { signal(from_a(), 1, {.offset = kFlag, .value = 1, .op = SignalOp::update64}); });
  then([&] {
    put(from_a(), 1, &other, kData + 8, sizeof other);
    bool signalled = false;
    const auto post = [&] {
      return from_a().put_signal(1, &other, kData + 16, sizeof other, {.offset = kFlag}, &signalled);
    };
    finish(from_a(), 1, insist(post, [&] { step(); }));
    if (!signalled) signal(from_a(), 1, {.offset = kFlag});
  });
  ASSERT_EQ(*b->at<uint64_t>(kData + 8), other);
  ASSERT_EQ(*b->at<uint64_t>(kData + 16), other);

  const auto there = [&] { return *b->at<std::atomic<uint64_t>>(kData) == seed; };
  put(from_a(), 1, &++seed, kData, sizeof seed);
  ASSERT_TRUE(until(there, [&] { step(); }));
  put(from_a(), 1, &++seed, kData, sizeof seed);
  until([&] { return from_a().arm() || there(); }, [&] { step(); });
  ASSERT_TRUE(until(there, [&] { b->progress(); })) << "whoever sleeps leaves nothing behind";
}

// Of those providers that have the connections themselves.
class OfiAddressedTest : public EndpointRules {};
INSTANTIATE_TEST_SUITE_P(Providers, OfiAddressedTest, testing::ValuesIn(cases({"tcp_ofi_rxm"})),
                         kCaseName);
INSTANTIATE_TEST_SUITE_P(More, OfiAddressedTest, testing::ValuesIn(cases({"net_rdm", "tcp_rdm"})),
                         kCaseName);

// The other side says goodbye and is then not served by its processor for a while.
TEST_P(OfiAddressedTest, WhatIsOutstandingAtAGoodbyeIsWaitedForWhileTheOtherEndpointIsThere) {
  constexpr std::size_t kLength = 1 << 18;
  signal(from_a(), 1, {.offset = kFlag});
  signal(from_b(), 0, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1 && a->flag(kFlag) == 1; }, [&] { step(); }));
  std::fill_n(b->at<std::byte>(kData), kLength, std::byte{0x5B});
  std::vector<std::byte> got(kLength);
  const auto get = [&] { return from_a().get(1, got.data(), kData, kLength); };
  const Post post = insist(get, [&] { step(); });
  ASSERT_EQ(post.state, Post::State::pending);
  signal(from_b(), 0, {.offset = 0, .op = static_cast<SignalOp>(kGoodbye)});
  ASSERT_TRUE(until([&] { return from_a().departed(1); }, [&] { a->progress(); }));
  for (const int64_t limit = arch::now_ms() + 3000; arch::now_ms() < limit;) {
    a->progress();
    if (from_a().completed(1) >= post.ticket) break;  // b was fast
    ASSERT_EQ(from_a().failure(1), OMPL_OK);
  }
  ASSERT_TRUE(until([&] { return from_a().completed(1) >= post.ticket; }, [&] { step(); }));
  EXPECT_EQ(std::ranges::count(got, std::byte{0x5B}), std::ptrdiff_t{kLength});
  EXPECT_TRUE(until([&] { return from_a().failure(1) == OMPL_ERR_LINK; }, [&] { a->progress(); }));
}

// Of those providers whose connections are sockets of ours.
class OfiConnectionTest : public EndpointRules {};
INSTANTIATE_TEST_SUITE_P(Providers, OfiConnectionTest, testing::ValuesIn(cases({"tcp", "net"})),
                         kCaseName);

// Slot 2 of three talks to slot 0 of two, which talks back to slot 0.
TEST_P(OfiConnectionTest, ABreakOfAConnectionThatOnlyTheOtherSideSendsOnIsALoss) {
  int broken = 0;
  ASSERT_NO_FATAL_FAILURE(lose_a_connection_that_only_a_sends_on(&broken));
  EXPECT_GE(broken, 1);
}

TEST_P(OfiEndpointTest, AStrangerIsRefused) {
  const auto stranger = make_node_of(form(GetParam().name), 0, 1, "another job's secret");
  ASSERT_EQ(stranger->opened, OMPL_OK);
  ASSERT_TRUE(stranger->conduit->connect(1, b->conduit->address()).usable);
  stranger->open_endpoints();
  const auto both = [&] {
    stranger->progress();
    b->progress();
  };
  const auto knock = [&] { return stranger->endpoints[0]->signal(1, {.offset = kFlag}); };
  if (form(GetParam().name).addressed) {  // it gets no answer
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
      EXPECT_EQ(knock().reason, Post::Reason::connecting);
      both();
    }
  } else {
    EXPECT_EQ(insist(knock, both).state, Post::State::failed);
    EXPECT_NE(std::string(error_detail()).find("another job"), std::string::npos) << error_detail();
  }
  EXPECT_EQ(b->flag(kFlag), 0U);
  EXPECT_EQ(from_b().failure(0), OMPL_OK);
  signal(from_a(), 1, {.offset = kFlag});  // and the rank that it pretended to be still gets in
}

TEST_P(OfiEndpointTest, ConnectExplainsWhatItRefuses) {
  expect_addresses_refused();
  std::string other = b->conduit->address();
  other[5] = 'Q';  // the provider's name
  EXPECT_NE(a->conduit->connect(1, other).why.find("providers differ"), std::string::npos);
}

}  // namespace
}  // namespace ompl::conduit::ofi::test
