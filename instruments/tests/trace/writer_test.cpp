// SPDX-License-Identifier: BSD-3-Clause
// The part of the interposer that knows no MPI: many threads record, and the reader reads what each did.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>
#include <vector>

#include "file_maker.hpp"
#include "trace/reader/folder.hpp"
#include "trace/writer/tracer.hpp"

namespace ompl::trace {
namespace {

constexpr int kThreads = 4;
constexpr uint32_t kCalls = 3 * kRecordsPerBlock / 2;

// The process's one tracer, in a folder of its own.
class Writer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = std::filesystem::temp_directory_path() / ("ompl_trace_writer." + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    tracer.clock.start();
    tracer.clock.calibrate();
    FileMaker maker(1);
    maker.bytes();  // for the header's sum
    ASSERT_TRUE(tracer.start(folder.c_str(), maker.header));
    tracer.definitions.append(world_of(1, 0));
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static std::filesystem::path folder;
};

std::filesystem::path Writer::folder;

TEST_F(Writer, ThreadsRecordAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      Thread* const thread = tracer.add_thread();
      ASSERT_NE(thread, nullptr);
      for (uint32_t call = 0; call < kCalls; ++call) {
        const uint64_t now = tracer.clock.ns(tracer.clock.ticks());
        Record record = call_of(Kind::kSend, now, now, 1);
        record.request = thread->request_id();
        record.bytes = call;
        record.site = thread->site_id(0x1000 + 16 * (call % 300));
        record.begin = record.end = tracer.clock.ns(tracer.clock.ticks());
        thread->stream.append(record);
        thread->stream.settle();
      }
    });
  }
  for (auto& thread : threads) thread.join();

  const auto files = rank_files(folder);
  ASSERT_EQ(files.size(), 1U);
  const MappedFile file(files[0]);
  const RankTrace trace("file", file.bytes());
  ASSERT_EQ(trace.threads().size(), static_cast<std::size_t>(kThreads));
  EXPECT_EQ(trace.sites().size(), 300U);
  EXPECT_EQ(trace.header().lost, 0U);
  std::vector<uint32_t> requests;
  for (const StreamView& thread : trace.threads()) {
    uint64_t next = 0;
    trace.for_each_call(thread, [&](const CallView& view) {
      if (view.call->kind == Kind::kTracer) return;
      EXPECT_EQ(view.call->bytes, next++);
      EXPECT_EQ(trace.sites().at(view.call->site).offset, 0x1000 + 16 * (view.call->bytes % 300));
      requests.push_back(view.call->request);
    });
    EXPECT_EQ(next, kCalls);
  }
  std::sort(requests.begin(), requests.end());
  EXPECT_NE(requests.front(), 0U);
  EXPECT_EQ(std::adjacent_find(requests.begin(), requests.end()), requests.end())
      << "an id was given twice";
}

TEST_F(Writer, TestsThatFindNothingBecomeOneRecord) {
  Thread* const thread = tracer.add_thread();
  const auto test = [&](uint64_t begin, uint32_t site) {
    Record record = call_of(Kind::kTest, begin, begin + 10);
    record.site = site;
    thread->stream.append_idle(record);
  };
  for (uint64_t i = 0; i < 1000; ++i) test(100 + 20 * i, 1);  // the first alone, 999 together
  test(30000, 1);                                             // later
  test(30020, 2);                                             // elsewhere
  for (uint64_t i = 0; i < 5; ++i) test(30040 + 20 * i, 2);
  thread->stream.append(call_of(Kind::kSend, 40000, 40001, 1));
  test(50000, 2);
  test(50020, 2);
  Tracer::remove_thread(thread);

  const MappedFile file(rank_files(folder)[0]);
  const RankTrace trace("file", file.bytes());
  std::vector<std::array<uint64_t, 4>> seen;
  trace.for_each_call(trace.threads().back(), [&](const CallView& view) {
    seen.push_back({view.call->begin, view.call->end, view.call->bytes, view.call->flags});
  });
  const std::vector<std::array<uint64_t, 4>> expected{
      {100, 110, 0, 0},     {120, 20090, 999, kRepeated}, {30000, 30010, 0, 0},
      {30020, 30030, 0, 0}, {30040, 30130, 5, kRepeated}, {40000, 40001, 0, 0},
      {50000, 50010, 0, 0}, {50020, 50030, 1, kRepeated},
  };
  EXPECT_EQ(seen, expected);
}

TEST_F(Writer, ALoopThatLooksFromSeveralPlacesIsOneRecord) {
  Thread* const thread = tracer.add_thread();
  uint64_t now = 0;
  const auto look = [&](Kind kind, uint32_t site, int32_t peer) {
    Record record = call_of(kind, now + 20, now + 30);
    record.site = site;
    record.peer = peer;
    now += 30;
    thread->stream.append_idle(record);
  };
  for (int turn = 0; turn < 1000; ++turn) {
    look(Kind::kIprobe, 1, turn % 40);
    look(Kind::kTestall, 2, kNoPeer);
    look(Kind::kTest, 3, kNoPeer);
  }
  thread->stream.append(call_of(Kind::kSend, now + 20, now + 30, 1));
  now += 30;
  look(Kind::kTest, 3, kNoPeer);
  for (uint32_t site = 1; site <= 40; ++site) look(Kind::kTest, site, kNoPeer);
  Tracer::remove_thread(thread);

  const MappedFile file(rank_files(folder)[0]);
  const RankTrace trace("file", file.bytes());
  std::vector<const Record*> seen;
  uint64_t calls = 0;
  trace.for_each_call(trace.threads().back(), [&](const CallView& view) {
    seen.push_back(view.call);
    calls += (view.call->flags & kRepeated) != 0 ? view.call->bytes : 1;
  });
  EXPECT_EQ(calls, 3000U + 1 + 41);
  ASSERT_GT(seen.size(), 5U);
  EXPECT_EQ(seen[3]->bytes, 2997U);  // behind the first of each place
  EXPECT_EQ(seen[3]->end - seen[3]->begin, 2997U * 30 - 20);
  EXPECT_EQ(seen[4]->kind, Kind::kSend);
}

class WriterRequests : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(requests.create(true)); }
  static Posted posted_of(uint32_t id, const void* where, const SharedSends& own, uint16_t flags = 0) {
    Posted posted{};
    posted.id = id;
    posted.where = where;
    posted.thread = &own;
    posted.flags = flags;
    return posted;
  }

  Requests requests;
  SharedSends own{};
  Posted out{};
};

TEST_F(WriterRequests, RequestsAreFoundByTheirHandles) {
  const uint64_t pointer = 0x7f0000001240;
  EXPECT_FALSE(requests.take(5, nullptr, own, out));
  EXPECT_TRUE(requests.add(5, posted_of(1, nullptr, own), own));
  EXPECT_TRUE(requests.add(pointer, posted_of(2, nullptr, own), own));
  EXPECT_TRUE(
      requests.add(5 + (uint64_t{1} << 20), posted_of(3, nullptr, own), own));  // the same place
  EXPECT_TRUE(requests.take(5, nullptr, own, out));
  EXPECT_EQ(out.id, 1U);
  EXPECT_TRUE(requests.take(5 + (uint64_t{1} << 20), nullptr, own, out));
  EXPECT_EQ(out.id, 3U);
  EXPECT_TRUE(requests.take(pointer, nullptr, own, out));
  EXPECT_EQ(out.id, 2U);
  EXPECT_FALSE(requests.take(pointer, nullptr, own, out));
}

TEST_F(WriterRequests, PersistentRequestsStayAndAreCompleteOncePerStart) {
  requests.add(9, posted_of(4, nullptr, own, Posted::kPersistent), own);
  EXPECT_FALSE(requests.take(9, nullptr, own, out));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(requests.mark(9, Posted::kStarted), 4U);
    EXPECT_TRUE(requests.take(9, nullptr, own, out));
    EXPECT_EQ(out.id, 4U);
    EXPECT_FALSE(requests.take(9, nullptr, own, out));
  }
  EXPECT_TRUE(requests.remove(9, nullptr, own, out));
  EXPECT_EQ(requests.mark(9, Posted::kStarted), 0U);
}

TEST_F(WriterRequests, SendsWithOneHandleAreToldApartByTheirVariablesAndElseByOrder) {
  std::array<int, 300> at{};
  for (uint32_t i = 0; i < at.size(); ++i) requests.add(7, posted_of(i + 1, &at[i], own), own);
  requests.take(7, &at[20], own, out);
  EXPECT_EQ(out.id, 21U);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i + 1 < at.size(); ++i) {
    ASSERT_TRUE(requests.take(7, nullptr, own, out));
    order.push_back(out.id);
  }
  std::vector<uint32_t> expected;
  for (uint32_t i = 1; i <= at.size(); ++i) {
    if (i != 21) expected.push_back(i);
  }
  EXPECT_EQ(order, expected);
  EXPECT_FALSE(requests.take(7, nullptr, own, out));
  requests.add(7, posted_of(1000, &at[0], own), own);
  EXPECT_TRUE(requests.take(7, &at[0], own, out));
  EXPECT_EQ(out.id, 1000U);
}

TEST_F(WriterRequests, ThreadsPostAndCompleteAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SharedSends mine{};
      Posted taken{};
      for (uint32_t i = 0; i < 20000; ++i) {
        const uint64_t handle = 16 + kThreads * (i % 50) + t;
        if (!requests.add(handle, posted_of(i + 1, nullptr, mine), mine)) ++wrong;
        if (!requests.take(handle, nullptr, mine, taken) || taken.id != i + 1) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Writer, TheClockGoesWithTheHosts) {
  for (int i = 0; i < 5; ++i) {
    const Clock::Pair pair = tracer.clock.pair();
    const auto apart = static_cast<int64_t>(tracer.clock.ns(pair.ticks) - pair.ns);
    EXPECT_LT(std::abs(apart), 1000000) << "1 ms within a test of a second";
  }
  uint64_t before = 0;
  for (int i = 0; i < 100000; ++i) {
    const uint64_t now = tracer.clock.ns(tracer.clock.ticks());
    ASSERT_GE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace ompl::trace
