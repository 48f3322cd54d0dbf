// SPDX-License-Identifier: BSD-3-Clause
// The mock keeps the contract and nothing more: each hostility is seen for itself here; the conformance suite
// then runs the core over it.
#include "net.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

namespace ompl::conduit::mock {
namespace {

TEST(MockWire, R2_NothingMovesUnlessTheTargetProgresses) {
  Connected net(prompt());
  const auto source = bytes(100, 7);
  const Post post = net[0].ep().put(1, source.data(), kData, source.size());
  EXPECT_EQ(post.state, Post::State::pending);
  EXPECT_EQ(net[0].ep().signal(1, {.offset = kFlag}).state, Post::State::done);
  net[0].progress(kMany);
  EXPECT_LT(net[0].ep().completed(1), post.ticket);
  EXPECT_EQ(net[1].segment[kData], std::byte{0});
  net[1].progress(2);
  EXPECT_EQ(std::memcmp(&net[1].segment[kData], source.data(), source.size()), 0);
  ASSERT_EQ(net[1].sink.records.size(), 1U);
  EXPECT_EQ(net[1].sink.records[0].offset, kFlag);
  EXPECT_LT(net[0].ep().completed(1), post.ticket)
      << "completions are taken by the initiator's progress";
  net[0].progress(2);
  EXPECT_GE(net[0].ep().completed(1), post.ticket);
}

TEST(MockWire, R2_PassiveTargetsTakeDataButNoRecords) {
  Connected net(prompt({.passive_target = true}));
  const auto source = bytes(100, 7);
  ASSERT_TRUE(net[1].ep().arm());
  const Post post = net[0].ep().put(1, source.data(), kData, source.size());
  net[0].ep().signal(1, {.offset = kFlag});
  net[0].progress(10);
  EXPECT_TRUE(readable(net[1].ep().descriptor()));
  EXPECT_GE(net[0].ep().completed(1), post.ticket);
  EXPECT_EQ(net[1].segment[kData], std::byte{7});
  EXPECT_TRUE(net[1].sink.records.empty());
  net[1].progress();
  EXPECT_EQ(net[1].sink.records.size(), 1U);
}

TEST(MockWire, SourceIsReadLateUnlessThePostSaidDone) {
  Connected net(prompt());
  auto large = bytes(100, 1);
  auto small = bytes(8, 1);
  EXPECT_EQ(net[0].ep().put(1, large.data(), kData, large.size()).state, Post::State::pending);
  EXPECT_EQ(net[0].ep().put(1, small.data(), kData + 512, small.size()).state, Post::State::done);
  large[0] = small[0] = std::byte{2};
  net.progress_all(4);
  EXPECT_EQ(net[1].segment[kData], std::byte{2}) << "the mock must punish an early reuse";
  EXPECT_EQ(net[1].segment[kData + 512], std::byte{1});
}

TEST(MockWire, LocalCompletionSaysNothingOfTheTarget) {
  Connected net(prompt({.remote_completion = false}));
  auto source = bytes(100, 1);
  const Post post = net[0].ep().put(1, source.data(), kData, source.size());
  net[0].progress(kMany);
  EXPECT_GE(net[0].ep().completed(1), post.ticket);
  source[0] = std::byte{2};
  EXPECT_EQ(net[1].segment[kData], std::byte{0});
  net[1].progress(2);
  EXPECT_EQ(net[1].segment[kData], std::byte{1});
}

TEST(MockWire, R7_RecordsFollowEarlierPutsAndNothingElse) {
  int overtaken = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Net net({.seed = seed, .send_depth = 64});
    const auto source = bytes(200, 9);
    std::vector<bool> posted;
    net[1].sink.on_signal = [&] {
      const uint64_t value = net[1].sink.records.back().value;
      EXPECT_EQ(net[1].segment[kData + value * 200], std::byte{9})
          << "record " << value << " was early";
      EXPECT_EQ(net[1].segment[kData + value * 200 + 199], std::byte{9})
          << "record " << value << " was early";
    };
    for (uint64_t i = 0; i < 20; ++i) {
      net.insist([&] { return net[0].ep().put(1, source.data(), kData + i * 200, source.size()); });
      net.insist([&] { return net[0].ep().signal(1, {.offset = kFlag, .value = i}); });
    }
    net.progress_all();
    ASSERT_EQ(net[1].sink.records.size(), 20U);
    for (std::size_t i = 1; i < 20; ++i)
      overtaken += net[1].sink.records[i].value < net[1].sink.records[i - 1].value ? 1 : 0;
  }
  EXPECT_GT(overtaken, 0) << "records without puts between them should overtake each other";
}

TEST(MockWire, UnorderedSignalsOvertakePuts) {
  int early = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Net net({.seed = seed, .ordered_signals = false});
    const auto source = bytes(200, 9);
    net[1].sink.on_signal = [&] { early += net[1].segment[kData] == std::byte{0} ? 1 : 0; };
    net.insist([&] { return net[0].ep().put(1, source.data(), kData, source.size()); });
    net.insist([&] { return net[0].ep().signal(1, {.offset = kFlag}); });
    net.progress_all();
    ASSERT_EQ(net[1].sink.records.size(), 1U);
  }
  EXPECT_GT(early, 0);
}

TEST(MockWire, R5_AnAckRequestFollowsEveryEarlierRecord) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Net net({.seed = seed});
    for (uint64_t i = 0; i < 20; ++i) {
      const SignalOp op = i % 5 == 4 ? SignalOp::ack_request : SignalOp::update32;
      net.insist([&] { return net[0].ep().signal(1, {.offset = kFlag, .value = i, .op = op}); });
    }
    net.progress_all();
    ASSERT_EQ(net[1].sink.records.size(), 20U);
    for (uint64_t i = 4; i < 20; i += 5) {
      const auto earlier = [i](const Signal& record) { return record.value <= i; };
      const auto asked = std::ranges::find(net[1].sink.records, i, &Signal::value);
      EXPECT_EQ(std::count_if(net[1].sink.records.begin(), asked + 1, earlier), i + 1);
    }
  }
}

TEST(MockWire, GetsArriveLate) {
  Net net({.seed = 3});
  std::memset(&net[1].segment[kData], 5, 300);
  auto target = bytes(300, 0);
  const Post post = net.insist([&] { return net[0].ep().get(1, target.data(), kData, target.size()); });
  ASSERT_EQ(post.state, Post::State::pending);
  net[0].progress(kMany);
  EXPECT_EQ(target[0], std::byte{0});
  net.progress_all();
  EXPECT_GE(net[0].ep().completed(1), post.ticket);
  EXPECT_EQ(target, bytes(300, 5));
}

TEST(MockWire, SendQueuesAreTiny) {
  Connected net(prompt({.send_depth = 2}));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(net[0].ep().signal(1, {.offset = kFlag}).state, Post::State::done);
  const Post third = net[0].ep().signal(1, {.offset = kFlag});
  EXPECT_EQ(third.state, Post::State::retry);
  EXPECT_EQ(third.reason, Post::Reason::queue_full);
  net.progress_all(3);
  EXPECT_EQ(net[0].ep().signal(1, {.offset = kFlag}).state, Post::State::done);
}

TEST(MockWire, R4_FullReceiveQueueStallsTheSenderAndWhatIsBehind) {
  Hostility hostility = prompt();
  hostility.passive_target = hostility.stalls_sender = hostility.scramble = true;
  hostility.receive_depth = 2;
  Connected net(hostility);
  for (int i = 0; i < 3; ++i) net[0].ep().signal(1, {.offset = kFlag});
  const auto source = bytes(8, 1);
  net[0].ep().put(1, source.data(), kData, source.size());
  net[0].progress(kMany);
  EXPECT_EQ(net[1].segment[kData], std::byte{0}) << "the third record stalls the put behind it";
  net.progress_all(4);
  EXPECT_EQ(net[1].segment[kData], std::byte{1});
  EXPECT_EQ(net[1].sink.records.size(), 3U);
}

TEST(MockWire, ConnectionsNeedBothSides) {
  Net net(prompt());
  EXPECT_EQ(net[0].ep().signal(1, {.offset = kFlag}).reason, Post::Reason::connecting);
  net[0].progress(kMany);
  EXPECT_EQ(net[0].ep().signal(1, {.offset = kFlag}).reason, Post::Reason::connecting);
  net[1].progress();
  net[0].progress();
  EXPECT_EQ(net[0].ep().signal(1, {.offset = kFlag}).state, Post::State::done);
}

TEST(MockWire, R12_SlotsMeetModuloThePool) {
  Wire wire(2, prompt());
  std::vector<std::unique_ptr<Node>> nodes;
  nodes.push_back(std::make_unique<Node>(wire, 0, 3));
  nodes.push_back(std::make_unique<Node>(wire, 1, 2));
  for (auto& node : nodes) node->start(nodes);
  Endpoint& from = nodes[0]->ep(2);
  while (from.signal(1, {.offset = kFlag}).state != Post::State::done) {
    nodes[1]->progress();
    nodes[0]->progress(1, 2);
  }
  nodes[1]->progress(kMany, 1);
  EXPECT_TRUE(nodes[1]->sink.records.empty()) << "slot 2 talks to slot 0 of a pool of 2";
  nodes[1]->progress(kMany, 0);
  EXPECT_EQ(nodes[1]->sink.records.size(), 1U);
}

TEST(MockWire, SelfIsAnOrdinaryTarget) {
  Net net({.seed = 5}, 1);
  const auto source = bytes(100, 3);
  net.insist([&] { return net[0].ep().put(0, source.data(), kData, source.size()); });
  net.insist([&] { return net[0].ep().signal(0, {.offset = kFlag}); });
  net.progress_all();
  EXPECT_EQ(net[0].segment[kData], std::byte{3});
  EXPECT_EQ(net[0].sink.records.size(), 1U);
}

TEST(MockWire, R16_DescriptorTellsOfWorkAfterArming) {
  Connected net(prompt());
  ASSERT_TRUE(net[1].ep().arm());
  EXPECT_FALSE(readable(net[1].ep().descriptor()));
  net[0].ep().signal(1, {.offset = kFlag});
  EXPECT_TRUE(readable(net[1].ep().descriptor()));
  EXPECT_FALSE(net[1].ep().arm()) << "there is work already";
  ASSERT_TRUE(net[0].ep().arm());
  net[1].progress(2);
  EXPECT_TRUE(readable(net[0].ep().descriptor())) << "the completion came";
}

TEST(MockWire, RegistrationIsLimited) {
  Net net(prompt({.registration_limit = kCapacity}));
  net[0].conduit->release(0, 4096);
  EXPECT_EQ(net[0].conduit->commit(0, 4096), OMPL_OK);
  net[0].conduit->release(4096, kCapacity - 4096);
  EXPECT_EQ(net[0].conduit->commit(4096, kCapacity), OMPL_ERR_MEMORY) << "leaves the segment";
}

TEST(MockWire, MemoryKnowsWhatIsRegistered) {
  Memory memory;
  std::array<std::byte, 1000> base{};
  memory.open(base.data(), base.size());
  EXPECT_TRUE(memory.commit(100, 100, 300));
  EXPECT_TRUE(memory.commit(200, 100, 300));
  EXPECT_EQ(memory.find(150, 150), base.data() + 150) << "neighbours are one range";
  EXPECT_EQ(memory.find(150, 151), nullptr);
  EXPECT_EQ(memory.find(99, 1), nullptr);
  EXPECT_FALSE(memory.commit(500, 101, 300));
  EXPECT_TRUE(memory.commit(500, 100, 300));
  memory.release(150, 100);
  EXPECT_EQ(memory.find(100, 50), base.data() + 100);
  EXPECT_EQ(memory.find(250, 50), base.data() + 250);
  EXPECT_EQ(memory.find(149, 2), nullptr);
}

TEST(MockWire, AddressesAreOutsideBytes) {
  Wire wire(2, prompt());
  Node node(wire, 0, 1);
  for (const char* bad : {"", "mock:", "mock:0", "mock:-1", "mock:1x", "shm:1", "mock:99999999999"})
    EXPECT_FALSE(node.conduit->connect(1, bad).usable) << bad;
  EXPECT_FALSE(node.conduit->connect(2, "mock:1").usable) << "no such rank";
  EXPECT_TRUE(node.conduit->connect(1, "mock:1").usable);
}

TEST(MockWire, ASeedRepeats) {
  const auto run = [](uint64_t seed) {
    Net net({.seed = seed});
    for (uint64_t i = 0; i < 30; ++i)
      net.insist([&] { return net[0].ep().signal(1, {.offset = kFlag, .value = i}); });
    net.progress_all();
    std::vector<uint64_t> order;
    for (const Signal& record : net[1].sink.records) order.push_back(record.value);
    return order;
  };
  EXPECT_EQ(run(11), run(11));
  EXPECT_NE(run(11), run(12));
}

// Two threads, one rank each: what ThreadSanitizer is to see.
TEST(MockThreads, PayloadsArriveBeforeTheirRecords) {
  constexpr uint64_t kRounds = 300;
  Net net({.seed = 21, .send_depth = 4}, 2);
  const auto serve = [&](uint32_t me) {
    Node& node = net[me];
    const uint32_t peer = 1 - me;
    const auto step = [&] {
      if (node.progress() == 0) std::this_thread::yield();
    };
    uint64_t seen = 0;
    std::array<uint64_t, 32> payload{};
    node.sink.on_signal = [&] {
      uint64_t got = 0;
      std::memcpy(&got, &node.segment[kData], sizeof got);
      EXPECT_GE(got, node.sink.records.back().value)
          << "a later put may overtake, an earlier may not lag";
      ++seen;
    };
    for (uint64_t round = 1; round <= kRounds; ++round) {
      payload.fill(round);
      Post post;
      while ((post = node.ep().put(peer, payload.data(), kData, sizeof payload)).state ==
             Post::State::retry)
        step();
      while (node.ep().signal(peer, {.offset = kFlag, .value = round}).state == Post::State::retry)
        step();
      while (node.ep().completed(peer) < post.ticket || seen < round) step();
    }
    while (seen < kRounds) step();
  };
  std::thread other(serve, 1);
  serve(0);
  for (int i = 0; i < kMany; ++i) net[0].progress();
  other.join();
  EXPECT_EQ(net.wire.counts().records, 2 * kRounds);
}

}  // namespace
}  // namespace ompl::conduit::mock
