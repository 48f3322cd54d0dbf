// SPDX-License-Identifier: BSD-3-Clause
// Parts of the utofu conduit by themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "conduit/utofu/address.hpp"
#include "conduit/utofu/library.hpp"
#include "conduit/utofu/link.hpp"
#include "omnipgas/ompl.h"
#include "util/status.hpp"

namespace ompl::conduit::utofu {
namespace {

TEST(UtofuAddress, ComesBackAsItWas) {
  const Address sent{.slots = {1, UINT64_MAX, 42}};
  Address read;
  EXPECT_EQ(read.parse(sent.encode("secret"), "secret"), nullptr);
  EXPECT_EQ(read.slots, sent.slots);
}

TEST(UtofuAddress, IsRefusedIfAnythingIsWrong) {
  const Address sent{.slots = {1, 2}};
  const std::string good = sent.encode("secret");
  Address read{.slots = {7}};
  EXPECT_STREQ(read.parse("", "secret"), kNotAnAddress);
  EXPECT_STREQ(read.parse(good.substr(0, good.size() - 1), "secret"), "an address of the wrong length");
  EXPECT_STREQ(read.parse(good + "x", "secret"), "an address of the wrong length");
  EXPECT_NE(std::strstr(read.parse(good, "another"), "another job's"), nullptr);
  std::string changed = good;
  changed[12] = static_cast<char>(changed[12] + 1);
  EXPECT_NE(std::strstr(read.parse(changed, "secret"), "changed on its way"), nullptr);
  EXPECT_STREQ(read.parse(Address{}.encode("secret"), "secret"), "an address without endpoints");
  EXPECT_EQ(read.slots, std::vector<uint64_t>{7}) << "untouched";
}

TEST(UtofuLibrary, IsMissedInWords) {
  Library library;
  EXPECT_EQ(library.load("libno-such-tofu.so"), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::strstr(error_detail(), "this machine has no Tofu interconnect"), nullptr)
      << error_detail();
  EXPECT_EQ(library.load("libc.so.6"), OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::strstr(error_detail(), "libc.so.6 has no utofu_"), nullptr) << error_detail();
}

TEST(UtofuRecord, IsKnownByItsNumberAlsoWhereThatWrapsAround) {
  Record record{.tail = Record::tail_of(3, Function::bit_or)};
  record.tail |= Record::numbered(129);
  EXPECT_EQ(record.op(), 3);
  EXPECT_EQ(record.function(), Function::bit_or);
  EXPECT_TRUE(Record::is_numbered(record.tail, 129));
  EXPECT_FALSE(Record::is_numbered(record.tail, 129 - kRing));
  EXPECT_TRUE(Record::is_numbered(Record::numbered(uint64_t{1} << 32), uint64_t{1} << 32));
}

TEST(UtofuOperations, AreAsManyAsOneByteTellsApart) {
  VcqOperationPool operations;
  VcqLink link(1);
  std::vector<VcqOperation*> taken;
  for (std::size_t i = 0; i < 256; ++i) taken.push_back(&operations.take(link));
  EXPECT_TRUE(operations.full());
  std::vector<bool> seen(256);
  for (VcqOperation* each : taken) seen.at(each->number) = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 256);
  operations.give_back(*taken[17]);
  EXPECT_EQ(&operations.take(link), taken[17]);
}

TEST(UtofuBoard, PlacesDoNotOverlap) {
  constexpr uint32_t kJob = 3;
  EXPECT_GE(Board::reply(0), Board::kHeartbeat + sizeof(uint64_t));
  EXPECT_GE(Board::greeting(kJob, 0), Board::reply(kJob));
  EXPECT_EQ(Board::greeting(kJob, 0) % sizeof(BoardGreeting), 0U);
  EXPECT_EQ(Board::size(kJob), Board::greeting(kJob, kJob * kLanes));
}

}  // namespace
}  // namespace ompl::conduit::utofu
