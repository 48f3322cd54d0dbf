// SPDX-License-Identifier: BSD-3-Clause
// The mock keeps the contract and nothing more. Ranks are driven by hand here, one progress() at a time, so
// that each hostility is seen for itself; the conformance suite then runs the core over it.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "conduit/mock/wire.hpp"

namespace ompl::conduit::mock {
namespace {

constexpr std::size_t kCapacity = 1 << 16;
constexpr uint64_t kData = 1024;
constexpr uint64_t kFlag = 512;
constexpr int kMany = 1000;  // progress() calls after which everything possible has happened

struct Recorder final : Sink {
  void signal(uint32_t source, const Signal& record) override {
    sources.push_back(source);
    records.push_back(record);
    if (on_signal) on_signal();
  }
  std::vector<uint32_t> sources;
  std::vector<Signal> records;
  std::function<void()> on_signal;
};

// One rank with one endpoint per slot, all of its segment registered.
struct Node {
  Node(Wire& wire, uint32_t rank, uint32_t slots) : segment(kCapacity), conduit(make(wire)) {
    job.rank = rank;
    job.size = wire.size();
    job.segment = segment.data();
    job.capacity = segment.size();
    job.slots = slots;
    EXPECT_EQ(conduit->open(job), OMPL_OK);
    EXPECT_EQ(conduit->commit(0, kCapacity), OMPL_OK);
  }
  void start(const std::vector<std::unique_ptr<Node>>& nodes) {
    for (uint32_t peer = 0; peer < job.size; ++peer)
      EXPECT_TRUE(conduit->connect(peer, nodes[peer]->conduit->address()).usable);
    endpoints.resize(job.slots);
    for (uint32_t slot = 0; slot < job.slots; ++slot)
      EXPECT_EQ(conduit->endpoint(slot, &endpoints[slot]), OMPL_OK);
  }
  Endpoint& ep(uint32_t slot = 0) { return *endpoints[slot]; }
  int progress(int times = 1, uint32_t slot = 0) {
    int taken = 0;
    for (int i = 0; i < times; ++i) {
      const int got = ep(slot).progress(sink, 8);
      if (got < 0) return got;
      taken += got;
    }
    return taken;
  }

  std::vector<std::byte> segment;
  Job job;
  std::unique_ptr<Conduit> conduit;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  Recorder sink;
};

// A wire and its ranks.
struct Net {
  explicit Net(Hostility hostility, uint32_t ranks = 2, uint32_t slots = 1)
      : wire(ranks, std::move(hostility)) {
    for (uint32_t rank = 0; rank < ranks; ++rank)
      nodes.push_back(std::make_unique<Node>(wire, rank, slots));
    for (auto& node : nodes) node->start(nodes);
  }
  Node& operator[](uint32_t rank) { return *nodes[rank]; }
  void progress_all(int times = kMany) {
    for (int i = 0; i < times; ++i)
      for (auto& node : nodes)
        for (uint32_t slot = 0; slot < node->job.slots; ++slot) node->progress(1, slot);
  }
  // Posts again after a retry, everybody progressing meanwhile.
  template <class F>
  Post insist(F post) {
    for (int i = 0; i < kMany; ++i) {
      const Post answer = post();
      if (answer.state != Post::State::retry) return answer;
      progress_all(1);
    }
    ADD_FAILURE() << "still retry after " << kMany << " rounds, " << wire.hostility().describe();
    return {.state = Post::State::retry};
  }
  void open(uint32_t from, uint32_t to, uint32_t slot = 0) {  // connects without leaving traces
    insist([&] { return nodes[from]->ep(slot).signal(to, {.offset = kFlag}); });
    progress_all();
    for (auto& node : nodes) node->sink.records.clear();
  }

  Wire wire;
  std::vector<std::unique_ptr<Node>> nodes;
};

Hostility prompt() {  // no chance and no delay: each effect can be put on alone
  return {.delivery_delay = 0,
          .completion_delay = 0,
          .connect_delay = 0,
          .spurious_retry = 0,
          .scramble = false};
}

std::vector<std::byte> bytes(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

bool readable(int fd) {
  pollfd ask{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&ask, 1, 0) == 1;
}

TEST(MockWire, R2_NothingMovesUnlessTheTargetProgresses) {
  Net net(prompt());
  net.open(0, 1);
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
  Hostility hostility = prompt();
  hostility.passive_target = true;
  Net net(hostility);
  net.open(0, 1);
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
  Net net(prompt());
  net.open(0, 1);
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
  Hostility hostility = prompt();
  hostility.remote_completion = false;
  Net net(hostility);
  net.open(0, 1);
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

TEST(MockWire, TheCoresOwnRecordsKeepTheirOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Net net({.seed = seed});
    for (uint64_t i = 0; i < 20; ++i)
      net.insist([&] { return net[0].ep().signal(1, {.value = i, .op = SignalOp::ack}); });
    net.progress_all();
    ASSERT_EQ(net[1].sink.records.size(), 20U);
    for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(net[1].sink.records[i].value, i);
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
  Hostility hostility = prompt();
  hostility.send_depth = 2;
  Net net(hostility);
  net.open(0, 1);
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
  Net net(hostility);
  net.open(0, 1);
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
  Hostility hostility = prompt();
  Net net(hostility);
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
  Net net(prompt());
  net.open(0, 1);
  ASSERT_TRUE(net[1].ep().arm());
  EXPECT_FALSE(readable(net[1].ep().descriptor()));
  net[0].ep().signal(1, {.offset = kFlag});
  EXPECT_TRUE(readable(net[1].ep().descriptor()));
  EXPECT_FALSE(net[1].ep().arm()) << "there is work already";
  ASSERT_TRUE(net[0].ep().arm());
  net[1].progress(2);
  EXPECT_TRUE(readable(net[0].ep().descriptor())) << "the completion came";
}

TEST(MockWire, R18_ABrokenLinkCarriesNothingMore) {
  Hostility hostility = prompt();
  Net net(hostility);
  net.open(0, 1);
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
  Hostility hostility = prompt();
  hostility.faults = {{.kind = Fault::Kind::fail_post, .rank = 0, .peer = 1, .after = 3}};
  Net net(hostility);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(net.insist([&] { return net[0].ep().signal(1, {.offset = kFlag}); }).state,
              Post::State::done);
  EXPECT_EQ(net[0].ep().signal(1, {.offset = kFlag}).state, Post::State::failed);
  EXPECT_EQ(net[0].ep().failure(1), OMPL_ERR_LINK);
  EXPECT_EQ(net[0].ep().failure(0), OMPL_OK) << "other peers are not concerned";
}

TEST(MockWire, ABrokenEndpointFailsAllItsLinksAndThoseOfItsPeers) {
  Hostility hostility = prompt();
  hostility.faults = {{.kind = Fault::Kind::break_endpoint, .rank = 0, .peer = 1, .after = 1}};
  Net net(hostility);
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
  Net net(prompt(), 3);
  net.open(0, 1);
  const Reach reach = net[0].conduit->connect(1, net[1].conduit->address());
  EXPECT_FALSE(readable(reach.death_fd));
  net.wire.kill(1);
  EXPECT_TRUE(readable(reach.death_fd));
  net[0].progress(kMany);
  EXPECT_EQ(net[0].ep().failure(1), OMPL_ERR_PEER);
  EXPECT_EQ(net[0].ep().failure(2), OMPL_OK);
}

TEST(MockWire, ClosingAnEndpointFailsWhatIsUnderWayToIt) {
  Net net(prompt());
  net.open(0, 1);
  net[0].ep().signal(1, {.offset = kFlag});
  net[1].endpoints.clear();
  net[0].progress(kMany);
  EXPECT_EQ(net[0].ep().failure(1), OMPL_ERR_LINK);
}

TEST(MockWire, RegistrationIsLimited) {
  Hostility hostility = prompt();
  hostility.registration_limit = kCapacity;
  Net net(hostility);
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

// What the core must not do ends the process with a line that says so.
class MockWireDeathTest : public ::testing::Test {};

TEST(MockWireDeathTest, R4_OverflowingTheReceiveQueue) {
  Hostility hostility = prompt();
  hostility.receive_depth = 2;
  Net net(hostility);
  net.open(0, 1);
  const auto flood = [&] {
    for (int i = 0; i < 3; ++i) net[0].ep().signal(1, {.offset = kFlag});
  };
  EXPECT_DEATH(flood(), "overflows the receive queue of rank 1.*seed 1");
}

TEST(MockWireDeathTest, WritingWhereNothingIsRegistered) {
  Net net(prompt());
  net.open(0, 1);
  const auto source = bytes(64, 1);
  net[1].conduit->release(kData, 256);
  EXPECT_DEATH(net[0].ep().put(1, source.data(), kData, source.size()), "not registered");
}

TEST(MockWireDeathTest, ReleasingUnderAnOperation) {
  Net net(prompt());
  net.open(0, 1);
  const auto source = bytes(64, 1);
  net[0].ep().put(1, source.data(), kData, source.size());
  net[1].conduit->release(kData, 256);
  EXPECT_DEATH(net[1].progress(kMany), "released .* under an operation");
}

TEST(MockWireDeathTest, LengthsOutsideTheCapability) {
  Hostility hostility = prompt();
  hostility.max_message = 16;
  Net net(hostility);
  net.open(0, 1);
  const auto source = bytes(64, 1);
  EXPECT_DEATH(net[0].ep().put(1, source.data(), kData, 17), "1 to 16 are allowed");
  EXPECT_DEATH(net[0].ep().put(1, source.data(), kData, 0), "1 to 16 are allowed");
}

TEST(MockWireDeathTest, PostingFromASink) {
  Net net(prompt());
  net.open(0, 1);
  net[0].ep().signal(1, {.offset = kFlag});
  net[1].sink.on_signal = [&] { net[1].ep().signal(0, {.offset = kFlag}); };
  EXPECT_DEATH(net[1].progress(kMany), "called twice");
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
