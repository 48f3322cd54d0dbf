// SPDX-License-Identifier: BSD-3-Clause
// What each thread does and when, and its messages, written to a file while a replay goes on; of each the first so
// many records, so that neither memory nor the file grows without bound. `omni model report` draws it, a lane for each:
// rank after rank, the threads of each in their order.
//
// The file: the eight characters OMPLTL01, then records in the order of the replay, little-endian as here. Those of one
// lane that are not messages follow each other in time without a gap, from 0 on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/output_file.hpp"
#include "model/trace.hpp"

namespace ompl::model {

enum class Activity : uint8_t { compute, overhead, send_wait, recv_wait, message };

struct TimelineRecord {
  double begin_ns;  // of a message: the call of the send
  double end_ns;    // of a message: the end of the receive
  uint64_t bytes;   // of the message that it is about
  uint32_t lane;    // told as the thread; of a message: the receiver
  int32_t peer;     // the other rank; -1: none; of a message: the sender, as `lane`
  uint32_t site;
  Activity activity;
  OpKind call;
  uint16_t unused = 0;
};
static_assert(sizeof(TimelineRecord) == 40);

class Timeline {
 public:
  // `threads`: in the order of lanes. Throws InputError if the file cannot be written.
  Timeline(const std::string& file, const std::vector<uint32_t>& threads, uint64_t most_records);

  // The thread has done this since what it did last, until `record.end_ns`; nothing if that is not later.
  void until(TimelineRecord record);
  void message(TimelineRecord record);
  // Puts the file in its place. Throws InputError if not all could be written.
  void close();

  [[nodiscard]] uint64_t records() const { return records_; }
  [[nodiscard]] uint64_t left_out() const { return left_out_; }

 private:
  struct Lane {
    uint32_t number;
    double now_ns = 0;
    uint64_t records = 0;
  };
  void write(Lane& lane, TimelineRecord& record);

  OutputFile file_;
  std::vector<Lane> lanes_;  // by thread
  uint64_t most_of_lane_;
  uint64_t records_ = 0, left_out_ = 0;
};

}  // namespace ompl::model
