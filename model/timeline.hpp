// SPDX-License-Identifier: BSD-3-Clause
// What each rank does and when, and its messages, written to a file while a replay goes on; of each rank the first so
// many records, so that neither memory nor the file grows without bound. `omni model report` draws it.
//
// The file: the eight characters OMPLTL01, then records in the order of the replay, little-endian as here. Those of one
// rank that are not messages follow each other in time without a gap, from 0 on.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "model/trace.hpp"

namespace ompl::model {

enum class Activity : uint8_t { compute, overhead, send_wait, recv_wait, message };

struct TimelineRecord {
  double begin_ns;  // of a message: the call of the send
  double end_ns;    // of a message: the end of the receive
  uint64_t bytes;   // of the message that it is about
  uint32_t rank;    // of a message: the receiver
  int32_t peer;     // the other rank; -1: none
  uint32_t site;
  Activity activity;
  OpKind call;
  uint16_t unused = 0;
};
static_assert(sizeof(TimelineRecord) == 40);

class Timeline {
 public:
  // Throws InputError if the file cannot be written.
  Timeline(std::string file, uint32_t ranks, uint64_t most_records);

  // The rank has done this since what it did last, until `record.end_ns`; nothing if that is not later.
  void until(TimelineRecord record);
  void message(const TimelineRecord& record);
  // Throws InputError if not all could be written.
  void close();

  [[nodiscard]] uint64_t records() const { return records_; }
  [[nodiscard]] uint64_t left_out() const { return left_out_; }

 private:
  struct Rank {
    double now_ns = 0;
    uint64_t records = 0;
  };
  void write(const TimelineRecord& record);

  std::string file_;
  std::vector<char> buffer_;
  std::ofstream out_;
  std::vector<Rank> ranks_;
  uint64_t most_of_rank_;
  uint64_t records_ = 0, left_out_ = 0;
};

}  // namespace ompl::model
