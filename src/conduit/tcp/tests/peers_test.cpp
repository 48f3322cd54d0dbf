// SPDX-License-Identifier: BSD-3-Clause
// One rank with a thousand peers, whose side the test plays: connections are made on demand, whoever asks, cost little memory, and
// all of them carry what they should.
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "conduit/common/link_table.hpp"
#include "conduit/registry.hpp"
#include "conduit/tcp/address.hpp"
#include "conduit/tcp/socket.hpp"
#include "conduit/tcp/wire.hpp"
#include "conformance/network_node.hpp"
#include "conformance/strangers.hpp"

namespace ompl::conduit::tcp::test {
namespace {

using namespace conduit::test;

constexpr uint32_t kPeers = 1000;
constexpr uint32_t kAsked = kPeers / 2;  // the first half is asked by rank 0, the other half asks
constexpr uint32_t kAtOnce = 50;         // that ask
constexpr std::size_t kMostMemory = std::size_t{16} << 10;
constexpr const char* kSecret = "a secret of the job";
constexpr uint64_t kFlags = 4096;
constexpr uint64_t kBlocks = std::size_t{1} << 20;
constexpr std::size_t kBlock = 64;

std::size_t heap() {
  const auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

struct Peer {
  Socket socket;
  TcpGreeting greeting;
  TcpAnswer answer;
  Confirmation confirmation;
  std::size_t have = 0;  // bytes of what is awaited
  bool greeted = false;
  bool up = false;
};

class TcpPeers : public testing::Test {
 protected:
  void SetUp() override {
    constexpr rlim_t kDescriptors = 2 * kPeers + 200;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < kDescriptors) GTEST_SKIP() << "needs 2,200 descriptors (ulimit -Hn)";
    limit.rlim_cur = std::max(limit.rlim_cur, kDescriptors);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    Settings settings;
    settings.net_interface = "127.0.0.1";
    node_ = std::make_unique<Node>(make(), 0, kPeers + 1, 1, settings, kSecret);
    ASSERT_EQ(node_->opened, OMPL_OK) << error_detail();
    ASSERT_EQ(own_.parse(node_->conduit->address(), kSecret), nullptr);
    uint16_t port = 0;
    ASSERT_EQ(listen_at(own_.host.ips(), &listener_, &port), OMPL_OK);
    for (uint32_t rank = 1; rank <= kPeers; ++rank) {
      Address address = own_;
      address.challenge = challenge_of(rank);
      address.ports = {port};
      const Reach reach = node_->conduit->connect(rank, address.encode(kSecret));
      ASSERT_TRUE(reach.usable) << reach.why;
    }
    ASSERT_NO_FATAL_FAILURE(node_->open_endpoints());
  }

  void reserve() { asking_.reserve(2 * kPeers); }  // so that the test's own memory does not count
  static uint64_t challenge_of(uint32_t rank) { return 1'000'000 + rank; }
  Peer& peer(uint32_t rank) { return peers_[rank - 1]; }
  Endpoint& endpoint() { return *node_->endpoints[0]; }

  // The other sides' part of what rank 0 asks for. All have one listener; a question of whether it lives says nothing.
  void serve() {
    for (;;) {
      Socket socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.is_open()) break;
      asking_.push_back(
          {.socket = std::move(socket), .greeting = {}, .answer = {}, .confirmation = {}});
    }
    std::erase_if(asking_, [this](Peer& one) { return !is_waiting(one); });
  }

  void step() {
    node_->progress();
    serve();
  }

  // Ranks from `first` on ask rank 0, all of them at once.
  void ask(uint32_t first, uint32_t count) {
    for (uint32_t rank = first; rank < first + count; ++rank) {
      Peer& one = peer(rank);
      ASSERT_EQ(begin_connecting(own_.host.list[0].ip, own_.ports[0], &one.socket), 0);
      one.greeting = {.rank = rank, .challenge = rank, .asked = own_.challenge};
      one.greeting.proof = one.greeting.proof_to(0, kSecret);
    }
    const auto all_are_up = [&] {
      uint32_t up = 0;
      for (uint32_t rank = first; rank < first + count; ++rank) up += is_up(peer(rank)) ? 1 : 0;
      return up == count;
    };
    ASSERT_TRUE(until(all_are_up, [this] { step(); }));
  }

  void every_peer_puts() {
    for (uint32_t rank = 1; rank <= kPeers; ++rank) {
      struct {
        Frame frame;
        std::array<uint32_t, kBlock / 4> block{};
      } message;
      message.frame = {.offset = kBlocks + kBlock * rank,
                       .value = kFlags + 4 * rank,
                       .length = kBlock,
                       .kind = Kind::put_add};
      message.block.fill(rank);
      ASSERT_EQ(send_whole(peer(rank).socket.get(), &message, sizeof message), 1);
    }
    ASSERT_TRUE(until([&] { return node_->sink.count == kPeers; }, [this] { step(); }));
    for (uint32_t rank = 1; rank <= kPeers; ++rank) {
      const auto* const block = node_->at<uint32_t>(kBlocks + kBlock * rank);
      ASSERT_EQ(std::count(block, block + kBlock / 4, rank), kBlock / 4);
      ASSERT_EQ(node_->flag(kFlags + 4 * rank), 1U);
    }
  }

  void every_peer_hears(uint64_t flag) {
    for (uint32_t rank = 1; rank <= kPeers; ++rank) {
      const Post post =
          insist([&] { return endpoint().signal(rank, {.offset = flag}); }, [this] { step(); });
      ASSERT_EQ(post.state, Post::State::done);
    }
    for (uint32_t rank = 1; rank <= kPeers; ++rank) {
      Frame frame;
      std::size_t have = 0;
      const int fd = peer(rank).socket.get();
      ASSERT_TRUE(until([&] { return receive_whole(fd, &frame, sizeof frame, &have) != 0; },
                        [this] { step(); }));
      ASSERT_EQ(frame.offset, flag);
      ASSERT_EQ(endpoint().failure(rank), OMPL_OK);
    }
  }

 private:
  // False: it is over, or has become a peer's.
  bool is_waiting(Peer& one) {
    const int fd = one.socket.get();
    if (!one.greeted) {
      const int taken = receive_whole(fd, &one.greeting, sizeof one.greeting, &one.have);
      if (taken <= 0) return taken == 0;
      const auto rank = static_cast<uint32_t>(one.greeting.asked - challenge_of(0));
      EXPECT_TRUE(rank >= 1 && rank <= kPeers && one.greeting.is_proven(rank, kSecret));
      one.answer = {.challenge = rank};
      one.answer.proof = one.answer.proof_of(rank, one.greeting, kSecret);
      EXPECT_EQ(send_whole(fd, &one.answer, sizeof one.answer), 1);
      one.greeted = true;
      one.have = 0;
    }
    const int taken = receive_whole(fd, &one.confirmation, sizeof one.confirmation, &one.have);
    if (taken <= 0) return taken == 0;
    const auto rank = static_cast<uint32_t>(one.answer.challenge);
    const auto right = Confirmation::of(rank, one.greeting, one.answer.challenge, kSecret);
    EXPECT_TRUE(same_proof(one.confirmation.proof, right.proof));
    EXPECT_FALSE(peer(rank).socket.is_open()) << "a second connection";
    peer(rank) = std::move(one);
    return false;
  }

  // The handshake of who asks, as far as it goes.
  static bool is_up(Peer& one) {
    const int fd = one.socket.get();
    if (!one.greeted) one.greeted = send_whole(fd, &one.greeting, sizeof one.greeting) == 1;
    if (!one.greeted || one.up) return one.up;
    if (receive_whole(fd, &one.answer, sizeof one.answer, &one.have) <= 0) return false;
    EXPECT_EQ(one.answer.refusal, TcpRefusal::none);
    const auto confirmation = Confirmation::of(0, one.greeting, one.answer.challenge, kSecret);
    one.up = send_whole(fd, &confirmation, sizeof confirmation) == 1;
    return one.up;
  }

  std::unique_ptr<Node> node_;
  Address own_;
  Socket listener_;
  std::vector<Peer> peers_ = std::vector<Peer>(kPeers);
  std::vector<Peer> asking_;
};

TEST_F(TcpPeers, MemoryIsLittleAndConnectionsAreMadeOnDemand) {
  reserve();
  const std::size_t descriptors = open_descriptors();
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(open_descriptors(), descriptors) << "nobody has asked for a connection";
  const std::size_t before = heap();
  std::vector<bool> posted(kAsked + 1);
  uint32_t done = 0;
  ASSERT_TRUE(until([&] { return done == kAsked; },
                    [&] {
                      for (uint32_t rank = 1; rank <= kAsked; ++rank) {
                        if (posted[rank]) continue;
                        posted[rank] = is_posted(endpoint().signal(rank, {.offset = kFlags}));
                        done += posted[rank] ? 1 : 0;
                      }
                      step();
                    }));
  for (uint32_t first = kAsked + 1; first <= kPeers; first += kAtOnce)
    ASSERT_NO_FATAL_FAILURE(ask(first, kAtOnce));
  const double each = static_cast<double>(heap() - before) / kPeers;
  std::printf("%u peers: %.2f KiB each, %zu descriptors\n", kPeers, each / 1024,
              open_descriptors() - descriptors);
  EXPECT_LT(each, kMostMemory);
  ASSERT_NO_FATAL_FAILURE(every_peer_puts());
  ASSERT_NO_FATAL_FAILURE(every_peer_hears(kFlags));
}

}  // namespace
}  // namespace ompl::conduit::tcp::test
