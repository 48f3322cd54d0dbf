// SPDX-License-Identifier: BSD-3-Clause
// Reads a rank's file of a trace, and believes nothing of it that it has not checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "format.hpp"

namespace ompl::trace {

// A trace that breaks the rules of its format; the text names the file and the place.
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CommunicatorInfo {
  CommunicatorDefinition definition{};
  std::vector<uint32_t> ranks;         // in MPI_COMM_WORLD; empty: all, in order
  std::vector<uint32_t> remote_ranks;  // of an intercommunicator
};

struct TopologyInfo {
  TopologyDefinition definition{};
  std::vector<uint32_t> first;
  std::vector<uint32_t> second;
};

// A call and the side records that belong to it.
struct CallView {
  const Record* call;
  std::vector<Record> matches;
  std::vector<uint32_t> ids;
  std::vector<uint64_t> sent;      // bytes to each rank
  std::vector<uint64_t> received;  // and from each
  std::vector<Word> words;         // what is done to them, or was waited for

  // That it starts or completes.
  std::vector<uint32_t> requests() const;
};

// The records of a thread in their order; blocks lie in the mapped file.
struct StreamView {
  uint32_t number = 0;
  std::vector<std::span<const Record>> blocks;
  uint64_t records = 0;
};

// Checks all sums, ids and orders when it is made. Read-only afterwards, by any thread.
class RankTrace {
 public:
  // `name` is for messages. The bytes, aligned to 8, must stay.
  RankTrace(std::string name, std::span<const std::byte> bytes);

  const FileHeader& header() const { return header_; }
  const std::vector<StreamView>& threads() const { return threads_; }
  const std::map<uint32_t, CommunicatorInfo>& communicators() const { return communicators_; }
  const std::map<uint32_t, TopologyInfo>& topologies() const { return topologies_; }  // by communicator
  const std::map<uint32_t, WindowDefinition>& windows() const { return windows_; }
  const std::map<uint32_t, SiteDefinition>& sites() const { return sites_; }
  const std::string& text(uint32_t id) const;

  // The time of rank 0's host, in ns; negative before its clock began.
  int64_t reference_ns(uint64_t local) const;
  // Of that, ns: the worse of both points.
  uint64_t clock_uncertainty() const {
    return std::max(header_.clock[0].uncertainty, header_.clock[1].uncertainty);
  }

  // Calls `visit(const CallView&)` for each call of a thread in order.
  template <typename Visit>
  void for_each_call(const StreamView& thread, Visit visit) const {
    CallView view{};
    for (const auto& block : thread.blocks) {
      for (const Record& record : block) {
        if (add_side(view, record)) continue;
        if (view.call != nullptr) visit(view);
        view = {.call = &record, .matches = {}, .ids = {}, .sent = {}, .received = {}, .words = {}};
      }
    }
    if (view.call != nullptr) visit(view);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void read_header(std::span<const std::byte> bytes);
  void set_drift(const ClockPoint& first, const ClockPoint& last);
  struct Block {
    std::span<const Record> records;
    bool reused;
  };
  using Blocks = std::map<uint32_t, std::map<uint32_t, Block>>;  // by stream and number
  void read_blocks(std::span<const std::byte> bytes);
  void read_streams(const Blocks& streams);
  void read_definitions(const StreamView& stream);
  void check_calls(const StreamView& stream) const;
  static bool add_side(CallView& view, const Record& record);

  std::string name_;
  FileHeader header_{};
  std::vector<StreamView> threads_;
  std::map<uint32_t, CommunicatorInfo> communicators_;
  std::map<uint32_t, TopologyInfo> topologies_;
  std::map<uint32_t, WindowDefinition> windows_;
  std::map<uint32_t, SiteDefinition> sites_;
  std::map<uint32_t, std::string> texts_;
  int64_t drift_ = 0;  // of the reference clock against this rank's, in 2^-40
};

// The name of a kind, or null.
const char* name_of(Kind kind);
// The blocking form of a nonblocking collective; of other kinds themselves.
Kind blocking(Kind kind);
// Whether the record's request is a Text.
bool names_text(Kind kind);
// Its group; kinds this version does not know are kOpaque, kSide or kDefinition by their number.
Group group_of(Kind kind);

}  // namespace ompl::trace
