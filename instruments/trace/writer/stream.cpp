// SPDX-License-Identifier: BSD-3-Clause
#include "stream.hpp"

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
  BlockHeader* const block = file_->add_block(number_, blocks_);
  if (block == nullptr) return false;
  if (block_ != nullptr) File::release(block_);
  block_ = block;
  ++blocks_;
  used_ = sum_ = 0;
  next_ = reinterpret_cast<Record*>(block + 1);
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

void Stream::append_idle(const Record& record) {
  Record& last = idle_;
  const bool again = last.kind == record.kind && last.site == record.site && last.comm == record.comm &&
                     last.peer == record.peer && last.tag == record.tag &&
                     record.begin - last.end < kAtOnceNs;
  if (!again) {
    append(record);
    idle_ = record;
    return;
  }
  if ((last.flags & kRepeated) == 0) {
    last = record;
    last.flags |= kRepeated;
    last.bytes = 0;
  }
  last.end = record.end;
  ++last.bytes;
}

void Stream::end_idling() {
  const Record idle = idle_;
  idle_ = {};
  if ((idle.flags & kRepeated) != 0) append(idle);
}

void Stream::settle_slowly() {
  const uint64_t begin = file_->clock().ticks();
  if (next_block()) record_tracer(begin);
}

}  // namespace ompl::trace
