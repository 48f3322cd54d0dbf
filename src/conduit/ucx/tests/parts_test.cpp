// SPDX-License-Identifier: BSD-3-Clause
// The parts of the ucx conduit that need no network: addresses, messages, loading.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <random>

#include "conduit/registry.hpp"
#include "conduit/ucx/address.hpp"
#include "conduit/ucx/library.hpp"
#include "conduit/ucx/wire.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ucx {
namespace {

const std::string kSecret = "a secret";

Address sample() {
  return {.version = "1.13",
          .host = {.network = 9, .list = {{.ip = std::string(4, '\3')}}},
          .base = 0x123456789ABCDEF0,
          .networks = {{.ip = std::string(4, '\3'),
                        .key = std::string("a\0key", 5),
                        .slots = {"first", std::string(100, '\7'), "third"},
                        .ports = {4711, 0, 1}},
                       {.ip = {}, .key = "b", .slots = {"one", "two", "three"}, .ports = {1, 2, 3}}}};
}

TEST(UcxAddress, SurvivesTheJourney) {
  Address got;
  ASSERT_EQ(got.parse(sample().encode(kSecret), kSecret), nullptr);
  EXPECT_EQ(got.encode(kSecret), sample().encode(kSecret));
  ASSERT_EQ(got.networks.size(), 2U);
  EXPECT_EQ(got.networks[0].slots, sample().networks[0].slots);
  EXPECT_EQ(got.networks[1].ports, sample().networks[1].ports);
}

TEST(UcxAddress, NoPartOfAnAddressIsAnAddress) {
  const std::string good = sample().encode(kSecret);
  for (std::size_t length = 0; length < good.size(); ++length) {
    Address got;
    EXPECT_NE(got.parse(std::string_view(good).substr(0, length), kSecret), nullptr) << length;
    EXPECT_EQ(got.slots(), 0U);
  }
  Address got;
  EXPECT_NE(got.parse(good + '\0', kSecret), nullptr);
}

// Counts are outside bytes: the work that they ask for is bounded by the address's own length.
TEST(UcxAddress, OfNoEndpointsIsRefusedAtOnce) {
  Address empty = sample();
  for (WorkerAddresses& network : empty.networks) network.slots.clear();
  std::string text = empty.encode(kSecret);
  Address got;
  EXPECT_NE(got.parse(text, kSecret), nullptr);
  const std::string two("\2\0\0\0", 4);  // networks, after no slots
  const std::size_t at = text.find(std::string(4, '\0') + two);
  ASSERT_NE(at, std::string::npos);
  text.replace(at + 4, 4, "\xff\xff\xff\xff");
  EXPECT_NE(got.parse(text, kSecret), nullptr);
}

// What passes is handed to UCX, which believes it.
TEST(UcxAddress, ChangedBytesAndOtherSecretsAreRefused) {
  std::mt19937 random(20240229);
  const std::string good = sample().encode(kSecret);
  Address got;
  for (int round = 0; round < 100'000; ++round) {
    std::string text = good;
    for (unsigned i = 0; i <= random() % 4; ++i)
      text[random() % text.size()] = static_cast<char>(random());
    if (text == good) continue;
    ASSERT_NE(got.parse(text, kSecret), nullptr);
  }
  EXPECT_NE(got.parse(good, "another secret"), nullptr);
}

TEST(UcxWire, CookiesDifferBySecretSourceTargetAndChallenge) {
  EXPECT_EQ(cookie(kSecret, 1, 2, 7), cookie(kSecret, 1, 2, 7));
  EXPECT_NE(cookie(kSecret, 1, 2, 7), cookie(kSecret, 2, 1, 7));
  EXPECT_NE(cookie(kSecret, 1, 2, 7), cookie(kSecret, 1, 3, 7));
  EXPECT_NE(cookie(kSecret, 1, 2, 7), cookie(kSecret, 1, 2, 8));
  EXPECT_NE(cookie(kSecret, 1, 2, 7), cookie("another secret", 1, 2, 7));
}

TEST(UcxLibrary, IsNotLoadedBeforeItIsNeeded) {
  const std::unique_ptr<Conduit> conduit = make();
  EXPECT_EQ(dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

// Run by ctest with a libucp.so.0 in the loader's path that is none: ucx_without_ucx.
TEST(UcxLibrary, DISABLED_ConduitSaysThatItIsUnusable) {
  const Settings settings;
  Job job;
  job.settings = &settings;
  EXPECT_EQ(make()->open(job), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("UCX cannot be loaded ("), std::string::npos)
      << error_detail();
}

TEST(UcxLibrary, SaysWhyItCannotBeLoaded) {
  Library library;
  EXPECT_EQ(library.load("libucp-of-nowhere.so.0"), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("libucp-of-nowhere.so.0: cannot open"), std::string::npos)
      << error_detail();
  EXPECT_EQ(library.load("libc.so.6"), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("is not UCX"), std::string::npos) << error_detail();
}

}  // namespace
}  // namespace ompl::conduit::ucx
