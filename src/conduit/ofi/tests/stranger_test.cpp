// SPDX-License-Identifier: BSD-3-Clause
// An endpoint without connections of our own hears everybody: what somebody who knows its address, but not the
// job's secret, can do to it.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "conduit/common/doorkeeper.hpp"
#include "conduit/ofi/address.hpp"
#include "conduit/ofi/resources.hpp"
#include "conduit/ofi/wire.hpp"
#include "conformance/strangers.hpp"
#include "node.hpp"

namespace ompl::conduit::ofi::test {
namespace {

constexpr uint64_t kFlag = 4096;
constexpr const char* kSecret = "a secret of the job";

// Bare libfabric, in the hands of a stranger.
class Stranger {
 public:
  explicit Stranger(const std::string& provider) {
    settings_.ofi_provider = provider;
    settings_.net_interface = "lo";
    job_.segment = memory_.data();
    job_.capacity = memory_.size();
    if (library_.load() != OMPL_OK || choose_provider(library_, settings_, {}, &choice_) != OMPL_OK)
      return;
    opened = resources_.open(library_, choice_, job_, 1) == OMPL_OK;
  }
  void find(const std::string& published) {
    ASSERT_EQ(victim.parse(published), nullptr);
    std::array<char, 128> name{};
    victim.slots[0].name.copy(name.data(), name.size());
    ASSERT_EQ(fi_av_insert(resources_.peers.get(), name.data(), 1, &address_, 0, nullptr), 1);
  }
  // Sends; `step` lets the other side live.
  template <class Step>
  void send(const void* bytes, std::size_t length, Step&& step) {
    const auto post = [&] {
      return fi_inject(resources_.receiver.get(), bytes, length, address_) == 0;
    };
    std::array<std::byte, 512> copy{};
    std::copy_n(static_cast<const std::byte*>(bytes), length, copy.begin());
    const bool fits = length <= choice_.info->tx_attr->inject_size;
    ASSERT_TRUE(until(
        [&] {
          return fits ? post()
                      : fi_send(resources_.receiver.get(), copy.data(), length, nullptr, address_,
                                nullptr) == 0;
        },
        [&] {
          progress();
          step();
        }));
    for (int i = 0; i < 20; ++i) {  // the copy is in use until it has left
      progress();
      step();
    }
  }
  // A write of nothing that says that somebody's flag is to be raised; with a key that is a guess.
  template <class Step>
  void raise_flag(uint64_t key, uint64_t data, Step&& step) {
    const iovec local{memory_.data(), 1};
    const fi_rma_iov remote{.addr = kFlag, .len = 1, .key = key};
    fi_msg_rma message{};
    message.msg_iov = &local;
    message.iov_count = 1;
    message.addr = address_;
    message.rma_iov = &remote;
    message.rma_iov_count = 1;
    message.context = &context_;
    message.data = data;
    const auto post = [&] {
      return fi_writemsg(resources_.receiver.get(), &message, FI_COMPLETION | FI_REMOTE_CQ_DATA) == 0;
    };
    ASSERT_TRUE(until(post, [&] {
      progress();
      step();
    }));
  }
  void progress() {
    std::array<fi_cq_data_entry, 4> entries;
    fi_cq_err_entry error{};
    if (fi_cq_read(resources_.queue.get(), entries.data(), entries.size()) == -FI_EAVAIL)
      static_cast<void>(fi_cq_readerr(resources_.queue.get(), &error, 0));
  }

  bool opened = false;
  Address victim;

 private:
  Library library_;
  Settings settings_;
  Job job_;
  ProviderChoice choice_;
  std::array<std::byte, 4096> memory_{};
  Resources resources_;
  fi_context2 context_{};
  fi_addr_t address_ = FI_ADDR_UNSPEC;
};

class OfiStranger : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    a = make_node(0, 2, 1, GetParam(), "lo", kSecret);
    b = make_node(1, 2, 1, GetParam(), "lo", kSecret);
    if (a->opened == OMPL_ERR_UNSUPPORTED) GTEST_SKIP() << error_detail();
    ASSERT_EQ(b->opened, OMPL_OK) << error_detail();
    introduce({a.get(), b.get()});
    stranger = std::make_unique<Stranger>(GetParam());
    ASSERT_TRUE(stranger->opened) << error_detail();
    ASSERT_NO_FATAL_FAILURE(stranger->find(b->conduit->address()));
  }
  void step() {
    a->progress();
    b->progress();
  }
  template <class Bytes>
  void send(const Bytes& bytes) {
    stranger->send(&bytes, sizeof bytes, [&] { step(); });
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

  std::unique_ptr<Node> a, b;
  std::unique_ptr<Stranger> stranger;
};

Greeting greeting_of_rank_0(const std::string& secret, uint64_t published) {
  Greeting greeting{.rank = 0, .asked = published};
  greeting.sign(1, secret);
  return greeting;
}

TEST_P(OfiStranger, GarbageIsDropped) {
  std::mt19937 random(1);
  for (int when : {0, 1}) {  // before and after the two ranks have met
    for (std::size_t length : {1U, 8U, 39U, 40U, 55U, 56U, 57U, 100U, 175U, 176U, 192U, 500U}) {
      std::array<uint8_t, 512> bytes;
      for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
      stranger->send(bytes.data(), length, [&] { step(); });
    }
    EXPECT_EQ(b->sink.count, static_cast<uint64_t>(when));
    ASSERT_NO_FATAL_FAILURE(still_works());
  }
}

TEST_P(OfiStranger, AGreetingNeedsTheSecret) {
  const Greeting forged = greeting_of_rank_0("another secret", stranger->victim.challenge);
  for (int i = 0; i < 5; ++i) send(forged);
  EXPECT_EQ(b->endpoints[0]->failure(0), OMPL_OK);
  Sealed record{.message = to_message(0, {.offset = kFlag})};
  record.cookie = Pair{0, 0, 1, 0}.cookie(stranger->victim.challenge, "another secret");
  send(record);
  EXPECT_EQ(b->sink.count, 0U);
  still_works();
}

TEST_P(OfiStranger, RecordsNeedTheCookie) {
  still_works();
  for (const uint8_t op : {uint8_t{0}, kGoodbye, kBroken, kPing}) {
    Sealed record{.message = to_message(0, {.offset = kFlag})};
    record.message.op = op;
    record.cookie = 12345;
    send(record);
  }
  EXPECT_EQ(b->sink.count, 1U);
  still_works();
}

// It was meant for another process, which had rank 1 before or has got hold of its port.
TEST_P(OfiStranger, AGreetingForAnotherProcessIsNotBelieved) {
  const Greeting other = greeting_of_rank_0(kSecret, stranger->victim.challenge + 1);
  for (int i = 0; i < 5; ++i) send(other);
  Sealed record{.message = to_message(0, {.offset = kFlag})};
  record.cookie = Pair{0, 0, 1, 0}.cookie(stranger->victim.challenge + 1, kSecret);
  send(record);
  EXPECT_EQ(b->sink.count, 0U);
  still_works();
}

// Somebody has read the network and says again what he heard. It changes nothing, and gives him no cookie.
TEST_P(OfiStranger, AGreetingSaidAgainChangesNothing) {
  still_works();
  const Greeting again = greeting_of_rank_0(kSecret, stranger->victim.challenge);
  for (int i = 0; i < 5; ++i) send(again);
  const Post post = insist([&] { return b->endpoints[0]->signal(0, {.offset = kFlag, .value = 2}); },
                           [&] { step(); });
  ASSERT_EQ(post.state, Post::State::done);
  ASSERT_TRUE(until([&] { return a->flag(kFlag) == 2; }, [&] { step(); }))
      << "rank 1 now speaks with the cookie of the stranger";
  still_works();
}

// A write needs the key of the segment, which is random: the provider refuses it.
TEST_P(OfiStranger, WritesNeedTheKey) {
  still_works();
  ASSERT_NE(stranger->victim.slots[0].key, 0U);
  for (uint64_t guess : {uint64_t{0}, uint64_t{1}, stranger->victim.slots[0].key + 1}) {
    stranger->raise_flag(guess, Numbered{.link = 0, .number = 1, .flag = kFlag / 4}.data(),
                         [&] { step(); });
    for (int i = 0; i < 1000; ++i) {
      stranger->progress();
      step();
    }
  }
  EXPECT_EQ(b->sink.count, 1U);
  still_works();
}

// Bare libfabric on the port that a rank had, which says yes to everybody.
class Thief {
 public:
  explicit Thief(const std::string& provider) {
    settings_.ofi_provider = provider;
    settings_.net_interface = "lo";
    job_.segment = memory_.data();
    job_.capacity = memory_.size();
    if (library_.load() != OMPL_OK || choose_provider(library_, settings_, {}, &choice_) != OMPL_OK ||
        resources_.open(library_, choice_, job_, 1) != OMPL_OK)
      return;
    sockaddr_storage name{};
    std::size_t length = sizeof name;
    Address::Slot slot{.port = 0, .key = fi_mr_key(resources_.segment.get()), .name = {}};
    opened = fi_getname(&resources_.listener->fid, &name, &length) == 0 && address.take(name, &slot);
    address.provider = choice_.name;
    address.challenge = 7;
    address.slots.push_back(slot);
    for (auto& message : messages_)
      EXPECT_EQ(fi_recv(resources_.receiver.get(), &message, sizeof message, nullptr, 0, &message), 0);
  }
  void progress() {
    alignas(fi_eq_cm_entry) std::array<char, sizeof(fi_eq_cm_entry) + 256> buffer;
    const auto& event = *reinterpret_cast<const fi_eq_cm_entry*>(buffer.data());
    uint32_t kind = 0;
    fi_eq_err_entry error{};
    const ssize_t got = fi_eq_read(resources_.events.get(), &kind, buffer.data(), buffer.size(), 0);
    if (got == -FI_EAVAIL) static_cast<void>(fi_eq_readerr(resources_.events.get(), &error, 0));
    if (got > 0 && kind == FI_CONNREQ) {
      const Info owner = library_.own(event.info);
      heard.append(buffer.data() + sizeof event, static_cast<std::size_t>(got) - sizeof event);
      int result = 0;
      accepted_.push_back(resources_.make_endpoint(event.info, nullptr, &result));
      const Answer answer;  // without a proof
      ASSERT_EQ(fi_accept(accepted_.back().get(), with_answer ? &answer : nullptr,
                          with_answer ? sizeof answer : 0),
                0);
    }
    std::array<fi_cq_data_entry, 4> entries;
    if (fi_cq_read(resources_.queue.get(), entries.data(), entries.size()) > 0) ++arrived;
  }

  bool opened = false;
  bool with_answer = false;
  Address address;
  std::string heard;  // what requests said
  int arrived = 0;

 private:
  Library library_;
  Settings settings_;
  Job job_;
  ProviderChoice choice_;
  std::array<std::byte, 4096> memory_{};
  std::array<Message, 8> messages_{};
  Resources resources_;
  std::vector<Fid<fid_ep>> accepted_;
};

class OfiThief : public testing::TestWithParam<std::string> {};

TEST_P(OfiThief, OfAPortLearnsNothingAndIsSentNothing) {
  for (const bool with_answer : {false, true}) {
    Thief thief(GetParam());
    if (!thief.opened) GTEST_SKIP() << error_detail();
    thief.with_answer = with_answer;
    const auto a = make_node(0, 2, 1, GetParam(), "lo", kSecret);
    ASSERT_EQ(a->opened, OMPL_OK) << error_detail();
    ASSERT_TRUE(a->conduit->connect(1, thief.address.encode()).usable);
    a->open_endpoints();
    const auto step = [&] {
      a->progress();
      thief.progress();
    };
    const uint64_t data = 1;
    EXPECT_EQ(insist([&] { return a->endpoints[0]->put(1, &data, kFlag, sizeof data); }, step).state,
              Post::State::failed);
    EXPECT_NE(std::string(error_detail()).find("another job"), std::string::npos) << error_detail();
    EXPECT_EQ(insist([&] { return a->endpoints[0]->signal(1, {.offset = kFlag}); }, step).state,
              Post::State::failed);
    EXPECT_EQ(thief.heard.size(), sizeof(Greeting));
    EXPECT_EQ(thief.heard.find(std::string_view(kSecret).substr(0, 8)), std::string::npos);
    EXPECT_EQ(thief.arrived, 0);
    // What he heard opens no door: it was said to a process that published another challenge.
    Greeting heard;
    std::memcpy(&heard, thief.heard.data(), sizeof heard);
    EXPECT_TRUE(heard.is_signed(1, thief.address.challenge, kSecret));
    EXPECT_FALSE(heard.is_signed(1, thief.address.challenge + 1, kSecret));
  }
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiThief, testing::Values("tcp", "net"),
                         [](const auto& test) { return test.param; });

// Of another user of the machine, to a rank's listener.
class OfiFlood : public testing::TestWithParam<std::string> {
 protected:
  static uint16_t port_of_slot(const std::string& published) {
    Address address;
    EXPECT_EQ(address.parse(published), nullptr);
    if (address.slots[0].port != 0) return address.slots[0].port;
    sockaddr_storage name{};
    address.slots[0].name.copy(reinterpret_cast<char*>(&name), sizeof name);
    return port_of(name);
  }
};

// Strangers have few of this process's descriptors, and ranks meet beside them.
TEST_P(OfiFlood, CostsLivingRanksNothing) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}}) {
    const auto a = make_node(0, 2, 1, GetParam(), "lo", kSecret);
    if (a->opened == OMPL_ERR_UNSUPPORTED) GTEST_SKIP() << error_detail();
    const auto b = make_node(1, 2, 1, GetParam(), "lo", kSecret);
    ASSERT_EQ(b->opened, OMPL_OK) << error_detail();
    introduce({a.get(), b.get()});
    const auto step = [&] {
      a->progress();
      b->progress();
    };
    const std::size_t before = open_descriptors();
    const Strangers strangers(port_of_slot(b->conduit->address()), 300, bytes);
    ASSERT_TRUE(until([&] { return strangers.came(); }, step));
    ASSERT_TRUE(strangers.are_there());
    ASSERT_TRUE(until([&] { return open_descriptors() < before + 150; }, step));
    const Post post = insist([&] { return a->endpoints[0]->signal(1, {.offset = kFlag}); }, step);
    EXPECT_EQ(post.state, Post::State::done);
    EXPECT_TRUE(until([&] { return b->flag(kFlag) == 1; }, step));
    EXPECT_EQ(a->endpoints[0]->failure(1), OMPL_OK);
    EXPECT_EQ(b->endpoints[0]->failure(0), OMPL_OK);
    EXPECT_LT(open_descriptors(), before + 150) << "strangers have no descriptors for long";
  }
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiFlood,
                         testing::Values("tcp", "net", "tcp;ofi_rxm", "net/rdm", "tcp/rdm"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

INSTANTIATE_TEST_SUITE_P(Providers, OfiStranger, testing::Values("tcp;ofi_rxm", "net/rdm", "tcp/rdm"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace ompl::conduit::ofi::test
