// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint_rules.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

namespace ompl::conduit::test {
namespace {

std::vector<std::byte> pattern(std::size_t length, unsigned seed) {
  std::vector<std::byte> out(length);
  std::minstd_rand random(seed);
  for (auto& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

TEST_P(EndpointRules, PutsAndGetsOfEverySizeCarryTheirBytes) {
  for (std::size_t size = 1; size <= most(std::size_t{4} << 20);
       size = size < 200 ? size + 1 : size * 2 + 1) {
    const auto sent = pattern(size, static_cast<unsigned>(size));
    std::memset(b->at(kData - 1), 0x5A, size + 2);
    put(from_a(), 1, sent.data(), kData, size);
    signal(from_a(), 1, {.offset = kFlag});
    ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); })) << size;
    *b->at<uint32_t>(kFlag) = 0;
    ASSERT_EQ(std::memcmp(b->at(kData), sent.data(), size), 0) << size;
    ASSERT_EQ(*b->at<char>(kData - 1), 0x5A) << size;
    ASSERT_EQ(*b->at<char>(kData + size), 0x5A) << size;

    std::vector<std::byte> received(size);
    const Post get =
        insist([&] { return from_a().get(1, received.data(), kData, size); }, [&] { step(); });
    finish(from_a(), 1, get);
    ASSERT_EQ(received, sent) << size;
  }
}

TEST_P(EndpointRules, SignalsCarryTheirOperationFlagAndSource) {
  *b->at<uint64_t>(kFlag + 64) = 5;
  *b->at<uint64_t>(kFlag + 72) = 5;
  const std::vector<Signal> records{
      {.offset = kFlag},               // an immediate
      {.offset = kFlag, .value = 41},  // the rest are messages
      {.offset = kFlag + 4, .value = 7, .function = Function::set},
      {.offset = kFlag + 64, .value = uint64_t{1} << 40, .op = SignalOp::update64},
      {.offset = kFlag + 72,
       .value = uint64_t{1} << 50,
       .op = SignalOp::update64,
       .function = Function::set},
      {.offset = kFlag + 72,
       .value = 9,
       .compare = 8,
       .token = 3,
       .op = SignalOp::update64,
       .function = Function::compare_swap},
      {.offset = 123, .value = 77, .op = SignalOp::ack_request},  // the core's: passed through
      {.offset = 0, .value = 200, .op = SignalOp::credit},
  };
  std::vector<Arrival> arrived;
  b->sink.on_arrival = [&](const Arrival& arrival) { arrived.push_back(arrival); };
  for (const Signal& record : records) signal(from_a(), 1, record);
  ASSERT_TRUE(until([&] { return arrived.size() == records.size(); }, [&] { step(); }));
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(arrived[i].source, 0U);
    EXPECT_EQ(arrived[i].record.offset, records[i].offset);
    EXPECT_EQ(arrived[i].record.value, records[i].value);
    EXPECT_EQ(arrived[i].record.compare, records[i].compare);
    EXPECT_EQ(arrived[i].record.token, records[i].token);
    EXPECT_EQ(arrived[i].record.op, records[i].op);
    EXPECT_EQ(arrived[i].record.function, records[i].function);
  }
  EXPECT_EQ(b->flag(kFlag), 42U);
  EXPECT_EQ(b->flag(kFlag + 4), 7U);
  EXPECT_EQ(*b->at<uint64_t>(kFlag + 64), 5 + (uint64_t{1} << 40));
  EXPECT_EQ(*b->at<uint64_t>(kFlag + 72), uint64_t{1} << 50);
  EXPECT_EQ(a->sink.count, 0U) << "a record came back to its sender";
}

TEST_P(EndpointRules, PutSignalIsSeenOnlyWithItsData) {
  for (std::size_t size :
       {std::size_t{8}, std::size_t{128}, std::size_t{129}, most(std::size_t{1} << 20)}) {
    for (uint64_t value : {1, 3}) {  // as one request, and as a put with a message
      const auto sent = pattern(size, static_cast<unsigned>(size + value));
      bool with_data = false;
      b->sink.on_arrival = [&](const Arrival&) {
        with_data = std::memcmp(b->at(kData), sent.data(), size) == 0;
      };
      const Signal record{.offset = kFlag, .value = value};
      bool signalled = false;
      const Post post =
          insist([&] { return from_a().put_signal(1, sent.data(), kData, size, record, &signalled); },
                 [&] { step(); });
      ASSERT_NE(post.state, Post::State::failed);
      if (!signalled) signal(from_a(), 1, record);
      const uint32_t before = b->flag(kFlag);
      ASSERT_TRUE(until([&] { return b->flag(kFlag) == before + value; }, [&] { step(); }));
      EXPECT_TRUE(with_data) << size << ", value " << value;
      finish(from_a(), 1, post);
    }
  }
}

// The payload changes each round and the next round begins at once: a signal that overtook its put, or a
// put that is applied twice, would show.
TEST_P(EndpointRules, SignalsNeverOvertakePuts) {
  constexpr int kRounds = 20'000;
  std::vector<uint32_t> payload(64);  // 256 bytes: the larger half goes without a copy
  uint32_t seen = 0;
  uint64_t wrong = 0;
  b->sink.on_arrival = [&](const Arrival&) {
    ++seen;
    const std::size_t words = seen % 2 == 0 ? 2 : payload.size();
    for (std::size_t i = 0; i < words; ++i)
      wrong += b->at<uint32_t>(kData + 1024 * (seen % 1024))[i] != seen * 64 + i;
  };
  for (uint32_t round = 1; round <= kRounds; ++round) {
    const std::size_t words = round % 2 == 0 ? 2 : payload.size();
    for (std::size_t i = 0; i < words; ++i) payload[i] = round * 64 + static_cast<uint32_t>(i);
    put(from_a(), 1, payload.data(), kData + 1024 * (round % 1024), words * 4);
    const bool immediate = round % 3 != 0;
    signal(from_a(), 1, {.offset = kFlag, .value = immediate ? 1U : 2U});
    ASSERT_EQ(wrong, 0U) << "in round " << seen;
    // Do not lap the receiver's 1,024 places.
    ASSERT_TRUE(until([&] { return round - seen < 1000; }, [&] { step(); }));
  }
  ASSERT_TRUE(until([&] { return seen == kRounds; }, [&] { step(); }));
  EXPECT_EQ(wrong, 0U);
}

TEST_P(EndpointRules, OutstandingOperationsCompleteUpToTheTicket) {
  const auto sent = pattern(most(100'000), 1);
  const bool all_report = GetParam().pending_from != 0;
  const std::size_t size = all_report ? GetParam().pending_from : 1000;
  std::vector<std::vector<std::byte>> got(40, std::vector<std::byte>(size));
  put(from_a(), 1, sent.data(), kData, sent.size());
  uint64_t last = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Post put_post =
        insist([&] { return from_a().put(1, sent.data(), kData + (1 << 20), size); }, [&] { step(); });
    const Post get_post =
        insist([&] { return from_a().get(1, got[i].data(), kData + i, size); }, [&] { step(); });
    for (const Post& post : {put_post, get_post}) {
      if (!all_report && post.state != Post::State::pending) continue;
      ASSERT_GT(post.ticket, last);
      last = post.ticket;
    }
  }
  ASSERT_TRUE(until([&] { return from_a().completed(1) >= last; }, [&] { step(); }));
  EXPECT_EQ(from_a().completed(1), last);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(std::memcmp(got[i].data(), sent.data() + i, size), 0) << i;
}

// The target stays outside: the initiator is told to retry before memory fills up, and nothing is lost.
TEST_P(EndpointRules, AFloodIsAnsweredByRetry) {
  signal(from_a(), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  uint32_t sent = 1;
  uint64_t retries = 0;
  for (uint64_t i = 0; retries < 10'000; ++i) {
    const uint64_t value = 1 + i % 2;
    const Post post = from_a().signal(1, {.offset = kFlag, .value = value});
    ASSERT_NE(post.state, Post::State::failed);
    if (post.state == Post::State::done) {
      sent += static_cast<uint32_t>(value);
      retries = 0;
    } else {
      EXPECT_EQ(post.reason, Post::Reason::queue_full);
      a->progress();
      ++retries;
    }
    ASSERT_LT(i, 100'000'000U) << "no end of room";
  }
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == sent; }, [&] { step(); }))
      << b->flag(kFlag) << " of " << sent;
}

// Both post as fast as they can and progress only when told to retry.
TEST_P(EndpointRules, AFloodInBothDirectionsFlows) {
  constexpr uint32_t kRounds = 5'000;
  std::atomic<int> satisfied{0};
  const auto flood = [&satisfied, this](Node& node, uint32_t rank) {
    Endpoint& endpoint = *node.endpoints[0];
    const auto block = pattern(most(16 << 10), rank);
    const auto step = [&] { node.progress(); };
    for (uint32_t i = 0; i < kRounds; ++i) {
      insist([&] { return endpoint.put(1 - rank, block.data(), kData, i % 4 == 0 ? block.size() : 8); },
             step);
      insist([&] { return endpoint.signal(1 - rank, {.offset = kFlag, .value = 1 + i % 2}); }, step);
    }
    EXPECT_TRUE(until([&] { return node.sink.count == kRounds; }, step)) << node.sink.count;
    // What was accepted while the socket was full still needs its sender's progress.
    ++satisfied;
    EXPECT_TRUE(until([&] { return satisfied == 2; }, step));
  };
  std::jthread other(flood, std::ref(*b), 1);
  flood(*a, 0);
  other.join();
  EXPECT_EQ(a->flag(kFlag), kRounds + kRounds / 2);
  EXPECT_EQ(b->flag(kFlag), kRounds + kRounds / 2);
}

TEST_P(EndpointRules, BothSidesMayConnectAtOnce) {
  for (uint32_t repeat = 0; repeat < rounds(20); ++repeat) {
    ASSERT_NO_FATAL_FAILURE(start(2, 2));
    for (uint32_t slot : {0U, 1U}) {
      ASSERT_EQ(from_a(slot).signal(1, {.offset = kFlag}).reason, Post::Reason::connecting);
      ASSERT_EQ(from_b(slot).signal(0, {.offset = kFlag}).reason, Post::Reason::connecting);
    }
    uint32_t sent[4] = {};
    const auto all_sent = [&] {
      for (uint32_t slot : {0U, 1U}) {
        if (sent[slot] == 0)
          sent[slot] = from_a(slot).signal(1, {.offset = kFlag}).state == Post::State::done;
        if (sent[2 + slot] == 0)
          sent[2 + slot] = from_b(slot).signal(0, {.offset = kFlag}).state == Post::State::done;
      }
      return sent[0] + sent[1] + sent[2] + sent[3] == 4;
    };
    ASSERT_TRUE(until(all_sent, [&] { step(); }));
    ASSERT_TRUE(until([&] { return a->flag(kFlag) == 2 && b->flag(kFlag) == 2; }, [&] { step(); }));
    EXPECT_EQ(from_a().failure(1), OMPL_OK);
    EXPECT_EQ(from_b().failure(0), OMPL_OK);
  }
}

// Slot 2 of three talks to slot 0 of two, which talks back to slot 0: a connection used one way only.
TEST_P(EndpointRules, PoolsMayDifferInSize) {
  ASSERT_NO_FATAL_FAILURE(start(3, 2));
  for (int round = 0; round < 50; ++round) {
    for (uint32_t slot = 0; slot < 3; ++slot) signal(from_a(slot), 1, {.offset = kFlag + 8 * slot});
    for (uint32_t slot = 0; slot < 2; ++slot) signal(from_b(slot), 0, {.offset = kFlag + 8 * slot});
  }
  ASSERT_TRUE(until([&] { return a->sink.count == 100 && b->sink.count == 150; }, [&] { step(); }));
  for (uint32_t slot = 0; slot < 3; ++slot) EXPECT_EQ(b->flag(kFlag + 8 * slot), 50U) << slot;
  for (uint32_t slot = 0; slot < 2; ++slot) EXPECT_EQ(a->flag(kFlag + 8 * slot), 50U) << slot;
}

TEST_P(EndpointRules, AClosedPeerIsAFailureForGood) {
  if (const std::string& why = GetParam().no_early_close; !why.empty()) GTEST_SKIP() << why;
  const auto block = pattern(most(1 << 20), 5);
  put(from_a(), 1, block.data(), kData, block.size());
  // Posts with nobody at the other end until operations are outstanding, then the other end goes.
  uint64_t ticket = 0;
  for (Post post; post.state != Post::State::retry;) {
    post = from_a().put(1, block.data(), kData, block.size());
    if (GetParam().pending_from != 0 && post.state != Post::State::pending) break;
    ticket = std::max(ticket, post.ticket);
  }
  ASSERT_GT(ticket, from_a().completed(1));
  b.reset();
  ASSERT_TRUE(until([&] { return from_a().failure(1) != OMPL_OK; }, [&] { a->progress(); }));
  EXPECT_GE(from_a().completed(1), ticket) << "what was outstanding counts as completed";
  const Post after = from_a().signal(1, {.offset = kFlag});
  EXPECT_EQ(after.state, Post::State::failed);
  EXPECT_EQ(after.code, from_a().failure(1));
  // Every operation came back.
  for (int i = 0; i < 100; ++i) a->progress();
  EXPECT_NE(from_a().describe().find(", 0 of "), std::string::npos) << from_a().describe();
}

// A get that counts as completed since its rank has left writes no memory of the caller any more [24].
TEST_P(EndpointRules, WhatAPeerLeavesUndoneUsesNoMemory) {
  if (const std::string& why = GetParam().no_early_close; !why.empty()) GTEST_SKIP() << why;
  const std::size_t length = most(1 << 18);
  constexpr std::byte kMine{0xEE};
  for (uint32_t repeat = 0; repeat < rounds(5); ++repeat) {
    ASSERT_NO_FATAL_FAILURE(start(1, 1));
    signal(from_a(), 1, {.offset = kFlag});
    ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
    std::vector<std::vector<std::byte>> got(16, std::vector<std::byte>(length));
    std::vector<uint64_t> tickets(got.size(), 0);
    const auto get_all = [&] {
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (from_a().completed(1) < tickets[i]) continue;
        const Post post = from_a().get(1, got[i].data(), kData, length);
        if (post.state == Post::State::pending) tickets[i] = post.ticket;
      }
      a->progress();
    };
    std::atomic<bool> gone{false};
    std::jthread leaver([&] {
      until([&] { return b->sink.count > 1; }, [&] { b->progress(); });
      b.reset();
      gone = true;
    });
    for (int i = 0; i < 100; ++i) get_all();
    insist([&] { return from_a().signal(1, {.offset = kFlag}); }, get_all);
    ASSERT_TRUE(until([&] { return from_a().failure(1) != OMPL_OK; }, get_all));
    const uint64_t last = *std::ranges::max_element(tickets);
    ASSERT_TRUE(until([&] { return from_a().completed(1) >= last; }, [&] { a->progress(); }));
    for (auto& buffer : got) std::ranges::fill(buffer, kMine);
    ASSERT_TRUE(until([&] { return gone.load(); }, [&] { a->progress(); }));
    for (int i = 0; i < 100; ++i) a->progress();
    for (const auto& buffer : got)
      ASSERT_EQ(std::ranges::count(buffer, kMine), static_cast<std::ptrdiff_t>(length))
          << "in round " << repeat;
  }
}

TEST_P(EndpointRules, APeerThatLeavesInOrderIsNotDead) {
  signal(from_a(), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  b.reset();
  ASSERT_TRUE(until([&] { return from_a().failure(1) != OMPL_OK; }, [&] { a->progress(); }));
  EXPECT_EQ(from_a().failure(1), OMPL_ERR_LINK);
  EXPECT_TRUE(from_a().departed(1));
}

// What was sent last is not lost when its sender leaves at once.
TEST_P(EndpointRules, LastWordsAreHeard) {
  for (uint32_t repeat = 0; repeat < rounds(10); ++repeat) {
    ASSERT_NO_FATAL_FAILURE(start(1, 1));
    for (uint32_t i = 0; i < 100; ++i) {  // both are full of what they have not read
      signal(from_a(), 1, {.offset = kFlag});
      insist([&] { return from_b().signal(0, {.offset = kFlag, .value = 2}); }, [&] { step(); });
    }
    std::jthread leaver([&] { a.reset(); });
    EXPECT_TRUE(until([&] { return b->flag(kFlag) == 100; }, [&] { b->progress(); })) << b->flag(kFlag);
    b.reset();
  }
}

TEST_P(EndpointRules, APeerThatIsGoneBeforeTheFirstUseIsDead) {
  if (const std::string& why = GetParam().no_deaths; !why.empty()) GTEST_SKIP() << why;
  b.reset();
  const Post post =
      insist([&] { return from_a().signal(1, {.offset = kFlag}); }, [&] { a->progress(); });
  EXPECT_EQ(post.state, Post::State::failed);
  EXPECT_EQ(post.code, OMPL_ERR_PEER);
}

TEST_P(EndpointRules, ASleeperWakesForDataForARequestAndForADeath) {
  const auto sleep = [](Node& node, const std::function<bool()>& done) {
    Endpoint& endpoint = *node.endpoints[0];
    return until(done, [&] {
      node.progress();
      if (done() || !endpoint.arm()) return;
      pollfd fd{.fd = endpoint.descriptor(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&fd, 1, 200'000), 1) << "slept through it";
    });
  };
  const auto later = [](const std::function<void()>& action) {
    return std::jthread([action] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      action();
    });
  };
  {
    const auto sender = later(
        [&] { insist([&] { return from_a().signal(1, {.offset = kFlag}); }, [&] { a->progress(); }); });
    EXPECT_TRUE(sleep(*b, [&] { return b->flag(kFlag) == 1; }));  // the request, and the signal
  }
  {
    const auto sender = later([&] { from_a().signal(1, {.offset = kFlag, .value = 2}); });
    EXPECT_TRUE(sleep(*b, [&] { return b->flag(kFlag) == 3; }));
  }
  const auto ender = later([&] { a.reset(); });
  EXPECT_TRUE(sleep(*b, [&] { return from_b().failure(0) != OMPL_OK; }));
}

// Each slot by a thread of its own on both sides: nothing is shared that needs a lock.
TEST_P(EndpointRules, SlotsAreIndependent) {
  constexpr uint32_t kSlots = 4, kRounds = rounds(500);
  ASSERT_NO_FATAL_FAILURE(start(kSlots, kSlots));
  std::vector<std::jthread> threads;
  const auto play = [](Node& node, uint32_t rank, uint32_t slot) {
    Endpoint& endpoint = *node.endpoints[slot];
    Applier sink(node.at(0));
    const uint64_t offset = kFlag + 64 * slot;
    const auto step = [&] { ASSERT_GE(endpoint.progress(sink, 16), 0); };
    std::vector<uint32_t> payload(200);
    for (uint32_t round = 1; round <= kRounds; ++round) {
      payload.assign(payload.size(), round);
      const Post post = insist(
          [&] { return endpoint.put(1 - rank, payload.data(), kData + 4096 * slot, 800); }, step);
      ASSERT_TRUE(until([&] { return endpoint.completed(1 - rank) >= post.ticket; }, step));
      insist([&] { return endpoint.signal(1 - rank, {.offset = offset}); }, step);
      ASSERT_TRUE(until([&] { return sink.count >= round; }, step));
      ASSERT_GE(node.at<uint32_t>(kData + 4096 * slot)[199], round);
    }
  };
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    threads.emplace_back(play, std::ref(*a), 0, slot);
    threads.emplace_back(play, std::ref(*b), 1, slot);
  }
}

}  // namespace

std::set<int> EndpointRules::sockets() {
  std::set<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0) found.insert(fd);
  }
  return found;
}

void EndpointRules::lose_a_connection_that_only_a_sends_on(int* broken) {
  ASSERT_NO_FATAL_FAILURE(start(3, 2));
  signal(from_b(), 0, {.offset = kFlag});
  const std::set<int> before = sockets();
  signal(from_a(2), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  for (const int fd : sockets()) {
    if (!before.contains(fd)) *broken += ::shutdown(fd, SHUT_RDWR) == 0 ? 1 : 0;
  }
  ASSERT_GE(*broken, 1);
  ASSERT_TRUE(until([&] { return from_b().loss(0) != OMPL_OK; }, [&] { step(); }));
  EXPECT_EQ(from_b().loss(0), OMPL_ERR_LINK);
  EXPECT_FALSE(from_b().reason(0).empty());
  EXPECT_FALSE(from_b().departed(0));
  EXPECT_EQ(from_b().failure(0), OMPL_OK) << "its own connection works";
  signal(from_b(), 0, {.offset = kFlag});
}

void EndpointRules::expect_addresses_refused(const std::vector<std::string>& also) {
  const std::string good = b->conduit->address();
  std::vector<std::string> wrong{"", "x", good.substr(0, good.size() - 1), good + "y"};
  wrong.insert(wrong.end(), also.begin(), also.end());
  for (const std::string& bad : wrong) {
    const Reach reach = a->conduit->connect(1, bad);
    EXPECT_FALSE(reach.usable);
    EXPECT_FALSE(reach.why.empty());
  }
  EXPECT_FALSE(a->conduit->connect(0, good).usable);
}

std::string EndpointRules::changed_in_the_middle(std::string address) {
  char& middle = address[address.size() / 2];
  middle = static_cast<char>(middle + 1);
  return address;
}

}  // namespace ompl::conduit::test
