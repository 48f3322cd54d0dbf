// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/builder.hpp"

#include <algorithm>
#include <utility>

namespace ompl::coll {
namespace {

constexpr uint64_t kLine = 64;
constexpr uint64_t kStraightFrom = 32768;  // bytes: below, asking where they go costs more than a copy

}  // namespace

void Builder::add(const ScheduleStep& step) {
  schedule_.steps.push_back(step);
  if (!step.has_peer()) return;
  schedule_.bytes += step.length;
  if (!members_.empty()) schedule_.steps.back().peer = members_[step.peer];
}

Place Builder::real(Place place) const {
  if (place.buffer == CallBuffer::scratch) return place;
  return (place.buffer == CallBuffer::send ? sent_ : received_).plus(place.offset);
}

void Builder::send(uint32_t peer, Place from, uint64_t length) {
  if (length == 0) return;
  add({.kind = ScheduleStep::Kind::send,
       .straight = length >= kStraightFrom,
       .peer = peer,
       .length = length,
       .from = real(from)});
}

void Builder::receive(uint32_t peer, Place to, uint64_t length) {
  if (length == 0) return;
  add({.kind = ScheduleStep::Kind::receive,
       .straight = length >= kStraightFrom,
       .peer = peer,
       .length = length,
       .to = real(to)});
}

void Builder::send_combined(uint32_t peer, Place from, uint64_t length) {
  if (length == 0) return;
  add({.kind = ScheduleStep::Kind::send, .peer = peer, .length = length, .from = real(from)});
}

void Builder::receive_uncombined(uint32_t peer, Place to, uint64_t length) {
  if (length == 0) return;
  add({.kind = ScheduleStep::Kind::receive, .peer = peer, .length = length, .to = real(to)});
}

// An element that is larger than a cell is received whole, and combined after the round.
void Builder::combine(uint32_t peer, Place from, Place to, uint64_t length, bool behind) {
  if (length == 0) return;
  from = real(from);
  to = real(to);
  if (call_.element <= call_.most_combined) {
    add({.kind = ScheduleStep::Kind::combine,
         .behind = behind,
         .peer = peer,
         .length = length,
         .from = from,
         .to = to});
    return;
  }
  const Place whole = scratch(length);
  receive_uncombined(peer, whole, length);
  if (from != to)
    afterwards_.push_back({.kind = ScheduleStep::Kind::copy, .length = length, .from = from, .to = to});
  afterwards_.push_back({.kind = ScheduleStep::Kind::reduce,
                         .behind = behind,
                         .length = length,
                         .from = whole,
                         .to = to});
}

void Builder::reduce(Place from, Place to, uint64_t length, bool behind) {
  if (length == 0) return;
  add({.kind = ScheduleStep::Kind::reduce,
       .behind = behind,
       .length = length,
       .from = real(from),
       .to = real(to)});
}

void Builder::copy(Place from, Place to, uint64_t length) {
  from = real(from);
  to = real(to);
  if (length > 0 && from != to)
    add({.kind = ScheduleStep::Kind::copy, .length = length, .from = from, .to = to});
}

void Builder::exchange(uint32_t to, const Ranges& out, uint32_t from, const Ranges& in) {
  const Ranges sent =
      call_.listed ? out : joined(out);  // where they are joined other members cannot know
  const Ranges received = call_.listed ? in : joined(in);
  next_round();
  for (std::size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
    if (i < sent.size()) send(to, sent[i].place, sent[i].length);
    if (i < received.size()) receive(from, received[i].place, received[i].length);
    next_round();
  }
}

void Builder::next_round() {
  std::vector<uint32_t>& rounds = schedule_.rounds;
  const auto end_round = [&] {
    const auto end = static_cast<uint32_t>(schedule_.steps.size());
    const uint32_t begin = rounds.empty() ? 0 : rounds.back();
    if (end == begin) return;
    schedule_.widest = std::max(schedule_.widest, end - begin);
    rounds.push_back(end);
  };
  end_round();
  for (const ScheduleStep& step : std::exchange(afterwards_, {})) {
    add(step);
    end_round();
  }
}

Place Builder::scratch(uint64_t length) {
  const Place place{CallBuffer::scratch, schedule_.scratch};
  schedule_.scratch += (length + kLine - 1) / kLine * kLine;
  return place;
}

Schedule Builder::finish() {
  next_round();
  return std::move(schedule_);
}

Ranges joined(const Ranges& ranges) {
  Ranges result;
  for (const Range& range : ranges) {
    if (range.length == 0) continue;
    if (!result.empty()) {
      Range& last = result.back();
      if (last.place.buffer == range.place.buffer &&
          last.place.offset + last.length == range.place.offset) {
        last.length += range.length;
        continue;
      }
    }
    result.push_back(range);
  }
  return result;
}

}  // namespace ompl::coll
