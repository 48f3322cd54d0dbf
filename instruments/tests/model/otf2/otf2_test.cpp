// SPDX-License-Identifier: BSD-3-Clause
// Archives as Score-P writes them, made with the OTF2 library alone: what is read of them, and what is refused.
#include <gtest/gtest.h>
#include <otf2/otf2.h>

#include <filesystem>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "model/readers/otf2/sizes.hpp"
#include "model/readers/otf2/trace.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

// Regions by number.
enum Region : uint32_t {
  main_,
  solve,
  init,
  finalize,
  send,
  recv,
  isend,
  irecv,
  waitall,
  bcast,
  iallreduce,
  test,
  put,
  comm_rank,
  ssend,
  count
};
constexpr const char* kNames[] = {"main",        "solve",         "MPI_Init",       "MPI_Finalize",
                                  "MPI_Send",    "MPI_Recv",      "MPI_Isend",      "MPI_Irecv",
                                  "MPI_Waitall", "MPI_Bcast",     "MPI_Iallreduce", "MPI_Test",
                                  "MPI_Put",     "MPI_Comm_rank", "MPI_Ssend"};
constexpr uint64_t kLocations[] = {
    7, 3, uint64_t{1} << 32 | 7};  // of ranks 0 and 1, and another thread of rank 0
constexpr uint32_t kWorld = 40, kTurned = 41;

OTF2_FlushType flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

class Maker {
 public:
  explicit Maker(const std::string& name) {
    std::filesystem::remove_all(folder() / name);
    std::filesystem::create_directories(folder() / name);
    anchor_ = folder() / name / "x.otf2";
    archive_ = OTF2_Archive_Open(anchor_.parent_path().c_str(), "x", OTF2_FILEMODE_WRITE, 1 << 20,
                                 4 << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    static const OTF2_FlushCallbacks kFlush{.otf2_pre_flush = flush, .otf2_post_flush = nullptr};
    OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive_);
    OTF2_Archive_OpenEvtFiles(archive_);
    for (const uint64_t location : kLocations)
      events_.push_back(OTF2_Archive_GetEvtWriter(archive_, location));
  }

  OTF2_EvtWriter* operator[](std::size_t rank) { return events_[rank]; }

  // A call of a rank from `begin` to `end`, in ticks; `records` are written inside.
  void call(std::size_t rank, Region region, uint64_t begin, uint64_t end,
            const std::function<void(OTF2_EvtWriter*, uint64_t)>& records = {}) {
    OTF2_EvtWriter_Enter(events_[rank], nullptr, begin, region);
    if (records) records(events_[rank], end);
    OTF2_EvtWriter_Leave(events_[rank], nullptr, end, region);
  }

  std::string finish() {
    uint64_t counts[3];
    for (std::size_t i = 0; i < 3; ++i) {
      OTF2_EvtWriter_GetNumberOfEvents(events_[i], &counts[i]);
      OTF2_Archive_CloseEvtWriter(archive_, events_[i]);
    }
    OTF2_Archive_CloseEvtFiles(archive_);
    OTF2_Archive_OpenDefFiles(archive_);
    for (const uint64_t location : kLocations)
      OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, location));
    OTF2_Archive_CloseDefFiles(archive_);
    OTF2_GlobalDefWriter* const out = OTF2_Archive_GetGlobalDefWriter(archive_);
    OTF2_GlobalDefWriter_WriteClockProperties(out, 1'000'000, 0, 1'000'000, OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteString(out, 99, "");
    OTF2_GlobalDefWriter_WriteString(out, 98, "solve.c");
    for (uint32_t i = 0; i < count; ++i) {
      OTF2_GlobalDefWriter_WriteString(out, i, kNames[i]);
      const bool user = i <= solve;
      const bool plain = user || i == comm_rank;
      OTF2_GlobalDefWriter_WriteRegion(
          out, i, i, i, 99, plain ? OTF2_REGION_ROLE_FUNCTION : OTF2_REGION_ROLE_POINT2POINT,
          user ? OTF2_PARADIGM_COMPILER : OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE,
          i == solve ? 98 : 99, i == solve ? 12 : 0, 0);
    }
    OTF2_GlobalDefWriter_WriteSystemTreeNode(out, 0, 99, 99, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t i = 0; i < 2; ++i)
      OTF2_GlobalDefWriter_WriteLocationGroup(out, i, 99, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                              OTF2_UNDEFINED_LOCATION_GROUP);
    for (std::size_t i = 0; i < 3; ++i)
      OTF2_GlobalDefWriter_WriteLocation(out, kLocations[i], 99, OTF2_LOCATION_TYPE_CPU_THREAD,
                                         counts[i], i % 2);
    group(out, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, ranks);
    group(out, 1, OTF2_GROUP_TYPE_COMM_GROUP, {0, 1});
    group(out, 2, OTF2_GROUP_TYPE_COMM_GROUP, turned, paradigm_of_turned);
    OTF2_GlobalDefWriter_WriteComm(out, kWorld, 99, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(out, kTurned, 99, 2, kWorld, OTF2_COMM_FLAG_NONE);
    OTF2_Archive_CloseGlobalDefWriter(archive_, out);
    OTF2_Archive_Close(archive_);
    return anchor_;
  }

  std::vector<uint64_t> turned{1, 0};  // members of that communicator
  OTF2_Paradigm paradigm_of_turned = OTF2_PARADIGM_MPI;
  std::vector<uint64_t> ranks{kLocations[0], kLocations[1]};

 private:
  static std::filesystem::path folder() {
    return std::filesystem::path(testing::TempDir()) / "otf2_test";
  }
  static void group(OTF2_GlobalDefWriter* out, uint32_t self, OTF2_GroupType type,
                    const std::vector<uint64_t>& members, OTF2_Paradigm paradigm = OTF2_PARADIGM_MPI) {
    OTF2_GlobalDefWriter_WriteGroup(out, self, 99, type, paradigm, OTF2_GROUP_FLAG_NONE,
                                    static_cast<uint32_t>(members.size()), members.data());
  }

  std::filesystem::path anchor_;
  OTF2_Archive* archive_;
  std::vector<OTF2_EvtWriter*> events_;
};

// A record of a call, to be written at its end.
template <class... Fields>
auto event(OTF2_ErrorCode (*write)(OTF2_EvtWriter*, OTF2_AttributeList*, OTF2_TimeStamp, Fields...),
           std::type_identity_t<Fields>... fields) {
  return [=](OTF2_EvtWriter* out, uint64_t at) { write(out, nullptr, at, fields...); };
}

std::string text(const Op& op) {
  switch (op.kind) {
    case OpKind::compute:
      return fmt::format("compute {}", op.ns);
    case OpKind::wait:
      return fmt::format("wait {}{}", op.request, op.more ? " and" : "");
    case OpKind::mark:
      return "mark";
    case OpKind::branch:
      return op.bytes > 0 ? "branch" : "end of branch";
    default: {
      constexpr const char* kKinds[] = {"", "send", "isend", "recv", "irecv"};
      return fmt::format("{}{} {} tag {}, {} bytes{}", op.synchronous ? "s" : "",
                         kKinds[static_cast<int>(op.kind)], op.peer, op.tag, op.bytes,
                         op.collective ? ", collective" : "");
    }
  }
}

std::vector<std::string> all(Stream& stream, uint32_t rank) {
  std::vector<std::string> out;
  for (Op op; stream.next(rank, op);) out.push_back(text(op));
  return out;
}

void begin(Maker& maker) {
  for (std::size_t rank = 0; rank < 2; ++rank) {
    OTF2_EvtWriter_Enter(maker[rank], nullptr, 1, main_);
    maker.call(rank, init, 10, 20);
  }
}

std::string refused(Maker& maker) {
  return refusal([&] {
    const auto trace = read_otf2(maker.finish());
    const auto stream = trace->open();
    for (uint32_t rank = 0; rank < trace->ranks(); ++rank) all(*stream, rank);
    return 0;
  });
}

using Lines = std::vector<std::string>;

TEST(otf2, messages_become_what_they_were_when_they_were_posted) {
  Maker maker("messages");
  begin(maker);
  maker.call(0, comm_rank, 22, 24);
  OTF2_EvtWriter_Enter(maker[0], nullptr, 25, solve);
  maker.call(0, irecv, 30, 31, event(OTF2_EvtWriter_MpiIrecvRequest, 500));
  maker.call(0, isend, 33, 34, event(OTF2_EvtWriter_MpiIsend, 0, kTurned, 8, 64, 501));  // to rank 1
  maker.call(0, test, 34, 35, event(OTF2_EvtWriter_MpiRequestTest, 500));
  maker.call(0, waitall, 40, 90, [](auto* out, uint64_t at) {
    OTF2_EvtWriter_MpiIsendComplete(out, nullptr, at, 501);
    OTF2_EvtWriter_MpiIrecv(out, nullptr, at, 1, kWorld, 9, 128, 500);
  });
  maker.call(0, irecv, 90, 91, event(OTF2_EvtWriter_MpiIrecvRequest, 502));
  maker.call(0, waitall, 91, 92, event(OTF2_EvtWriter_MpiRequestCancelled, 502));
  maker.call(0, put, 95, 97);
  OTF2_EvtWriter_Leave(maker[0], nullptr, 98, solve);
  maker.call(0, finalize, 100, 101);
  maker.call(1, ssend, 50, 60, event(OTF2_EvtWriter_MpiSend, 0, kWorld, 9, 128));
  maker.call(1, recv, 60, 70, event(OTF2_EvtWriter_MpiRecv, 1, kTurned, 8, 64));
  OTF2_EvtWriter_Enter(maker[2], nullptr, 30, solve);  // a thread that does not call MPI
  OTF2_EvtWriter_Leave(maker[2], nullptr, 31, solve);
  const auto trace = read_otf2(maker.finish());
  ASSERT_EQ(trace->ranks(), 2U);
  const auto stream = trace->open();
  EXPECT_EQ(all(*stream, 0), (Lines{"compute 10000", "irecv 1 tag 9, 128 bytes", "compute 2000",
                                    "isend 1 tag 8, 64 bytes", "compute 5000", "wait 1 and", "wait 0",
                                    "compute 3000", "compute 2000", "compute 3000"}));
  EXPECT_EQ(all(*stream, 1),
            (Lines{"compute 30000", "ssend 0 tag 9, 128 bytes", "recv 0 tag 8, 64 bytes"}));
  EXPECT_EQ(stream->not_modelled(), (std::map<std::string, uint64_t>{{"Put", 1}}));
  const auto again = trace->open();
  Op op;
  while (again->next(0, op) && op.kind != OpKind::irecv) {
  }
  EXPECT_EQ(trace->where(0, op.site), "MPI_Irecv in solve (solve.c:12)");
}

TEST(otf2, collectives_become_messages) {
  Maker maker("collectives");
  begin(maker);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    maker.call(rank, bcast, 30, 40, [&](auto* out, uint64_t at) {
      OTF2_EvtWriter_MpiCollectiveBegin(out, nullptr, at);
      // Its root, 1, is rank 0.
      OTF2_EvtWriter_MpiCollectiveEnd(out, nullptr, at, OTF2_COLLECTIVE_OP_BCAST, kTurned, 1,
                                      rank == 0 ? 2000 : 0, 1000);
    });
    maker.call(rank, iallreduce, 50, 51, event(OTF2_EvtWriter_NonBlockingCollectiveRequest, 9));
    maker.call(rank, waitall, 60, 70,
               event(OTF2_EvtWriter_NonBlockingCollectiveComplete, OTF2_COLLECTIVE_OP_ALLREDUCE, kWorld,
                     OTF2_COLLECTIVE_ROOT_NONE, 16, 16, 9));
  }
  const auto trace = read_otf2(maker.finish());
  const auto stream = trace->open();
  EXPECT_EQ(all(*stream, 0),
            (Lines{"compute 10000", "send 1 tag 0, 1000 bytes, collective", "compute 10000", "branch",
                   "irecv 1 tag 70, 8 bytes, collective", "isend 1 tag 70, 8 bytes, collective",
                   "wait 0 and", "wait 1", "end of branch", "compute 9000", "wait 0"}));
  EXPECT_EQ(all(*stream, 1)[1], "recv 0 tag 0, 0 bytes, collective");
  EXPECT_EQ(stream->collectives(), (std::map<std::string, uint64_t>{{"allreduce", 2}, {"bcast", 2}}));
}

TEST(otf2, a_loop_of_tests_that_find_nothing_is_a_wait) {
  Maker maker("polls");
  begin(maker);
  const auto poll = [&](std::size_t rank) {
    for (const uint64_t at : {40U, 42U, 44U})
      maker.call(rank, test, at, at + 1);  // a microsecond between them
    maker.call(rank, test, 47, 48);        // two
    maker.call(rank, ssend, 49, 50);
  };
  poll(0);
  OTF2_EvtWriter_Leave(maker[1], nullptr, 30, main_);  // from here on call sites are not known
  poll(1);
  const auto trace = read_otf2(maker.finish());
  const auto stream = trace->open();
  EXPECT_EQ(all(*stream, 0), (Lines{"compute 20000", "compute 2000", "compute 1000"}));
  EXPECT_EQ(all(*stream, 1),
            (Lines{"compute 20000", "compute 1000", "compute 1000", "compute 2000", "compute 1000"}));
}

TEST(otf2, a_receive_that_nothing_completes_does_not_stop_the_reading) {
  Maker maker("open");
  begin(maker);
  maker.call(0, irecv, 30, 31, event(OTF2_EvtWriter_MpiIrecvRequest, 1));
  constexpr uint64_t kMany = 70000;  // more than is read ahead
  for (uint64_t i = 0; i < kMany; ++i) maker.call(0, test, 40 + i, 40 + i);
  maker.call(0, waitall, 40 + kMany, 41 + kMany, event(OTF2_EvtWriter_MpiIrecv, 1, kWorld, 4, 32, 1));
  for (uint64_t i = 0; i < 126; ++i)
    maker.call(1, test, 40 + i, 40 + i);  // 256 events of rank 1: whole batches
  OTF2_EvtWriter_Leave(maker[1], nullptr, 300, main_);
  const auto trace = read_otf2(maker.finish());
  const auto stream = trace->open();
  EXPECT_EQ(all(*stream, 1).front(), "compute 20000");
  const Lines found = all(*stream, 0);
  EXPECT_EQ(Lines(found.begin(), found.begin() + 2), (Lines{"compute 10000", "compute 1000"}));
  EXPECT_EQ(Lines(found.end() - 2, found.end()), (Lines{"irecv 1 tag 4, 32 bytes", "wait 0"}));
  EXPECT_EQ(stream->not_modelled(), (std::map<std::string, uint64_t>{{"Irecv", 1}}));
}

TEST(otf2, regions_of_the_program_need_not_be_nested) {
  Maker maker("not nested");
  begin(maker);
  OTF2_EvtWriter_Enter(maker[0], nullptr, 25, solve);
  OTF2_EvtWriter_Leave(maker[0], nullptr, 27, main_);
  maker.call(0, send, 30, 40, event(OTF2_EvtWriter_MpiSend, 1, kWorld, 7, 16));
  OTF2_EvtWriter_Leave(maker[0], nullptr, 50, solve);
  OTF2_EvtWriter_Leave(maker[0], nullptr, 51, solve);  // once too often
  maker.call(0, send, 60, 61, event(OTF2_EvtWriter_MpiSend, 1, kWorld, 8, 16));
  const auto trace = read_otf2(maker.finish());
  const auto stream = trace->open();
  EXPECT_EQ(all(*stream, 0), (Lines{"compute 10000", "send 1 tag 7, 16 bytes", "compute 20000",
                                    "send 1 tag 8, 16 bytes"}));
  const auto again = trace->open();
  Op op;
  while (again->next(0, op) && op.kind != OpKind::send) {
  }
  EXPECT_EQ(trace->where(0, op.site), "MPI_Send in solve (solve.c:12)");
}

// Score-P 5 and later define one of all threads.
TEST(otf2, communicators_of_others_than_mpi_are_passed_over) {
  Maker maker("others");
  maker.paradigm_of_turned = OTF2_PARADIGM_MEASUREMENT_SYSTEM;
  begin(maker);
  maker.call(0, send, 30, 40, event(OTF2_EvtWriter_MpiSend, 1, kWorld, 7, 16));
  const auto trace = read_otf2(maker.finish());
  EXPECT_EQ(all(*trace->open(), 0), (Lines{"compute 10000", "send 1 tag 7, 16 bytes"}));
}

TEST(otf2, what_cannot_be_replayed_is_refused) {
  const auto with = [](const char* name, const std::function<void(Maker&)>& what) {
    Maker maker(name);
    begin(maker);
    what(maker);
    return refused(maker);
  };
  const auto sends = [](uint32_t peer, uint32_t communicator, uint32_t tag) {
    return [=](Maker& maker) {
      maker.call(0, send, 30, 40, [=](auto* out, uint64_t at) {
        OTF2_EvtWriter_MpiSend(out, nullptr, at, peer, communicator, tag, 1);
      });
    };
  };
  EXPECT_EQ(with("fine", sends(1, kWorld, 0)), "");
  EXPECT_EQ(with("peer", sends(2, kWorld, 0)), "rank 0: a call names rank 2 of a communicator of 2");
  EXPECT_EQ(with("communicator", sends(1, 5, 0)), "rank 0: a call names communicator 5, which is none");
  EXPECT_EQ(with("tag", sends(1, kWorld, 0x80000000)), "2147483648 as a rank or a tag");
  for (const uint64_t location : {kLocations[0], uint64_t{99}})
    expect_in(fmt::format("location {} is to be a rank", location),
              with("location", [=](Maker& maker) { maker.ranks[1] = location; }));
  expect_in("no ranks of MPI", with("no ranks", [](Maker& maker) { maker.ranks.clear(); }));
  expect_in("has rank 2 of 2 as a member", with("member", [](Maker& maker) { maker.turned = {0, 2}; }));
  EXPECT_EQ(with("no member",
                 [&](Maker& maker) {
                   maker.turned = {1};
                   sends(0, kTurned, 0)(maker);
                 }),
            "rank 0: a call names communicator 41, of which it is no member");
  expect_in("a thread that is no rank, calls MPI_Send",
            with("thread", [](Maker& maker) { maker.call(2, send, 1, 2); }));
  expect_in("outside of all of MPI's functions", with("outside", [](Maker& maker) {
              OTF2_EvtWriter_MpiSend(maker[0], nullptr, 30, 1, kWorld, 0, 1);
            }));
  EXPECT_EQ(with("left", [](Maker& maker) { OTF2_EvtWriter_Leave(maker[0], nullptr, 30, send); }),
            "rank 0: leaves region 4, in which it is not");
  EXPECT_EQ(
      with("left by a thread", [](Maker& maker) { OTF2_EvtWriter_Leave(maker[2], nullptr, 30, 77); }),
      fmt::format("location {}: leaves region 77, in which it is not", kLocations[2]));
  EXPECT_EQ(with("region", [](Maker& maker) { OTF2_EvtWriter_Enter(maker[0], nullptr, 30, 77); }),
            "rank 0: enters region 77, which is not defined");
}

TEST(otf2, bytes_of_collectives_go_both_ways) {
  using ompl::trace::Kind;
  for (const Kind kind :
       {Kind::kBcast, Kind::kScatter, Kind::kReduce, Kind::kGather, Kind::kAllgather, Kind::kAlltoall,
        Kind::kAllreduce, Kind::kReduceScatterBlock, Kind::kScan, Kind::kExscan})
    for (uint64_t size : {2, 3, 8})
      for (uint64_t rank = 0; rank < size; ++rank) {
        const otf2::Part part{kind, rank, size, 1};
        EXPECT_EQ(otf2::bytes_of(part, otf2::sizes_of(part, 1000, {}, {})), 1000U)
            << ompl::trace::name_of(kind) << " of " << size << " at " << rank;
      }
  // MPI_Scatterv of 10, 20 and 60 bytes, 10 of them the root's: the others get 40 each, as far as OTF2 tells.
  const std::vector<uint64_t> counts{10, 20, 60};
  const otf2::Part root{Kind::kScatterv, 0, 3, 0};
  EXPECT_EQ(otf2::bytes_of(root, otf2::sizes_of(root, 90, counts, {})), 40U);
}

}  // namespace
