// SPDX-License-Identifier: BSD-3-Clause
#include "stream.hpp"

#include <algorithm>

namespace ompl::trace {

void Stream::open(File& file, uint32_t number) {
  *this = {};
  file_ = &file;
  number_ = number;
  next_block();
}

void Stream::close() {
  if (idle_.kind != Kind{}) end_idling();
  if (block_ != nullptr) File::release(block_);
  *this = {};
}

bool Stream::next_block() {
  if (block_ == nullptr) {
    block_ = file_->add_block(number_);
    if (block_ == nullptr) return false;
  } else if (!file_->keep(block_)) {
    return false;
  }
  used_ = sum_ = 0;
  next_ = reinterpret_cast<Record*>(block_ + 1);
  limit_ = next_ + kRecordsPerBlock;
  return true;
}

void Stream::record_tracer(uint64_t begin) {
  const Clock& clock = file_->clock();
  Record record{};
  record.kind = Kind::kTracer;
  record.peer = kNoPeer;
  record.begin = clock.ns(begin);
  record.end = clock.ns(clock.ticks());
  append(record);
}

bool Stream::is_looked_at(const Record& record) const {
  return std::find(looks_, looks_ + look_count_, record.site) != looks_ + look_count_;
}

void Stream::append_idle(const Record& record) {
  if (record.begin - idle_.end >= kAtOnceNs) look_count_ = 0;
  if (!is_looked_at(record)) {
    const uint32_t looks = look_count_ % kLooks;
    append(record);  // forgets the loop
    looks_[looks] = record.site;
    look_count_ = looks + 1;
    idle_ = record;
    return;
  }
  if ((idle_.flags & kRepeated) == 0) {
    idle_ = record;
    idle_.flags |= kRepeated;
    idle_.bytes = 0;
  }
  idle_.end = record.end;
  ++idle_.bytes;
}

void Stream::end_idling() {
  const Record idle = idle_;
  idle_ = {};
  look_count_ = 0;
  if ((idle.flags & kRepeated) != 0) append(idle);
}

void Stream::settle_slowly() {
  const uint64_t begin = file_->clock().ticks();
  if (next_block()) record_tracer(begin);
}

}  // namespace ompl::trace
