// SPDX-License-Identifier: BSD-3-Clause
// The parts of the ofi conduit that need no network: addresses, the completion window, loading.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "conduit/common/completion_window.hpp"
#include "conduit/common/ip_address.hpp"
#include "conduit/ofi/address.hpp"
#include "conduit/ofi/conduit.hpp"
#include "conduit/ofi/library.hpp"
#include "conduit/ofi/local_memory.hpp"
#include "conduit/ofi/wire.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

// Without an IP address the slots have names.
Address sample(std::size_t ip_bytes, std::size_t slots) {
  Address out{
      .provider = "tcp", .host = {.network = 9, .list = {}}, .base = 0x123456789ABCDEF0, .slots = {}};
  if (ip_bytes > 0) out.host.list = {{.ip = std::string(ip_bytes, '\7')}, {.ip = std::string(4, '\3')}};
  for (std::size_t i = 0; i < slots; ++i) {
    Address::Slot slot{.port = 0, .key = 0xFEDCBA9876543210 + i, .name = {}};
    if (ip_bytes > 0) {
      slot.port = static_cast<uint16_t>(1000 + i);
    } else {
      slot.name = std::string(1 + i * 9, '\1');
    }
    out.slots.push_back(slot);
  }
  return out;
}

TEST(OfiAddress, SurvivesTheJourney) {
  for (std::size_t ip_bytes : {4U, 16U}) {
    const Address sent = sample(ip_bytes, 5);
    Address got;
    ASSERT_EQ(got.parse(sent.encode()), nullptr);
    EXPECT_EQ(got.encode(), sent.encode());
    EXPECT_EQ(got.slots[3].port, 1003);
  }
}

// Of either family, mapped or not.
TEST(OfiAddress, IsTakenFromAListener) {
  for (const char* const text : {"192.0.2.1", "2001:db8::1"}) {
    const std::string ip = ip_from(text);
    for (const SocketAddress& from : {socket_address(ip, 1003), v6_socket_address(ip, 1003)}) {
      sockaddr_storage listener{};
      std::memcpy(&listener, &from, from.size());
      Address::Slot slot;
      Address address;
      ASSERT_TRUE(address.take(listener, &slot));
      EXPECT_EQ(address.host.text(), text);
      EXPECT_EQ(slot.port, 1003);
    }
  }
}

TEST(OfiAddress, NamesSurviveTheJourney) {
  const Address sent = sample(0, 8);  // the last has the longest name there may be
  ASSERT_EQ(sent.slots.back().name.size(), Address::kMaxName);
  Address got;
  ASSERT_EQ(got.parse(sent.encode()), nullptr);
  EXPECT_EQ(got.encode(), sent.encode());
  EXPECT_EQ(got.slots[3].name, sent.slots[3].name);
  EXPECT_EQ(got.host_text(), "") << "no address of IP";
}

TEST(OfiAddress, NoPartOfAnAddressIsAnAddress) {
  for (const std::size_t ip_bytes : {0U, 4U}) {
    const std::string good = sample(ip_bytes, 3).encode();
    for (std::size_t length = 0; length < good.size(); ++length) {
      Address got;
      EXPECT_NE(got.parse(std::string_view(good).substr(0, length)), nullptr) << length;
      EXPECT_TRUE(got.slots.empty());
    }
    Address got;
    EXPECT_NE(got.parse(good + '\0'), nullptr);
  }
}

TEST(OfiAddress, WhatNobodyCanBeReachedByIsRefused) {
  const auto refused = [](Address address) {
    Address got;
    return got.parse(address.encode()) != nullptr;
  };
  EXPECT_TRUE(refused(sample(0, 0))) << "no slots";
  EXPECT_TRUE(refused(sample(5, 1))) << "no such IP address";
  EXPECT_TRUE(refused(sample(0, 9))) << "a name that is too long";
  Address nameless = sample(0, 3);
  nameless.slots[1].name.clear();
  EXPECT_TRUE(refused(nameless));
  Address portless = sample(4, 3);
  portless.slots[1].port = 0;
  EXPECT_TRUE(refused(portless));
}

// Whatever comes, the parser says yes only to what encodes to the same bytes.
TEST(OfiAddress, GarbageIsRefusedOrHarmless) {
  std::mt19937 random(20240229);
  const std::string with_ip = sample(16, 4).encode();
  const std::string with_names = sample(0, 4).encode();
  int accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = round % 3 == 0 ? with_names : with_ip;
    if (round % 4 == 0) {
      text.resize(random() % 200);
      for (char& c : text) c = static_cast<char>(random());
      if (round % 8 == 0) text.replace(0, std::min<std::size_t>(4, text.size()), "OFI5");
    } else {
      for (unsigned i = 0; i <= random() % 4; ++i)
        text[random() % text.size()] = static_cast<char>(random());
    }
    Address got;
    if (got.parse(text) != nullptr) continue;
    ++accepted;
    ASSERT_EQ(got.encode(), text);
  }
  EXPECT_GT(accepted, 0);  // a changed key is still an address
}

TEST(OfiWire, OnlyTheSecretSignsAGreeting) {
  const std::string secret = "the secret of this job";
  constexpr uint64_t kPublished = 7;
  Greeting greeting{.rank = 1, .slot = 2, .target_slot = 3, .challenge = 5, .asked = kPublished};
  greeting.sign(4, secret);
  EXPECT_TRUE(greeting.is_signed(4, kPublished, secret));
  EXPECT_FALSE(greeting.is_signed(5, kPublished, secret)) << "it is for another rank";
  EXPECT_FALSE(greeting.is_signed(4, kPublished + 1, secret)) << "it is for another process";
  for (const std::string& other : {secret + "!", secret.substr(1), std::string()})
    EXPECT_FALSE(greeting.is_signed(4, kPublished, other));
  for (std::size_t i = 0; i < sizeof greeting; ++i) {
    Greeting forged = greeting;
    reinterpret_cast<char*>(&forged)[i] ^= 1;
    const bool unused = i >= offsetof(Greeting, unused) && i < offsetof(Greeting, challenge);
    EXPECT_EQ(forged.is_signed(4, kPublished, secret), unused) << i;
  }
}

// Whoever is told something learns nothing that helps him to say something to others.
TEST(OfiWire, WhatIsSentTellsNothingOfTheSecret) {
  const std::string secret = "the secret of this job";
  Greeting greeting{.rank = 1};
  greeting.sign(0, secret);
  Answer answer;
  answer.proof = answer.proof_of(0, 0, greeting, secret);
  for (const std::string_view sent :
       {std::string_view(reinterpret_cast<const char*>(&greeting), sizeof greeting),
        std::string_view(reinterpret_cast<const char*>(&answer), sizeof answer)})
    EXPECT_EQ(sent.find(std::string_view(secret).substr(0, 4)), std::string_view::npos);
  EXPECT_FALSE(same_proof(answer.proof, greeting.proof));
  Greeting again = greeting;
  again.challenge = 1;
  EXPECT_FALSE(same_proof(answer.proof, answer.proof_of(0, 0, again, secret)))
      << "each answer is for one question";
  const Pair there{.source = 0, .slot = 0, .target = 1, .target_slot = 0};
  const Pair back{.source = 1, .slot = 0, .target = 0, .target_slot = 0};
  EXPECT_NE(there.cookie(1, secret), back.cookie(1, secret));
  EXPECT_NE(there.cookie(1, secret), there.cookie(2, secret));
}

TEST(OfiWire, NumberedDataCarryTheirThreeParts) {
  const Numbered in{.link = 65535, .number = 40000, .flag = UINT32_MAX - 7};
  const Numbered out = Numbered::from(in.data());
  EXPECT_EQ(out.link, in.link);
  EXPECT_EQ(out.number, in.number);
  EXPECT_EQ(out.flag, in.flag);
}

TEST(OfiRegions, AreFoundWhileTheyAreRegistered) {
  RegisteredRanges regions;
  std::array<std::byte, 1000> memory{};
  const auto found = [&](std::size_t offset, std::size_t length) {
    return regions.find(memory.data() + offset, length).place < RegisteredRanges::kCount;
  };
  EXPECT_FALSE(found(0, 1));
  regions.add(memory.data() + 100, 200);
  EXPECT_TRUE(found(100, 200));
  EXPECT_TRUE(found(299, 1));
  EXPECT_FALSE(found(99, 2));
  EXPECT_FALSE(found(299, 2));
  EXPECT_FALSE(found(300, 1));
  const RegisteredRanges::Found first = regions.find(memory.data() + 100, 1);
  regions.remove(memory.data() + 100);
  EXPECT_FALSE(found(100, 1));
  EXPECT_FALSE(regions.has(first.place, first.generation));
  regions.add(memory.data() + 100, 200);
  EXPECT_NE(regions.find(memory.data() + 100, 1).generation, first.generation)
      << "a registration of the old one must not serve the new";
  for (std::size_t i = 0; i < 2 * RegisteredRanges::kCount; ++i)
    regions.add(memory.data() + 400 + i, 1);
  EXPECT_TRUE(found(400, 1));
  EXPECT_FALSE(found(400 + 2 * RegisteredRanges::kCount - 1, 1)) << "there was room for no more";
}

TEST(CompletionWindow, ReportsTheOldestGapInAnyOrder) {
  std::mt19937 random(7);
  CompletionWindow<16> window;
  std::vector<uint64_t> outstanding;
  uint64_t issued = 0;
  for (int step = 0; step < 100'000; ++step) {
    ASSERT_EQ(window.full(),
              outstanding.size() > 0 && issued + 1 - *std::ranges::min_element(outstanding) >= 16);
    if (!window.full() && random() % 2 == 0) {
      ASSERT_EQ(window.next(), issued + 1);
      ASSERT_EQ(window.issue(), ++issued);
      outstanding.push_back(issued);
    } else if (!outstanding.empty()) {
      const auto chosen = outstanding.begin() + static_cast<long>(random() % outstanding.size());
      const uint64_t ticket = *chosen;
      outstanding.erase(chosen);
      window.complete(ticket);
    }
    const uint64_t expected = outstanding.empty() ? issued : *std::ranges::min_element(outstanding) - 1;
    ASSERT_EQ(window.completed(), expected);
  }
}

TEST(CompletionWindow, CompletesSeveralAtOnce) {
  CompletionWindow<16> window;
  for (int i = 0; i < 12; ++i) window.issue();
  window.complete(5, 8);
  window.complete(2);
  window.complete(3, 4);
  EXPECT_EQ(window.completed(), 0U);
  window.complete(1);
  EXPECT_EQ(window.completed(), 8U);
  window.complete(9, 12);
  EXPECT_EQ(window.completed(), 12U);
  for (int i = 0; i < 10; ++i) window.issue();
  window.complete(15, 22);
  EXPECT_EQ(window.completed(), 12U);
  window.complete(13, 14);
  EXPECT_EQ(window.completed(), 22U);
}

TEST(CompletionWindow, ClosingCompletesEverythingOnce) {
  CompletionWindow<8> window;
  for (int i = 0; i < 5; ++i) window.issue();
  window.complete(3);
  EXPECT_EQ(window.completed(), 0U);
  window.close();
  EXPECT_EQ(window.completed(), 5U);
  window.complete(4);  // comes late
  EXPECT_EQ(window.completed(), 5U);
  EXPECT_EQ(window.outstanding(), 0U);
}

TEST(OfiLibrary, IsNotLoadedBeforeItIsNeeded) {
  const std::unique_ptr<Conduit> conduit = make();
  EXPECT_EQ(dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

// Run by ctest with a libfabric.so.1 in the loader's path that is none: ofi_without_libfabric.
TEST(OfiLibrary, DISABLED_ConduitSaysThatItIsUnusable) {
  const Settings settings;
  Job job;
  job.settings = &settings;
  EXPECT_EQ(make()->open(job), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("libfabric cannot be loaded ("), std::string::npos)
      << error_detail();
}

TEST(OfiLibrary, SaysWhyItCannotBeLoaded) {
  Library library;
  EXPECT_EQ(library.load("libfabric-of-nowhere.so.1"), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("libfabric-of-nowhere.so.1: cannot open"),
            std::string::npos)
      << error_detail();
  EXPECT_EQ(library.load("libc.so.6"), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("is not libfabric"), std::string::npos) << error_detail();
}

}  // namespace
}  // namespace ompl::conduit::ofi
