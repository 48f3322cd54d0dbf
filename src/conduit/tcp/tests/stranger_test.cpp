// SPDX-License-Identifier: BSD-3-Clause
// What somebody who reaches a listener, but does not know the job's secret, can do to a rank; and what a rank of the job can
// that speaks nonsense.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <random>
#include <vector>

#include "conduit/registry.hpp"
#include "conduit/tcp/address.hpp"
#include "conduit/tcp/socket.hpp"
#include "conduit/tcp/wire.hpp"
#include "conformance/network_node.hpp"
#include "conformance/strangers.hpp"

namespace ompl::conduit::tcp::test {
namespace {

using namespace conduit::test;

constexpr uint64_t kFlag = 4096;
constexpr const char* kSecret = "a secret of the job";

std::unique_ptr<Node> make_node(uint32_t rank) {
  Settings settings;
  settings.net_interface = "127.0.0.1";
  return std::make_unique<Node>(make(), rank, 3, 1, settings, kSecret);
}

// Ranks 0 and 1 of a job of three; whoever connects here may play rank 2.
class TcpStranger : public testing::Test {
 protected:
  void SetUp() override {
    a = make_node(0);
    b = make_node(1);
    c = make_node(2);
    ASSERT_EQ(a->opened, OMPL_OK) << error_detail();
    ASSERT_NO_FATAL_FAILURE(introduce({a.get(), b.get(), c.get()}));
    ASSERT_EQ(victim.parse(b->conduit->address(), kSecret), nullptr);
  }
  void step() {
    a->progress();
    b->progress();
  }
  // A connection to rank 1.
  Socket connect() {
    Socket socket;
    EXPECT_EQ(begin_connecting(victim.host.list[0].ip, victim.ports[0], &socket), 0);
    pollfd event{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    EXPECT_EQ(poll(&event, 1, 60'000), 1);
    return socket;
  }
  void say(const Socket& socket, const void* bytes, std::size_t length) {
    for (std::size_t done = 0; done < length;) {
      const ssize_t sent = ::send(socket.get(), static_cast<const char*>(bytes) + done, length - done,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN) return;  // it hung up
      if (sent > 0) done += static_cast<std::size_t>(sent);
      step();
    }
  }
  template <class Bytes>
  void say(const Socket& socket, const Bytes& bytes) {
    say(socket, &bytes, sizeof bytes);
  }
  // True if the other side ends the connection, at once or when the time to speak is over.
  bool is_ended(const Socket& socket) {
    return until(
        [&] {
          char byte = 0;
          const ssize_t got = ::recv(socket.get(), &byte, 1, MSG_DONTWAIT);
          return got == 0 || (got < 0 && errno != EAGAIN);
        },
        [&] { step(); });
  }
  bool hear(const Socket& socket, void* bytes, std::size_t length) {
    std::size_t have = 0;
    return until([&] { return receive_whole(socket.get(), bytes, length, &have) != 0; },
                 [&] { step(); }) &&
           have == length;
  }
  // Rank 0 raises the flag of rank 1, which has not failed it.
  void still_works() {
    const uint32_t before = b->flag(kFlag);
    const Post post =
        insist([&] { return a->endpoints[0]->signal(1, {.offset = kFlag}); }, [&] { step(); });
    ASSERT_EQ(post.state, Post::State::done);
    ASSERT_TRUE(until([&] { return b->flag(kFlag) == before + 1; }, [&] { step(); }));
    EXPECT_EQ(a->endpoints[0]->failure(1), OMPL_OK);
    EXPECT_EQ(b->endpoints[0]->failure(0), OMPL_OK);
  }
  static Frame add_one(uint64_t flag) { return RecordFrame({.offset = flag}).frame; }
  [[nodiscard]] TcpGreeting greeting_of(uint32_t rank, const std::string& secret = kSecret) const {
    TcpGreeting greeting{.rank = rank, .challenge = 1, .asked = victim.challenge};
    greeting.proof = greeting.proof_to(1, secret);
    return greeting;
  }
  // Says what rank 2 says, up to its confirmation.
  Socket join(const TcpGreeting& greeting) {
    Socket socket = connect();
    say(socket, greeting);
    TcpAnswer answer;
    EXPECT_TRUE(hear(socket, &answer, sizeof answer));
    EXPECT_EQ(answer.refusal, TcpRefusal::none);
    EXPECT_TRUE(same_proof(answer.proof, answer.proof_of(1, greeting, kSecret)));
    say(socket, Confirmation::of(1, greeting, answer.challenge, kSecret));
    return socket;
  }

  std::unique_ptr<Node> a, b, c;
  Address victim;
};

TEST_F(TcpStranger, GarbageIsRefused) {
  std::mt19937 random(1);
  for (int when : {0, 1}) {  // before and after the two ranks have met
    for (const std::size_t length : {48U, 49U, 500U, 100'000U}) {
      std::vector<uint8_t> bytes(length);
      std::ranges::generate(bytes, [&] { return static_cast<uint8_t>(random()); });
      const Socket socket = connect();
      say(socket, bytes.data(), bytes.size());
      EXPECT_TRUE(is_ended(socket)) << length;
    }
    EXPECT_EQ(b->sink.count, static_cast<uint64_t>(when));
    ASSERT_NO_FATAL_FAILURE(still_works());
  }
}

TEST_F(TcpStranger, AGreetingNeedsTheSecretAndTheProcess) {
  TcpGreeting other = greeting_of(2);
  ++other.asked;  // meant for another process, which had that port before
  other.proof = other.proof_to(1, kSecret);
  TcpGreeting of_nobody = greeting_of(2);
  of_nobody.rank = 3;
  of_nobody.proof = of_nobody.proof_to(1, kSecret);
  TcpGreeting of_itself = greeting_of(1);
  TcpGreeting to_no_slot = greeting_of(2);
  to_no_slot.target_slot = 1;
  to_no_slot.proof = to_no_slot.proof_to(1, kSecret);
  TcpGreeting from_no_slot = greeting_of(2);
  from_no_slot.slot = 1;
  from_no_slot.proof = from_no_slot.proof_to(1, kSecret);
  for (const TcpGreeting& one :
       {greeting_of(2, "another secret"), other, of_nobody, of_itself, to_no_slot, from_no_slot}) {
    const Socket socket = connect();
    say(socket, one);
    EXPECT_TRUE(is_ended(socket));
  }
  still_works();
}

// Somebody has read the network and says again what he heard: he has no answer to a new challenge.
TEST_F(TcpStranger, AHandshakeSaidAgainIsOfNoUse) {
  const TcpGreeting greeting = greeting_of(2);
  const Socket replayed = connect();
  say(replayed, greeting);
  TcpAnswer answer;
  ASSERT_TRUE(hear(replayed, &answer, sizeof answer));
  say(replayed, Confirmation::of(1, greeting, answer.challenge + 1, kSecret));  // an old one
  say(replayed, add_one(kFlag));
  EXPECT_TRUE(is_ended(replayed));
  EXPECT_EQ(b->flag(kFlag), 0U);
  // The rank itself still gets in.
  const Post post = insist([&] { return c->endpoints[0]->signal(1, {.offset = kFlag}); },
                           [&] {
                             step();
                             c->progress();
                           });
  EXPECT_EQ(post.state, Post::State::done);
  EXPECT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
}

TEST_F(TcpStranger, FramesOfARankAreChecked) {
  const Socket socket = join(greeting_of(2));
  say(socket, add_one(kFlag));
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  say(socket, Frame{.offset = kSegment - 4, .length = 8, .kind = Kind::put});
  EXPECT_TRUE(is_ended(socket));
  ASSERT_TRUE(until([&] { return b->endpoints[0]->failure(2) != OMPL_OK; }, [&] { step(); }));
  EXPECT_NE(b->endpoints[0]->reason(2).find("no rank sends"), std::string::npos)
      << b->endpoints[0]->reason(2);
  still_works();
}

// Of each kind of frame that no rank sends.
TEST_F(TcpStranger, NonsenseEndsItsConnectionAlone) {
  const std::vector<Frame> frames{
      {.offset = UINT64_MAX, .length = 1, .kind = Kind::put_add},
      {.offset = kSegment, .length = 1, .kind = Kind::get},
      {.value = 0, .length = 8, .kind = Kind::data},
      {.value = UINT64_MAX, .length = 8, .kind = Kind::data},
      {.offset = kFlag, .kind = Kind::record, .op = 77},
      {.offset = kFlag, .kind = Kind::record, .function = 77},
      {.kind = static_cast<Kind>(99)},
  };
  for (const Frame& frame : frames) {
    c.reset();  // a fresh pair each time: connections are not made anew
    a.reset();
    b.reset();
    ASSERT_NO_FATAL_FAILURE(SetUp());
    const Socket socket = join(greeting_of(2));
    say(socket, frame);
    EXPECT_TRUE(is_ended(socket)) << static_cast<int>(frame.kind);
    EXPECT_EQ(b->sink.count, 0U);
    ASSERT_NO_FATAL_FAILURE(still_works());
  }
}

// A get for every byte of the wire, never read: what is owed is bounded.
TEST_F(TcpStranger, WhoAsksForTooMuchIsEnded) {
  const Socket socket = join(greeting_of(2));
  const Frame get{.offset = 0, .length = 1 << 20, .kind = Kind::get};
  for (int i = 0; i < 500; ++i) say(socket, get);
  ASSERT_TRUE(until([&] { return b->endpoints[0]->failure(2) != OMPL_OK; }, [&] { step(); }));
  still_works();
}

// Silent ones are not even accepted; those that say too little are few, and not for long.
TEST_F(TcpStranger, StrangersHoldFewDescriptors) {
  const std::size_t before = open_descriptors();
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}}) {
    const Strangers strangers(victim.ports[0], 300, bytes);
    ASSERT_TRUE(until([&] { return strangers.came(); }, [&] { step(); }));
    ASSERT_TRUE(strangers.are_there());
    still_works();
    EXPECT_LT(open_descriptors(), before + 100);
    // The next rank gets in, too.
    const Post post = insist([&] { return c->endpoints[0]->signal(1, {.offset = kFlag + 8}); },
                             [&] {
                               step();
                               c->progress();
                             });
    EXPECT_EQ(post.state, Post::State::done);
  }
  ASSERT_TRUE(until([&] { return b->flag(kFlag + 8) == 2; }, [&] { step(); }));
}

// Two thousand of them, fifty at once, while the ranks of the job go on.
TEST_F(TcpStranger, CrowdsWithGarbageDelayNobody) {
  constexpr int kWaves = 40;
  constexpr std::size_t kAtOnce = 50;
  std::mt19937 random(2);
  const std::size_t before = open_descriptors();
  for (int wave = 0; wave < kWaves; ++wave) {
    std::vector<Socket> crowd;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      std::vector<uint8_t> bytes(1 + random() % 200);  // some say too little to be judged
      std::ranges::generate(bytes, [&] { return static_cast<uint8_t>(random()); });
      crowd.push_back(connect());
      say(crowd.back(), bytes.data(), bytes.size());
    }
    ASSERT_NO_FATAL_FAILURE(still_works());
    EXPECT_LT(open_descriptors(), before + kAtOnce + 100);
  }
  EXPECT_EQ(b->flag(kFlag), static_cast<uint32_t>(kWaves));
}

}  // namespace
}  // namespace ompl::conduit::tcp::test
