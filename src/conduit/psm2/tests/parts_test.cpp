// SPDX-License-Identifier: BSD-3-Clause
// The parts of the psm2 conduit that need no PSM2: addresses, loading.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <vector>

#include "conduit/psm2/address.hpp"
#include "conduit/psm2/library.hpp"
#include "conduit/registry.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::psm2 {
namespace {

const std::string kSecret = "a secret";

Address sample() {
  return {.challenge = 0x123456789ABCDEF0,
          .by_memory = true,
          .memory = 7,
          .host = {.network = 9, .list = {{.ip = std::string(4, '\3')}}},
          .port = 4711,
          .slots = {1, 0xFFFF'FFFF'0000, 3}};
}

TEST(Psm2Address, SurvivesTheJourney) {
  Address got;
  ASSERT_EQ(got.parse(sample().encode(kSecret), kSecret), nullptr);
  EXPECT_EQ(got.encode(kSecret), sample().encode(kSecret));
  EXPECT_EQ(got.slots, sample().slots);
  EXPECT_TRUE(got.by_memory);
  EXPECT_EQ(got.port, 4711);
}

TEST(Psm2Address, NoPartOfAnAddressIsAnAddress) {
  const std::string good = sample().encode(kSecret);
  for (std::size_t length = 0; length < good.size(); ++length) {
    Address got;
    EXPECT_NE(got.parse(std::string_view(good).substr(0, length), kSecret), nullptr) << length;
    EXPECT_TRUE(got.slots.empty());
  }
  Address got;
  EXPECT_NE(got.parse(good + '\0', kSecret), nullptr);
}

TEST(Psm2Address, ChangedBytesAndOtherSecretsAreRefused) {
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

TEST(Psm2Library, IsNotLoadedBeforeItIsNeeded) {
  const std::unique_ptr<Conduit> conduit = make();
  EXPECT_EQ(dlopen("libpsm2.so.2", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(Psm2Library, SaysWhyItCannotBeLoaded) {
  Library library;
  EXPECT_EQ(library.load(Devices::memory, "libpsm2-of-nowhere.so.2"), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("libpsm2-of-nowhere.so.2: cannot open"), std::string::npos)
      << error_detail();
  EXPECT_EQ(library.load(Devices::memory, "libc.so.6"), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("it is not PSM2"), std::string::npos) << error_detail();
}

std::vector<void (*)(int)> signal_handlers() {
  std::vector<void (*)(int)> out;
  for (int number = 1; number < 32; ++number) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    out.push_back(action.sa_handler);
  }
  return out;
}

// It takes SIGTERM, SIGINT and the signals of errors as soon as it is loaded.
TEST(Psm2Library, LeavesSignalsAlone) {
  const auto before = signal_handlers();
  setenv("PSM2_DEVICES", "self,shm", 1);
  Library library;
  if (library.load(Devices::memory) != OMPL_OK) GTEST_SKIP() << error_detail();
  PsmOpened first;
  PsmOpened second;
  ASSERT_EQ(library.open(Devices::memory, {}, &first), OMPL_OK) << error_detail();
  ASSERT_EQ(library.open(Devices::memory, {}, &second), OMPL_OK) << error_detail();
  EXPECT_NE(first.number, second.number) << "they would share one memory";
  EXPECT_TRUE(signal_handlers() == before);
}

TEST(Psm2Library, KnowsWhetherAProcessMayHaveSeveralEndpoints) {
  unsetenv("PSM2_MULTI_EP");
  EXPECT_TRUE(Library::allows_several());
  for (const char* const yes : {"1", "y", "YES", "2"}) {
    setenv("PSM2_MULTI_EP", yes, 1);
    EXPECT_TRUE(Library::allows_several()) << yes;
  }
  for (const char* const no : {"0", "no", "N", "", "false"}) {
    setenv("PSM2_MULTI_EP", no, 1);
    EXPECT_FALSE(Library::allows_several()) << no;
    EXPECT_EQ(make()->capabilities().max_endpoints, 1U);
  }
  unsetenv("PSM2_MULTI_EP");
}

// Nothing is loaded for that.
TEST(Psm2Conduit, WithoutACardSaysWhatToDo) {
  Settings settings;
  if (settings.names_conduit("psm2")) GTEST_SKIP() << "there is a card of Omni-Path";
  for (const char* const devices : {"", "self,shm,hfi"}) {
    settings.psm2_devices = devices;
    Job job;
    job.settings = &settings;
    EXPECT_EQ(make()->open(job), OMPL_ERR_UNSUPPORTED);
    EXPECT_NE(std::string(error_detail()).find("no Omni-Path card"), std::string::npos)
        << error_detail();
  }
}

}  // namespace
}  // namespace ompl::conduit::psm2
