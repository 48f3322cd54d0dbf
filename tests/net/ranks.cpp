// SPDX-License-Identifier: BSD-3-Clause
// One of two ranks on two hosts, started by hosts.py: a conduit over a network that can break.
// Each test is run by both ranks at once: HOSTS_CONDUIT=ofi network_ranks --gtest_filter=Ranks.NAME
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "conduit/registry.hpp"
#include "conformance/network_node.hpp"

namespace ompl::conduit::test {
namespace {

constexpr uint64_t kFlag = 4096;
constexpr uint64_t kData = 1 << 20;

class Ranks : public testing::Test {
 protected:
  void SetUp() override {
    const char* rank_text = std::getenv("HOSTS_RANK");
    const char* channel_text = std::getenv("HOSTS_FD");
    const char* interface = std::getenv("OMPL_NET_INTERFACE");
    const char* name = std::getenv("HOSTS_CONDUIT");
    ASSERT_TRUE(rank_text && channel_text && interface && name) << "run this under hosts.py";
    rank = static_cast<uint32_t>(std::atoi(rank_text));
    other = 1 - rank;
    channel_ = std::atoi(channel_text);
    const char* provider = std::getenv("OMPL_OFI_PROVIDER");
    const auto entry = std::ranges::find(registry(), name, &Entry::name);
    ASSERT_NE(entry, registry().end()) << name << " is not in this build";
    Settings settings;
    settings.net_interface = interface;
    settings.conduits = name;
    settings.ofi_provider = provider != nullptr ? provider : "";
    node = std::make_unique<Node>(entry->make(), rank, 2, 1, settings);
    if (node->opened == OMPL_ERR_UNSUPPORTED && provider != nullptr) {
      std::printf("skipped: %s\n", error_detail());
      std::exit(77);
    }
    ASSERT_EQ(node->opened, OMPL_OK) << error_detail();
    const Reach reach = node->conduit->connect(other, exchange(node->conduit->address()));
    ASSERT_TRUE(reach.usable) << reach.why;
    node->open_endpoints();
  }

  // Sends a text to the other rank and returns its; nobody returns before both have called.
  std::string exchange(const std::string& text) {
    const auto size = static_cast<uint32_t>(text.size());
    EXPECT_EQ(send(channel_, &size, sizeof size, MSG_NOSIGNAL), ssize_t{sizeof size});
    EXPECT_EQ(send(channel_, text.data(), size, MSG_NOSIGNAL), ssize_t{size});
    return receive();
  }
  uint64_t exchange(uint64_t value) { return std::stoull(exchange(std::to_string(value))); }
  // The same, but stays in the layer until the other rank has called too.
  void meet() {
    const uint32_t nothing = 0;
    EXPECT_EQ(send(channel_, &nothing, sizeof nothing, MSG_NOSIGNAL), ssize_t{sizeof nothing});
    pollfd channel{.fd = channel_, .events = POLLIN, .revents = 0};
    EXPECT_TRUE(until([&] { return poll(&channel, 1, 0) != 0; }, [&] { step(); }));
    receive();
  }

  Endpoint& endpoint() { return *node->endpoints[0]; }
  void step() { node->progress(); }
  void step_for(int milliseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < end) step();
  }
  // Stays in the layer until the other rank has come here too.
  void leave_together() {
    const Post post =
        insist([&] { return endpoint().signal(other, {.offset = kFlag + 64}); }, [&] { step(); });
    EXPECT_EQ(post.state, Post::State::done);
    EXPECT_TRUE(until([&] { return node->flag(kFlag + 64) == 1; }, [&] { step(); }));
    exchange(0);
  }

  uint32_t rank = 0, other = 0;
  std::unique_ptr<Node> node;

 private:
  std::string receive() {
    uint32_t coming = 0;
    read_all(&coming, sizeof coming);
    std::string out(coming, '\0');
    read_all(out.data(), out.size());
    return out;
  }
  void read_all(void* to, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t got = read(channel_, static_cast<char*>(to) + done, size - done);
      ASSERT_GT(got, 0) << "the other rank is gone";
      done += static_cast<std::size_t>(got);
    }
  }
  int channel_ = -1;
};

// Ping-pong with a payload that changes, then a large put and a get of it.
TEST_F(Ranks, Traffic) {
  // The other rank may be one round ahead.
  const auto place = [](uint32_t round) { return kData + 4096 * (round % 2); };
  std::vector<uint64_t> payload(100);
  for (uint32_t round = 1; round <= 2000; ++round) {
    payload.assign(payload.size(), uint64_t{rank} << 32 | round);
    const std::size_t length = round % 2 == 0 ? 8 : 800;
    bool signalled = false;
    const Signal record{.offset = kFlag, .value = 1 + round % 2};
    const auto post = [&] {
      return endpoint().put_signal(other, payload.data(), place(round), length, record, &signalled);
    };
    const Post answer = insist(post, [&] { step(); });
    ASSERT_NE(answer.state, Post::State::failed);
    if (!signalled) insist([&] { return endpoint().signal(other, record); }, [&] { step(); });
    ASSERT_TRUE(until([&] { return endpoint().completed(other) >= answer.ticket; }, [&] { step(); }));
    ASSERT_TRUE(until([&] { return node->sink.count >= round; }, [&] { step(); }));
    ASSERT_EQ(*node->at<uint64_t>(place(round) + length - 8), uint64_t{other} << 32 | round);
  }

  const std::size_t large = 16 << 20;
  std::vector<uint32_t> sent(large / 4), got(large / 4);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint32_t>(i * 2654435761U + rank);
  const Post put =
      insist([&] { return endpoint().put(other, sent.data(), kData, large); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return endpoint().completed(other) >= put.ticket; }, [&] { step(); }));
  const Post get =
      insist([&] { return endpoint().get(other, got.data(), kData, large); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return endpoint().completed(other) >= get.ticket; }, [&] { step(); }));
  EXPECT_EQ(got, sent);
  leave_together();
}

// Rank 1 dies without a word: rank 0 learns that, not just that the connection is gone.
TEST_F(Ranks, Killed) {
  insist([&] { return endpoint().signal(other, {.offset = kFlag}); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return node->flag(kFlag) == 1; }, [&] { step(); }));
  exchange(0);
  if (rank == 1) raise(SIGKILL);
  const std::vector<std::byte> block(1 << 20);
  Post post;
  ASSERT_TRUE(until(
      [&] {
        post = endpoint().put(other, block.data(), kData, block.size());
        return post.state == Post::State::failed;
      },
      [&] { step(); }));
  EXPECT_EQ(post.code, OMPL_ERR_PEER);
  EXPECT_EQ(endpoint().failure(other), OMPL_ERR_PEER);
}

// The same while nothing is outstanding: rank 0 only listens.
TEST_F(Ranks, KilledWhileIdle) {
  insist([&] { return endpoint().signal(other, {.offset = kFlag}); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return node->flag(kFlag) == 1; }, [&] { step(); }));
  exchange(0);
  if (rank == 1) raise(SIGKILL);
  ASSERT_TRUE(until([&] { return endpoint().failure(other) != OMPL_OK; }, [&] { step(); }));
  EXPECT_EQ(endpoint().failure(other), OMPL_ERR_PEER);
}

// A rank that is busy elsewhere is no dead one, however often it is asked.
TEST_F(Ranks, SilentForLong) {
  insist([&] { return endpoint().signal(other, {.offset = kFlag}); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return node->flag(kFlag) == 1; }, [&] { step(); }));
  exchange(0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  while (std::chrono::steady_clock::now() < end) {
    if (rank == 0) step();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(endpoint().failure(other), OMPL_OK);
  leave_together();
}

// Rank 1 is stopped for longer than a host may be silent, while rank 0 has more for it than its window holds.
TEST_F(Ranks, StoppedForLong) {
  insist([&] { return endpoint().signal(other, {.offset = kFlag}); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return node->flag(kFlag) == 1; }, [&] { step(); }));
  exchange(0);
  const std::vector<std::byte> block(std::size_t{32} << 20, std::byte{7});
  if (rank == 1) {
    if (fork() == 0) {
      sleep(45);
      kill(getppid(), SIGCONT);
      _exit(0);
    }
    raise(SIGSTOP);
    ASSERT_TRUE(until([&] { return node->flag(kFlag + 8) == 1; }, [&] { step(); }));
    EXPECT_EQ(std::memcmp(node->at(kData), block.data(), block.size()), 0);
  } else {
    const Post put = insist([&] { return endpoint().put(other, block.data(), kData, block.size()); },
                            [&] { step(); });
    ASSERT_TRUE(until([&] { return endpoint().completed(other) >= put.ticket; }, [&] { step(); }));
    insist([&] { return endpoint().signal(other, {.offset = kFlag + 8}); }, [&] { step(); });
  }
  EXPECT_EQ(endpoint().failure(other), OMPL_OK);
  leave_together();
}

// The network between the hosts goes for good, without a word: rank 0 has data under way, rank 1 only listens.
TEST_F(Ranks, CutForGood) {
  insist([&] { return endpoint().signal(other, {.offset = kFlag}); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return node->flag(kFlag) == 1; }, [&] { step(); }));
  exchange(0);
  if (rank == 1) {
    ASSERT_EQ(std::system("ip link set dev $OMPL_NET_INTERFACE down"), 0);
  }
  exchange(0);
  if (rank == 0) insist([&] { return endpoint().signal(other, {.offset = kFlag}); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return endpoint().failure(other) != OMPL_OK; }, [&] { step(); }));
  EXPECT_EQ(endpoint().failure(other), OMPL_ERR_LINK) << "whether it lives cannot be known";
  exchange(0);
}

// What a command says.
std::string said_by(const std::string& command) {
  std::string out;
  FILE* const pipe = popen(command.c_str(), "r");
  for (int c = pipe != nullptr ? std::fgetc(pipe) : EOF; c != EOF; c = std::fgetc(pipe))
    out += static_cast<char>(c);
  if (pipe != nullptr) pclose(pipe);
  return out;
}

// The queues of both listeners are full of connections that will never be made, from addresses where nobody is, before a rank
// first connects (tests/net/flood.py).
TEST_F(Ranks, Flooded) {
  const char* const flood = std::getenv("HOSTS_FLOOD");
  ASSERT_NE(flood, nullptr);
  const std::string ports =
      exchange(said_by("ss -Htln | awk '{sub(/.*:/, \"\", $4); printf \"%s \", $4}'"));
  ASSERT_FALSE(ports.empty());
  const std::string there = "10.77.0." + std::to_string(other + 1);
  ASSERT_EQ(std::system(("python3 " + std::string(flood) + " " + there + " " + ports).c_str()), 0);
  exchange(0);
  EXPECT_GT(std::stoi(said_by("ss -Htn state syn-recv | wc -l")), 100);
  insist([&] { return endpoint().signal(other, {.offset = kFlag}); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return node->flag(kFlag) == 1; }, [&] { step(); }));
  leave_together();
}

// Sends a number and a record that carries it, again and again, without waiting; and on the other side, what
// must hold of them: no number before its predecessor, none before its data.
class Stream {
 public:
  explicit Stream(Node& node) : node_(node) {
    node.sink.on_arrival = [this](const Arrival& arrival) {
      if (arrival.record.offset != kFlag) return;
      gaps += arrival.record.value != ++arrived;
      without_data += *node_.at<uint64_t>(kData + 8 * arrival.record.value) != arrival.record.value;
    };
  }
  // True if one more is on its way.
  bool pump(uint32_t to) {
    Endpoint& endpoint = *node_.endpoints[0];
    const uint64_t number = sent + 1;
    if (!put_is_posted_) {
      put_is_posted_ = endpoint.put(to, &number, kData + 8 * number, 8).state == Post::State::done;
    }
    const Signal record{
        .offset = kFlag, .value = number, .op = SignalOp::update64, .function = Function::set};
    if (!put_is_posted_ || endpoint.signal(to, record).state != Post::State::done) return false;
    put_is_posted_ = false;
    ++sent;
    return true;
  }

  uint64_t sent = 0, arrived = 0, gaps = 0, without_data = 0;

 private:
  Node& node_;
  bool put_is_posted_ = false;
};

void shell(const char* command) { ASSERT_EQ(std::system(command), 0) << command; }

void reset_connections() {
  shell("ss --kill --tcp state established dst 10.77.0.0/24 > /dev/null 2>&1");
}

// The network resets the connection while both ranks live. Both see a failure; what arrived is a gapless
// beginning of what was sent, each record with its data; nothing comes later, though the network is whole.
TEST_F(Ranks, Reset) {
  uint64_t ahead = 500;  // so that what is said last does not wait behind all too much
  Stream stream(*node);
  const auto pump = [&] {
    if (stream.sent < stream.arrived + ahead) stream.pump(other);
    step();
  };
  ASSERT_TRUE(until([&] { return stream.arrived >= 1000; }, pump));
  insist([&] { return endpoint().signal(other, {.offset = kFlag + 64}); }, pump);
  ASSERT_TRUE(until([&] { return node->flag(kFlag + 64) == 1; }, pump));
  exchange(0);  // neither waits for the other's flag any more
  ahead = UINT32_MAX;
  for (int i = 0; i < 100; ++i) pump();
  if (rank == 0) {
    ASSERT_NO_FATAL_FAILURE(reset_connections());
  }
  ASSERT_TRUE(until([&] { return endpoint().failure(other) != OMPL_OK; }, pump));
  EXPECT_EQ(endpoint().failure(other), OMPL_ERR_LINK) << "the other rank lives";

  const uint64_t sent_by_other = exchange(stream.sent);  // both have seen the failure
  for (int i = 0; i < 200; ++i) step();                  // what had arrived may still lie in the queue
  const uint64_t arrived_before = stream.arrived;
  EXPECT_LE(stream.arrived, sent_by_other);
  EXPECT_EQ(endpoint().signal(other, {.offset = kFlag}).state, Post::State::failed);
  step_for(500);
  EXPECT_EQ(stream.arrived, arrived_before);
  EXPECT_EQ(stream.gaps, 0U);
  EXPECT_EQ(stream.without_data, 0U);
  exchange(0);
}

// Rank 0 sends into a network that delivers nothing, until all of it has left the provider and nothing is left to
// report an error; then its connection ends, and the network comes back. Where the provider makes a new
// connection in secret, only numbers can tell that something is missing.
TEST_F(Ranks, LostInSecret) {
  Stream stream(*node);
  insist([&] { return endpoint().signal(other, {.offset = kFlag + 64}); }, [&] { step(); });
  ASSERT_TRUE(until([&] { return node->flag(kFlag + 64) == 1; }, [&] { step(); }));
  step_for(100);
  exchange(0);
  if (rank == 1) {
    ASSERT_NO_FATAL_FAILURE(shell("ip link set dev $OMPL_NET_INTERFACE down"));
  }
  exchange(0);
  if (rank == 0) {
    while (stream.sent < 100) {
      stream.pump(other);
      step();
    }
    step_for(100);
    ASSERT_NO_FATAL_FAILURE(reset_connections());
    step_for(100);
  }
  exchange(0);
  if (rank == 1) {
    ASSERT_NO_FATAL_FAILURE(shell("ip link set dev $OMPL_NET_INTERFACE up"));
  }
  exchange(0);
  const auto known = [&] { return endpoint().failure(other) != OMPL_OK; };
  EXPECT_TRUE(until(known, [&] {
    if (rank == 0) stream.pump(other);
    step();
  }));
  meet();  // the other rank may have to ask
  EXPECT_EQ(endpoint().failure(other), OMPL_ERR_LINK);
  EXPECT_EQ(stream.gaps, 0U);
  EXPECT_EQ(stream.without_data, 0U);
  exchange(0);
}

}  // namespace
}  // namespace ompl::conduit::test
