// SPDX-License-Identifier: BSD-3-Clause
#include "coll_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "world.hpp"

namespace ompl::conformance {
namespace {

constexpr std::byte kUntouched{0xA5};

constexpr std::size_t kRow = 256;
using Row = std::array<std::byte, kRow>;

// All rows that there are, so that buffers are copied together and not computed.
const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> made(2 * kRow);
    for (std::size_t row = 0; row < made.size(); ++row)
      for (std::size_t i = 0; i < kRow; ++i) made[row][i] = static_cast<std::byte>((row + i * 31) >> 1);
    return made;
  }();
  return all;
}

// Of its send buffer, bytes `from` to `from` + `count` - 1.
std::vector<std::byte> sent_by(uint32_t member, uint32_t round, std::size_t from, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t done = 0; done < count;) {
    const std::size_t at = from + done;
    const std::size_t row = uint64_t{member} * 7919 + at / kRow * 7953 + round * 101;
    const std::size_t length = std::min(kRow - at % kRow, count - done);
    std::memcpy(&bytes[done], &rows()[row % rows().size()][at % kRow], length);
    done += length;
  }
  return bytes;
}

// Sums of `count` elements of 1 or 8 bytes, as the call has them. Nobody else has these bytes: ThreadSanitizer need not watch.
template <class T>
__attribute__((no_sanitize("thread"))) void add(std::byte* sum, const std::byte* bytes,
                                                std::size_t count) {
  for (const std::byte* const end = sum + count * sizeof(T); sum != end;
       sum += sizeof(T), bytes += sizeof(T)) {
    T a;
    T b;
    std::memcpy(&a, sum, sizeof a);
    std::memcpy(&b, bytes, sizeof b);
    a = static_cast<T>(a + b);
    std::memcpy(sum, &a, sizeof a);
  }
}

}  // namespace

ompl_team* world_team() {
  ompl_team* team = nullptr;
  ok(ompl_team_world(&team));
  return team;
}

CollJob::Bytes CollJob::combined(uint32_t first, uint32_t end, uint32_t round, std::size_t from,
                                 std::size_t count) const {
  Bytes sum = sent_by(first, round, from, count);
  for (uint32_t member = first + 1; member < end; ++member) {
    const Bytes next = sent_by(member, round, from, count);
    length % 8 == 0 ? add<uint64_t>(sum.data(), next.data(), count / 8)
                    : add<uint8_t>(sum.data(), next.data(), count);
  }
  return sum;
}

// Bytes of a buffer of this collective, with some that follow.
std::size_t CollJob::extent() const {
  switch (collective) {
    case OMPL_ALLGATHER:
    case OMPL_GATHER:
    case OMPL_SCATTER:
    case OMPL_ALLTOALL:
    case OMPL_REDUCE_SCATTER:
      return room(length, members_);
    default:
      return room(length, 1);
  }
}

void CollJob::fill(ompl_team* team, uint32_t round) {
  me_ = static_cast<uint32_t>(ompl_team_rank(team));
  members_ = static_cast<uint32_t>(ompl_team_size(team));
  const std::size_t bytes = extent();
  send_.resize(bytes + shift);
  receive_.resize(bytes + shift);
  out_ = (memory != nullptr ? memory : send_.data()) + shift;
  in_ = (memory != nullptr ? memory + bytes : receive_.data()) + shift;
  const std::size_t used = bytes - (memory != nullptr ? shift : 0);
  const Bytes mine = sent_by(me_, round, 0, bytes);
  std::fill_n(in_, used, kUntouched);
  std::copy_n(mine.begin(), used, out_);
  if (collective == OMPL_BROADCAST && me_ == root) std::copy_n(mine.begin(), length, in_);
  if (!in_place) return;
  const bool own_block = collective == OMPL_ALLGATHER || (collective == OMPL_GATHER && me_ == root);
  if (own_block) {
    std::copy_n(mine.begin(), of(me_), in_ + at(me_));
  } else if (collective != OMPL_BROADCAST && collective != OMPL_GATHER && collective != OMPL_SCATTER) {
    std::copy_n(mine.begin(), used, in_);
  }
}

int CollJob::call(ompl_team* team, ompl_request** place) {
  ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
  options.tag = tag;
  options.algorithm = algorithm;
  options.persistent = persistent ? 1 : 0;
  const bool rooted =
      collective == OMPL_REDUCE || collective == OMPL_GATHER || collective == OMPL_SCATTER;
  const bool here = in_place && (!rooted || me_ == root);
  const void* const send = here && collective != OMPL_SCATTER ? OMPL_IN_PLACE : out_;
  void* const receive = here && collective == OMPL_SCATTER ? OMPL_IN_PLACE : in_;
  const int32_t type = length % 8 == 0 ? OMPL_UINT64 : OMPL_UINT8;
  const std::size_t count = length % 8 == 0 ? length / 8 : length;
  std::vector<std::size_t> lengths, offsets;
  for (uint32_t i = 0; i < members_; ++i) {
    lengths.push_back(of(i));
    offsets.push_back(at(i));
  }
  // Of alltoall member i gets what goes to it from everybody: blocks as long as its own number says.
  const std::vector<std::size_t> mine(members_, of(me_));
  switch (collective) {
    case OMPL_BARRIER:
      return ompl_team_barrier(team, &options, place);
    case OMPL_BROADCAST:
      return ompl_broadcast(team, in_, length, root, &options, place);
    case OMPL_REDUCE:
      return ompl_reduce(team, send, receive, count, type, OMPL_SUM, root, &options, place);
    case OMPL_ALLREDUCE:
      return ompl_allreduce(team, send, receive, count, type, OMPL_SUM, &options, place);
    case OMPL_ALLGATHER:
      return lists
                 ? ompl_allgatherv(team, send, receive, lengths.data(), offsets.data(), &options, place)
                 : ompl_allgather(team, send, receive, length, &options, place);
    case OMPL_GATHER:
      return lists ? ompl_gatherv(team, send, of(me_), receive, lengths.data(), offsets.data(), root,
                                  &options, place)
                   : ompl_gather(team, send, receive, length, root, &options, place);
    case OMPL_SCATTER:
      return lists ? ompl_scatterv(team, send, lengths.data(), offsets.data(), receive, of(me_), root,
                                   &options, place)
                   : ompl_scatter(team, send, receive, length, root, &options, place);
    case OMPL_ALLTOALL:
      return lists ? ompl_alltoallv(team, send, lengths.data(), offsets.data(), receive, mine.data(),
                                    offsets.data(), &options, place)
                   : ompl_alltoall(team, send, receive, length, &options, place);
    case OMPL_REDUCE_SCATTER:
      return ompl_reduce_scatter(team, send, receive, count, type, OMPL_SUM, &options, place);
    case OMPL_SCAN:
      return ompl_scan(team, send, receive, count, type, OMPL_SUM, &options, place);
    default:
      return ompl_exscan(team, send, receive, count, type, OMPL_SUM, &options, place);
  }
}

// `bytes` came to `place` of what is received.
void CollJob::expect(const Bytes& bytes, std::size_t place) {
  if (bytes.empty() || std::memcmp(bytes.data(), in_ + place, bytes.size()) == 0) return;
  const auto differs = std::mismatch(bytes.begin(), bytes.end(), in_ + place);
  EXPECT_EQ(differs.first - bytes.begin(), std::ssize(bytes))
      << ompl_coll_name(collective) << ": the first wrong byte, of member " << me_ << ", at " << place;
}

void CollJob::check(uint32_t round) {
  const std::size_t bytes = length;
  switch (collective) {
    case OMPL_BARRIER:
      break;
    case OMPL_BROADCAST:
      expect(sent_by(root, round, 0, bytes), 0);
      break;
    case OMPL_REDUCE:
      if (me_ == root) expect(combined(0, members_, round, 0, bytes), 0);
      break;
    case OMPL_ALLREDUCE:
      expect(combined(0, members_, round, 0, bytes), 0);
      break;
    case OMPL_SCATTER:
      if (me_ != root || !in_place) expect(sent_by(root, round, at(me_), of(me_)), 0);
      break;
    case OMPL_REDUCE_SCATTER:
      expect(combined(0, members_, round, me_ * bytes, bytes), 0);
      break;
    case OMPL_SCAN:
      expect(combined(0, me_ + 1, round, 0, bytes), 0);
      break;
    case OMPL_EXSCAN:
      if (me_ > 0) expect(combined(0, me_, round, 0, bytes), 0);
      break;
    default:
      if (collective == OMPL_GATHER && me_ != root) break;
      for (uint32_t i = 0; i < members_; ++i) {
        const bool all = collective == OMPL_ALLTOALL;
        expect(sent_by(i, round, all ? at(me_) : 0, of(all ? me_ : i)), at(i));
      }
  }
}

void CollJob::run(ompl_team* team) {
  if (in_place && (collective == OMPL_BARRIER || collective == OMPL_BROADCAST)) return;
  fill(team, 0);
  const int code = call(team, nullptr);
  if (lists && code == OMPL_ERR_UNSUPPORTED && algorithm != OMPL_COLL_AUTO) return;  // on every rank
  ASSERT_EQ(code, OMPL_OK) << ompl_error_detail();
  check();
}

int CollJob::start(ompl_team* team) {
  fill(team, 0);
  return call(team, &request);
}

}  // namespace ompl::conformance
