// SPDX-License-Identifier: BSD-3-Clause
#include "model/timeline.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "model/error.hpp"

namespace ompl::model {

static_assert(std::endian::native == std::endian::little);

Timeline::Timeline(std::string file, uint32_t ranks, uint64_t most_records)
    : file_(std::move(file)),
      buffer_(std::size_t{1} << 20),
      ranks_(ranks),
      most_of_rank_(std::max<uint64_t>(1, most_records / std::max(1U, ranks))) {
  constexpr std::string_view kMagic = "OMPLTL01";
  out_.rdbuf()->pubsetbuf(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  out_.open(file_, std::ios::binary);
  if (!out_.write(kMagic.data(), kMagic.size())) refuse("cannot write {}", file_);
}

void Timeline::until(TimelineRecord record) {
  double& now_ns = ranks_[record.rank].now_ns;
  if (record.end_ns <= now_ns) return;
  record.begin_ns = now_ns;
  now_ns = record.end_ns;
  write(record);
}

void Timeline::message(const TimelineRecord& record) { write(record); }

void Timeline::write(const TimelineRecord& record) {
  if (ranks_[record.rank].records++ >= most_of_rank_) {
    ++left_out_;
    return;
  }
  ++records_;
  out_.write(reinterpret_cast<const char*>(&record), sizeof record);
}

void Timeline::close() {
  out_.close();
  if (!out_) refuse("cannot write all of {}: is the disk full?", file_);
}

}  // namespace ompl::model
