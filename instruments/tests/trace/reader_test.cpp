// SPDX-License-Identifier: BSD-3-Clause
// The reader: what it makes of files, and what it says of wrong ones.
#include "trace/reader/reader.hpp"

#include <gtest/gtest.h>

#include "file_maker.hpp"

namespace ompl::trace {
namespace {

std::string refusal(FileMaker& maker) {
  const auto bytes = maker.bytes();
  try {
    const RankTrace trace("file", bytes);
    return "none";
  } catch (const TraceError& error) {
    return error.what();
  }
}

FileMaker whole() {
  FileMaker maker;
  maker.block(kDefinitions, 0, {world_of(2, 0)});
  maker.block(1, 0, {call_of(Kind::kInit, 1000, 2000, 1), call_of(Kind::kSend, 3000, 3500, 1)});
  return maker;
}

TEST(Reader, CallsOfThreadsInOrder) {
  FileMaker maker = whole();
  maker.block(2, 0, {call_of(Kind::kSend, 100, 200, 1)});
  std::vector<Record> full(kRecordsPerBlock, call_of(Kind::kSend, 200, 200, 1));
  maker.block(3, 1, {call_of(Kind::kRecv, 300, 400, 1)});  // blocks may lie in any order
  maker.block(3, 0, full);
  const auto bytes = maker.bytes();
  const RankTrace trace("file", bytes);
  ASSERT_EQ(trace.threads().size(), 3U);
  std::vector<std::size_t> counts;
  for (const StreamView& thread : trace.threads()) {
    std::size_t count = 0;
    Kind last{};
    trace.for_each_call(thread, [&](const CallView& view) {
      ++count;
      last = view.call->kind;
    });
    counts.push_back(count);
    EXPECT_EQ(last, thread.number == 3 ? Kind::kRecv : Kind::kSend);
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{2, 1, kRecordsPerBlock + 1}));
}

TEST(Reader, SideRecordsBelongToTheirCallAcrossBlocks) {
  FileMaker maker = whole();
  Ids ids{{7, 8, 9}, Kind::kIds, 3};
  Record match = call_of(Kind::kMatch, 0, 0);
  match.request = 10;
  Counts counts{{5, 6}, 1, Kind::kCounts, 2};
  std::vector<Record> full(kRecordsPerBlock, call_of(Kind::kWaitall, 200, 200, 1));
  maker.block(2, 0, full);
  maker.block(2, 1, {as_record(ids), match, as_record(counts), call_of(Kind::kWait, 300, 300)});
  const auto bytes = maker.bytes();
  const RankTrace trace("file", bytes);
  std::size_t with_sides = 0;
  trace.for_each_call(trace.threads()[1], [&](const CallView& view) {
    if (view.ids.empty()) return;
    ++with_sides;
    EXPECT_EQ(view.call->kind, Kind::kWaitall);
    EXPECT_EQ(view.ids, (std::vector<uint32_t>{7, 8, 9}));
    ASSERT_EQ(view.matches.size(), 1U);
    EXPECT_EQ(view.matches[0].request, 10U);
    EXPECT_EQ(view.received, (std::vector<uint64_t>{5, 6}));
    EXPECT_TRUE(view.sent.empty());
  });
  EXPECT_EQ(with_sides, 1U);
}

TEST(Reader, OnlyPublishedRecordsCount) {
  FileMaker maker = whole();
  auto bytes = maker.bytes();
  // A process that died between its stores: the sum of a third record is there, its count is not.
  auto* const block = reinterpret_cast<BlockHeader*>(bytes.data() + kHeaderBytes + kBlockBytes);
  ASSERT_EQ(block->published[0].used, 2U);
  block->published[1].sum = 12345;
  const RankTrace trace("file", bytes);
  EXPECT_EQ(trace.threads()[0].records, 2U);
}

TEST(Reader, TheClockIsCorrectedByItsTwoPoints) {
  FileMaker maker = whole();
  maker.header.clock[0] = {1000, 501000, 10, 1};
  maker.header.clock[1] = {1001001000, 1001401000, 70, 1};  // 1e9 + 1e6 of ours, 1e9 + 9e5 of theirs
  const auto bytes = maker.bytes();
  const RankTrace trace("file", bytes);
  EXPECT_EQ(trace.reference_ns(1000), 501000);
  EXPECT_EQ(trace.reference_ns(1001001000), 1001401000);
  EXPECT_NEAR(static_cast<double>(trace.reference_ns(500501000)), 500951000.0, 1.0);
  EXPECT_EQ(trace.reference_ns(0), 500000);
  EXPECT_EQ(trace.clock_uncertainty(), 70U);
}

TEST(Reader, AfterACrashTheHostsClockCorrects) {
  FileMaker maker = whole();
  maker.last_block().local = 1000001000;  // both began at 1000
  maker.last_block().host = 1000101000;
  const auto bytes = maker.bytes();
  const RankTrace trace("file", bytes);
  EXPECT_NEAR(static_cast<double>(trace.reference_ns(1000001000)), 1000101000.0, 1.0);
}

TEST(Reader, UnknownKindsArePassedOver) {
  FileMaker maker = whole();
  const auto opaque = static_cast<Kind>(777);
  const auto side = static_cast<Kind>(0x8077);
  maker.block(2, 0, {call_of(opaque, 1, 2), call_of(side, 0, 0), call_of(Kind::kSend, 3, 4, 1)});
  const auto bytes = maker.bytes();
  const RankTrace trace("file", bytes);
  std::vector<Group> groups;
  trace.for_each_call(trace.threads()[1],
                      [&](const CallView& view) { groups.push_back(group_of(view.call->kind)); });
  EXPECT_EQ(groups, (std::vector<Group>{Group::kOpaque, Group::kSend}));
  EXPECT_EQ(name_of(opaque), nullptr);
}

TEST(Reader, WrongHeadersAreNamed) {
  const auto with = [](auto change) {
    FileMaker maker = whole();
    change(maker.header);
    return refusal(maker);
  };
  EXPECT_EQ(with([](FileHeader& header) { header.version = 2; }), "file: version 2; this tool reads 1");
  EXPECT_EQ(with([](FileHeader& header) { header.ranks = 0; }), "file: rank 0 of 0");
  EXPECT_EQ(with([](FileHeader& header) { header.rank = 2; }), "file: rank 2 of 2");
  EXPECT_EQ(with([](FileHeader& header) { header.record_bytes = 40; }).substr(0, 23),
            "file: records of 40 byt");
  EXPECT_EQ(with([](FileHeader& header) { header.clock[0].known = 0; }), "file: no clock point");
  EXPECT_EQ(with([](FileHeader& header) {
              header.clock[1] = {UINT64_MAX, 5, 0, 1};
            }),
            "file: a clock point that is none");
  EXPECT_EQ(with([](FileHeader& header) {
              header.clock[1] = {2000000, 1, 0, 1};
            }),
            "file: its clock points cannot be of clocks");
  EXPECT_EQ(with([](FileHeader& header) { header.state = static_cast<State>(9); }), "file: state 9");
  EXPECT_EQ(with([](FileHeader& header) { std::memset(header.host, 'x', sizeof header.host); }),
            "file: a text of the header has no end");
  EXPECT_EQ(with([](FileHeader& header) { header.blocks = UINT64_MAX; }),
            "file: truncated: 18446744073709551615 blocks were begun, 2 are there");
}

TEST(Reader, WrongBlocksAreNamed) {
  FileMaker twice = whole();
  twice.block(1, 0, {call_of(Kind::kSend, 5000, 5000, 1)});
  EXPECT_EQ(refusal(twice), "file: block 2: stream 1 has two of number 0");
  twice.last_block().reused = 1;  // but for the copy of a block that is used again
  const std::vector<std::byte> copied = twice.bytes();
  EXPECT_EQ(RankTrace("file", copied).threads().at(0).records, 2U);
  FileMaker gap = whole();
  gap.block(1, 2, {call_of(Kind::kSend, 5000, 5000, 1)});
  EXPECT_EQ(refusal(gap), "file: stream 1 lacks block 1");
  FileMaker many = whole();
  many.last_block().published[0] = {kRecordsPerBlock + 1, 0};
  EXPECT_EQ(refusal(many), "file: block 1: 5461 records");
  FileMaker late = whole();
  late.last_block().host = UINT64_MAX;
  EXPECT_EQ(refusal(late), "file: block 1: a time that is none");
}

TEST(Reader, WrongRecordsAreNamed) {
  const auto with = [](std::vector<Record> records) {
    FileMaker maker = whole();
    maker.block(2, 0, std::move(records));
    return refusal(maker);
  };
  EXPECT_EQ(with({call_of(Kind::kSend, 9, 8, 1)}),
            "file: thread 2, record 1: from 9 to 8 ns, after one that ended at 0");
  EXPECT_EQ(with({call_of(Kind::kSend, 5, 8, 1), call_of(Kind::kSend, 7, 9, 1)}),
            "file: thread 2, record 2: from 7 to 9 ns, after one that ended at 8");
  EXPECT_EQ(with({call_of(Kind::kSend, 5, UINT64_MAX, 1)}).substr(0, 28),
            "file: thread 2, record 1: fr");
  EXPECT_EQ(with({call_of(Kind::kSend, 5, 8, 6)}),
            "file: thread 2, record 1: communicator 6 is not defined");
  EXPECT_EQ(with({call_of(Kind::kPut, 5, 8, 1)}), "file: thread 2, record 1: window 1 is not defined");
  EXPECT_EQ(with({call_of(Kind::kMatch, 0, 0)}), "file: thread 2 begins with a side record");
  EXPECT_EQ(with({world_of(2, 0)}), "file: thread 2, record 1: a definition");
  const Ids ids{{}, Kind::kIds, 12};
  EXPECT_EQ(with({call_of(Kind::kWaitall, 1, 1), as_record(ids)}),
            "file: thread 2, record 2: too many numbers");
  const Counts counts{{}, 0, Kind::kCounts, 6};
  EXPECT_EQ(with({call_of(Kind::kAlltoallv, 1, 1), as_record(counts)}),
            "file: thread 2, record 2: too many numbers");
}

TEST(Reader, WrongDefinitionsAreNamed) {
  const auto with = [](std::vector<Record> records, State state = State::kFinalized) {
    FileMaker maker;
    maker.header.state = state;
    maker.block(kDefinitions, 0, std::move(records));
    return refusal(maker);
  };
  EXPECT_EQ(with({world_of(4000000000U, 0)}),
            "file: communicator 1: 4000000000 ranks, which it does not name");
  CommunicatorDefinition few{};
  few.id = 3;
  few.size = 5;
  few.members = 1;
  few.kind = Kind::kCommunicator;
  const Ids ids{{0, 1, 2}, Kind::kIds, 3};
  EXPECT_EQ(with({as_record(few), as_record(ids)}), "file: communicator 3 lacks ranks");
  EXPECT_EQ(with({as_record(few)}, State::kRunning), "none");  // a crash came between
  Text text{};
  text.kind = Kind::kText;
  text.count = 41;
  EXPECT_EQ(with({as_record(text)}), "file: text 0: a piece of 41 characters");
  EXPECT_EQ(with({call_of(Kind::kSend, 1, 2)}), "file: kind 10 among the definitions");
}

}  // namespace
}  // namespace ompl::trace
