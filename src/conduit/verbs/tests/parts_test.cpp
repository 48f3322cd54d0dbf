// SPDX-License-Identifier: BSD-3-Clause
// Parts of the verbs conduit that need no device: addresses, the table of regions.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "conduit/verbs/address.hpp"
#include "conduit/verbs/memory.hpp"
#include "conduit/verbs/resources.hpp"

namespace ompl::conduit::verbs {
namespace {

Address sample() {
  Address address;
  for (uint8_t i = 0; i < 16; ++i) address.gid.raw[i] = i;
  address.lid = 7;
  address.ethernet = 1;
  address.qkey = 0x1234;
  address.segment = 0x7f0000000000;
  address.keys = 0x7f1000000000;
  address.keys_key = 99;
  address.host = {.network = 9, .list = {{.ip = std::string("\x7f\0\0\x01", 4)}}};
  address.liveness_port = 4711;
  address.slots = {17, 18, 0xFFFFFF};
  return address;
}

TEST(VerbsAddress, ComesBack) {
  const Address sent = sample();
  Address read;
  ASSERT_EQ(read.parse(sent.encode()), nullptr);
  EXPECT_EQ(read.encode(), sent.encode());
  EXPECT_EQ(read.slots, sent.slots);
  EXPECT_EQ(read.host.encode(), sent.host.encode());
  EXPECT_LT(sent.encode().size(), 100U) << "a launcher may carry 10,000 of them";
}

TEST(VerbsAddress, OfXrcComesBackWithItsReceiveQueues) {
  Address sent = sample();
  sent.transport = Transport::xrc;
  sent.node = 0x123456789ABCDEF0;
  sent.queues = {5, 6, 7};
  Address read;
  ASSERT_EQ(read.parse(sent.encode()), nullptr);
  EXPECT_EQ(read.transport, Transport::xrc);
  EXPECT_EQ(read.node, sent.node);
  EXPECT_EQ(read.queues, sent.queues);
  sent.queues.back() = 0x1000000;
  EXPECT_STREQ(read.parse(sent.encode()), "the number of a receive queue is too large");
  sent.queues.pop_back();
  EXPECT_STREQ(read.parse(sent.encode()), "of a wrong length");
}

TEST(VerbsAddress, WhatIsCutOffOrTooLongIsRefused) {
  const std::string whole = sample().encode();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Address read;
    EXPECT_NE(read.parse(whole.substr(0, length)), nullptr) << length;
    EXPECT_TRUE(read.slots.empty());
  }
  Address read;
  EXPECT_NE(read.parse(whole + '\0'), nullptr);
  Address none = sample();
  none.slots.clear();
  EXPECT_STREQ(read.parse(none.encode()), "of a wrong length");
  Address large = sample();
  large.slots.back() = 0x1000000;
  EXPECT_STREQ(read.parse(large.encode()), "a queue pair number is too large");
}

TEST(VerbsAddress, AnyBytesAreRefusedOrWellFormed) {
  std::mt19937 random(1);
  const std::string whole = sample().encode();
  unsigned refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i <= random() % 3; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    Address read;
    if (read.parse(bytes) != nullptr) {
      ++refused;
    } else {
      EXPECT_EQ(read.encode(), bytes);
    }
  }
  EXPECT_GT(refused, 1000U);
}

int destroyed = 0;
Owned<ibv_mr> region(uint32_t key) {
  auto memory = std::make_unique<ibv_mr>();
  memory->lkey = key;
  return {memory.release(), [](ibv_mr* gone) {
            delete gone;
            return ++destroyed;
          }};
}

TEST(VerbsMemory, GrowsWithWhatATransportConnects) {
  const JobLayout small{.nodes = 2, .ranks_per_node = 1, .endpoints = 1};
  EXPECT_EQ(connection_memory(Transport::rc, small), kConnectionBytes);
  const JobLayout large{.nodes = 1000, .ranks_per_node = 64, .endpoints = 8};
  EXPECT_EQ(connection_memory(Transport::rc, large), 8 * 999 * 64 * kConnectionBytes);
  EXPECT_LT(connection_memory(Transport::xrc, large), connection_memory(Transport::rc, large) / 10);
  EXPECT_LT(connection_memory(Transport::dc, large), connection_memory(Transport::xrc, large));
  for (const Transport transport : {Transport::rc, Transport::xrc, Transport::dc}) {
    JobLayout fits = large;
    fits.endpoints = affordable_endpoints(transport, large, uint64_t{8} << 30);
    EXPECT_LE(connection_memory(transport, fits), uint64_t{8} << 30);
    ++fits.endpoints;
    EXPECT_GT(connection_memory(transport, fits), uint64_t{8} << 30);
  }
}

TEST(VerbsRegions, FindWhatIsThereAndNothingElse) {
  PinnedRegions regions;
  EXPECT_EQ(regions.find(8192, 1, 0), PinnedRegions::kNone);
  ASSERT_EQ(regions.add(8192, 12288, region(5)), 0);
  ASSERT_EQ(regions.add(12288, 12289, region(6)), 1);
  EXPECT_EQ(regions.find(8192, 4096, 0), 0);
  EXPECT_EQ(regions.find(12288, 1, 0), 1);
  EXPECT_EQ(regions.local_key(1), 6U);
  EXPECT_EQ(regions.find(8191, 2, 0), PinnedRegions::kNone);
  EXPECT_EQ(regions.find(12287, 2, 0), PinnedRegions::kNone) << "it lies in two";
  EXPECT_EQ(regions.find(12289, 1, 0), PinnedRegions::kNone);
  EXPECT_EQ(regions.find(8192, SIZE_MAX, 0), PinnedRegions::kNone);
  const uint32_t before = regions.generation(0);
  EXPECT_EQ(regions.remove(8192), 0);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(regions.find(8192, 1, 0), PinnedRegions::kNone);
  EXPECT_EQ(regions.remove(8192), PinnedRegions::kNone);
  ASSERT_EQ(regions.add(8192, 8448, region(7)), 0) << "the first free place";
  EXPECT_NE(regions.generation(0), before);
  EXPECT_EQ(regions.begin(0), 8192U);
}

TEST(VerbsRegions, HaveAnEnd) {
  PinnedRegions regions;
  for (uint64_t i = 0; i < PinnedRegions::kMax; ++i)
    ASSERT_NE(regions.add(i, i + 1, region(1)), PinnedRegions::kNone);
  EXPECT_EQ(regions.add(1 << 20, 1 << 21, region(1)), PinnedRegions::kNone);
}

}  // namespace
}  // namespace ompl::conduit::verbs
