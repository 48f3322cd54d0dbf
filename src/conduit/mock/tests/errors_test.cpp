// SPDX-License-Identifier: BSD-3-Clause
// The errors that the mock injects, and those of the core that it ends the process for.
#include "net.hpp"

namespace ompl::conduit::mock {
namespace {

TEST(MockWire, R18_ABrokenLinkCarriesNothingMore) {
  Connected net(prompt());
  const auto source = bytes(100, 1);
  const Post post = net[0].ep().put(1, source.data(), kData, source.size());
  net[0].ep().signal(1, {.offset = kFlag});
  net.wire.break_link(0, 0, 1);
  EXPECT_EQ(net[0].ep().failure(1), OMPL_OK) << "learnt by progress only";
  net.progress_all();
  EXPECT_EQ(net[0].ep().failure(1), OMPL_ERR_LINK);
  EXPECT_GE(net[0].ep().completed(1), post.ticket);
  EXPECT_TRUE(net[1].sink.records.empty());
  EXPECT_EQ(net[1].segment[kData], std::byte{0});
  const Post after = net[0].ep().signal(1, {.offset = kFlag});
  EXPECT_EQ(after.state, Post::State::failed);
  EXPECT_EQ(after.code, OMPL_ERR_LINK);
  EXPECT_EQ(net.wire.counts().dropped.load(), 2U);
  EXPECT_EQ(net.wire.counts().refused_dead, 1U);
}

TEST(MockWire, InjectedFaultsStrikeAfterTheirCount) {
  Net net(prompt({.faults = {{.kind = Fault::Kind::fail_post, .rank = 0, .peer = 1, .after = 3}}}));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(net.insist([&] { return net[0].ep().signal(1, {.offset = kFlag}); }).state,
              Post::State::done);
  EXPECT_EQ(net[0].ep().signal(1, {.offset = kFlag}).state, Post::State::failed);
  EXPECT_EQ(net[0].ep().failure(1), OMPL_ERR_LINK);
  EXPECT_EQ(net[0].ep().failure(0), OMPL_OK) << "other peers are not concerned";
}

TEST(MockWire, ABrokenEndpointFailsAllItsLinksAndThoseOfItsPeers) {
  Net net(
      prompt({.faults = {{.kind = Fault::Kind::break_endpoint, .rank = 0, .peer = 1, .after = 1}}}));
  net.open(1, 0);
  net.insist([&] { return net[0].ep().signal(1, {.offset = kFlag}); });
  net[0].ep().signal(1, {.offset = kFlag});
  EXPECT_EQ(net[0].progress(), OMPL_ERR_LINK);
  EXPECT_EQ(net[0].ep().failure(0), OMPL_ERR_LINK);
  EXPECT_EQ(net[0].ep().failure(1), OMPL_ERR_LINK);
  net[1].progress(kMany);
  EXPECT_EQ(net[1].ep().failure(0), OMPL_ERR_LINK);
}

TEST(MockWire, R19_AKilledRankIsNoticed) {
  Connected net(prompt(), 3);
  const Reach reach = net[0].conduit->connect(1, net[1].conduit->address());
  EXPECT_FALSE(readable(reach.death_fd));
  net.wire.kill(1);
  EXPECT_TRUE(readable(reach.death_fd));
  net[0].progress(kMany);
  EXPECT_EQ(net[0].ep().failure(1), OMPL_ERR_PEER);
  EXPECT_EQ(net[0].ep().failure(2), OMPL_OK);
}

TEST(MockWire, ClosingAnEndpointFailsWhatIsUnderWayToIt) {
  Connected net(prompt());
  net[0].ep().signal(1, {.offset = kFlag});
  net[1].endpoints.clear();
  net[0].progress(kMany);
  EXPECT_EQ(net[0].ep().failure(1), OMPL_ERR_LINK);
}

// What the core must not do ends the process with a line that says so.
class MockWireDeathTest : public ::testing::Test {};

TEST(MockWireDeathTest, R4_OverflowingTheReceiveQueue) {
  Connected net(prompt({.receive_depth = 2}));
  const auto flood = [&] {
    for (int i = 0; i < 3; ++i) net[0].ep().signal(1, {.offset = kFlag});
  };
  EXPECT_DEATH(flood(), "overflows the receive queue of rank 1.*seed 1");
}

TEST(MockWireDeathTest, WritingWhereNothingIsRegistered) {
  Connected net(prompt());
  const auto source = bytes(64, 1);
  net[1].conduit->release(kData, 256);
  EXPECT_DEATH(net[0].ep().put(1, source.data(), kData, source.size()), "not registered");
}

TEST(MockWireDeathTest, ReleasingUnderAnOperation) {
  Connected net(prompt());
  const auto source = bytes(64, 1);
  net[0].ep().put(1, source.data(), kData, source.size());
  net[1].conduit->release(kData, 256);
  EXPECT_DEATH(net[1].progress(kMany), "released .* under an operation");
}

TEST(MockWireDeathTest, LengthsOutsideTheCapability) {
  Connected net(prompt({.max_message = 16}));
  const auto source = bytes(64, 1);
  EXPECT_DEATH(net[0].ep().put(1, source.data(), kData, 17), "1 to 16 are allowed");
  EXPECT_DEATH(net[0].ep().put(1, source.data(), kData, 0), "1 to 16 are allowed");
}

TEST(MockWireDeathTest, PostingFromASink) {
  Connected net(prompt());
  net[0].ep().signal(1, {.offset = kFlag});
  net[1].sink.on_signal = [&] { net[1].ep().signal(0, {.offset = kFlag}); };
  EXPECT_DEATH(net[1].progress(kMany), "called twice");
}

}  // namespace
}  // namespace ompl::conduit::mock
