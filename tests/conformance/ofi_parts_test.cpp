// SPDX-License-Identifier: BSD-3-Clause
// The parts of the ofi conduit that need no network: addresses, the completion window, loading.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "conduit/completion_window.hpp"
#include "conduit/ofi/address.hpp"
#include "conduit/ofi/conduit.hpp"
#include "conduit/ofi/library.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

Address sample(std::size_t ip_bytes, std::size_t slots) {
  Address out{
      .provider = "tcp", .ip = std::string(ip_bytes, '\7'), .base = 0x123456789ABCDEF0, .slots = {}};
  for (std::size_t i = 0; i < slots; ++i) {
    out.slots.push_back({.port = static_cast<uint16_t>(1000 + i), .key = 0xFEDCBA9876543210 + i});
  }
  return out;
}

TEST(OfiAddress, SurvivesTheJourney) {
  for (std::size_t ip_bytes : {4U, 16U}) {
    const Address sent = sample(ip_bytes, 5);
    Address got;
    ASSERT_EQ(got.parse(sent.encode()), nullptr);
    EXPECT_EQ(got.encode(), sent.encode());
    Address::Slot slot;
    Address again;
    ASSERT_TRUE(again.take(got.listener(got.slots[3]), &slot));
    EXPECT_EQ(again.ip, sent.ip);
    EXPECT_EQ(slot.port, 1003);
  }
}

TEST(OfiAddress, NoPartOfAnAddressIsAnAddress) {
  const std::string good = sample(4, 3).encode();
  for (std::size_t length = 0; length < good.size(); ++length) {
    Address got;
    EXPECT_NE(got.parse(std::string_view(good).substr(0, length)), nullptr) << length;
    EXPECT_TRUE(got.slots.empty());
  }
  Address got;
  EXPECT_NE(got.parse(good + '\0'), nullptr);
}

// Whatever comes, the parser says yes only to what encodes to the same bytes.
TEST(OfiAddress, GarbageIsRefusedOrHarmless) {
  std::mt19937 random(20240229);
  const std::string good = sample(16, 4).encode();
  int accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = good;
    if (round % 4 == 0) {
      text.resize(random() % 200);
      for (char& c : text) c = static_cast<char>(random());
      if (round % 8 == 0) text.replace(0, std::min<std::size_t>(4, text.size()), "OFI1");
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
