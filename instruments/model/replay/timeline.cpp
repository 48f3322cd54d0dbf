// SPDX-License-Identifier: BSD-3-Clause
#include "model/replay/timeline.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace ompl::model {

static_assert(std::endian::native == std::endian::little);

Timeline::Timeline(const std::string& file, const std::vector<uint32_t>& threads, uint64_t most_records)
    : file_(file),
      lanes_(threads.size()),
      most_of_lane_(std::max<uint64_t>(1, most_records / std::max<std::size_t>(1, threads.size()))) {
  for (uint32_t lane = 0; lane < threads.size(); ++lane) lanes_[threads[lane]].number = lane;
  constexpr std::string_view kMagic = "OMPLTL01";
  file_.stream().write(kMagic.data(), kMagic.size());
}

void Timeline::until(TimelineRecord record) {
  Lane& lane = lanes_[record.lane];
  if (record.end_ns <= lane.now_ns) return;
  record.begin_ns = lane.now_ns;
  lane.now_ns = record.end_ns;
  write(lane, record);
}

void Timeline::message(TimelineRecord record) {
  record.peer = static_cast<int32_t>(lanes_[static_cast<uint32_t>(record.peer)].number);
  write(lanes_[record.lane], record);
}

void Timeline::write(Lane& lane, TimelineRecord& record) {
  if (lane.records++ >= most_of_lane_) {
    ++left_out_;
    return;
  }
  ++records_;
  record.lane = lane.number;
  file_.stream().write(reinterpret_cast<const char*>(&record), sizeof record);
}

void Timeline::close() { file_.commit(); }

}  // namespace ompl::model
