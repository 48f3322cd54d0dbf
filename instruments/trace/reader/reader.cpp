// SPDX-License-Identifier: BSD-3-Clause
#include "reader.hpp"

#include <fmt/format.h>

#include <cstring>

namespace ompl::trace {

namespace {

constexpr uint64_t kMostNs = uint64_t{1} << 61;  // 73 years; sums of two do not overflow
constexpr uint64_t kLeastForDriftNs = 1000000;
constexpr int kDriftBits = 40;  // behind the point
constexpr int64_t kMostDrift = (int64_t{1} << kDriftBits) / 100;

template <typename To>
To as(const Record& record) {
  static_assert(sizeof(To) == sizeof(Record));
  To to;
  std::memcpy(&to, &record, sizeof to);
  return to;
}

template <std::size_t Size>
bool ends(const char (&text)[Size]) {
  return std::memchr(text, '\0', Size) != nullptr;
}

// The numbers in a run of Ids records.
std::vector<uint32_t> take_ids(std::span<const Record>& left, uint64_t count) {
  std::vector<uint32_t> numbers;
  while (numbers.size() < count && !left.empty() && left[0].kind == Kind::kIds) {
    const Ids ids = as<Ids>(left[0]);
    if (ids.count == 0 || ids.count > Ids::kMost || ids.count > count - numbers.size()) break;
    numbers.insert(numbers.end(), ids.numbers, ids.numbers + ids.count);
    left = left.subspan(1);
  }
  return numbers;
}

}  // namespace

std::vector<uint32_t> CallView::requests() const {
  if ((call->flags & kSeveral) == 0) return {call->request};
  std::vector<uint32_t> all = ids;
  for (const Record& match : matches) all.push_back(match.request);
  return all;
}

RankTrace::RankTrace(std::string name, std::span<const std::byte> bytes) : name_(std::move(name)) {
  read_header(bytes);
  read_blocks(bytes);
  for (const StreamView& stream : threads_) check_calls(stream);
}

void RankTrace::fail(const std::string& what) const {
  throw TraceError(fmt::format("{}: {}", name_, what));
}

void RankTrace::read_header(std::span<const std::byte> bytes) {
  if (name_.ends_with(".otf2"))
    fail("an OTF2 archive, which otf2-print shows and omni model predict reads");
  if (bytes.size() < sizeof header_) fail(fmt::format("too short for a trace: {} bytes", bytes.size()));
  std::memcpy(&header_, bytes.data(), sizeof header_);
  const FileHeader& header = header_;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) fail("not a trace of a rank");
  if (header.endian != kEndian) fail("written on a machine of the other byte order; read it there");
  if (header.version != kVersion)
    fail(fmt::format("version {}; this tool reads {}", header.version, kVersion));
  if (header.record_bytes != sizeof(Record) || header.block_bytes != kBlockBytes ||
      header.header_bytes != kHeaderBytes) {
    fail(fmt::format("records of {} bytes in blocks of {} behind {}; version {} has {}, {}, {}",
                     header.record_bytes, header.block_bytes, header.header_bytes, kVersion,
                     sizeof(Record), kBlockBytes, kHeaderBytes));
  }
  if (sum_of(bytes.first(offsetof(FileHeader, sum))) != header.sum)
    fail("the header's sum is wrong: it is damaged");
  if (header.ranks == 0 || header.rank >= header.ranks)
    fail(fmt::format("rank {} of {}", header.rank, header.ranks));
  const bool texts =
      ends(header.host) && ends(header.boot) && ends(header.library) && ends(header.program);
  if (!texts) fail("a text of the header has no end");
  for (const ClockPoint& point : header.clock) {
    if (point.known > 1 || point.local > kMostNs || point.reference > kMostNs)
      fail("a clock point that is none");
  }
  if (header.clock[0].known == 0) fail("no clock point");
  if (header.state > State::kAborted)
    fail(fmt::format("state {}", static_cast<uint32_t>(header.state)));
}

void RankTrace::set_drift(const ClockPoint& first, const ClockPoint& last) {
  if (last.local < first.local + kLeastForDriftNs) return;
  const auto local = static_cast<__int128>(last.local - first.local);
  const auto reference = static_cast<__int128>(last.reference) - static_cast<__int128>(first.reference);
  const __int128 drift = ((reference - local) << kDriftBits) / local;
  if (drift > kMostDrift || drift < -kMostDrift) fail("its clock points cannot be of clocks");
  drift_ = static_cast<int64_t>(drift);
}

void RankTrace::read_blocks(std::span<const std::byte> bytes) {
  Blocks streams;
  const uint64_t room = bytes.size() < kHeaderBytes ? 0 : (bytes.size() - kHeaderBytes) / kBlockBytes;
  if (room < header_.blocks) {
    fail(fmt::format("truncated: {} blocks were begun, {} are there", header_.blocks, room));
  }
  ClockPoint earliest{};
  ClockPoint latest{};
  for (uint64_t i = 0; i < header_.blocks; ++i) {
    const std::byte* const at = bytes.data() + kHeaderBytes + i * kBlockBytes;
    BlockHeader block;
    std::memcpy(&block, at, sizeof block);
    if (block.magic == 0) continue;  // its thread came no further
    if (block.magic != kBlockMagic) fail(fmt::format("block {} is damaged: no block begins there", i));
    const Published& published =
        block.published[block.published[1].used > block.published[0].used ? 1 : 0];
    if (published.used > kRecordsPerBlock) fail(fmt::format("block {}: {} records", i, published.used));
    const auto* const records = reinterpret_cast<const Record*>(at + sizeof block);
    const std::span<const Record> used(records, published.used);
    if (sum_of(std::as_bytes(used)) != published.sum)
      fail(fmt::format("block {} is damaged: its sum is wrong", i));
    const bool reused = block.reused != 0;
    const auto [same, is_new] = streams[block.stream].emplace(block.sequence, Block{used, reused});
    // The process ended before a block that had been copied was empty again: the copy holds.
    if (!is_new && same->second.reused == reused)
      fail(fmt::format("block {}: stream {} has two of number {}", i, block.stream, block.sequence));
    if (!is_new && same->second.reused) same->second = {used, reused};
    if (block.local > kMostNs || block.host > kMostNs)
      fail(fmt::format("block {}: a time that is none", i));
    if (earliest.known == 0 || block.local < earliest.local) earliest = {block.local, block.host, 0, 1};
    if (block.local >= latest.local) latest = {block.local, block.host, 0, 1};
  }
  // Without MPI_Finalize there is no second clock point, but each block pairs the clock with the host's.
  const bool whole = header_.clock[1].known != 0;
  set_drift(whole ? header_.clock[0] : earliest, whole ? header_.clock[1] : latest);
  read_streams(streams);
}

void RankTrace::read_streams(const Blocks& streams) {
  for (const auto& [number, blocks] : streams) {
    StreamView stream;
    stream.number = number;
    for (const auto& [sequence, block] : blocks) {
      if (sequence != stream.blocks.size())
        fail(fmt::format("stream {} lacks block {}", number, stream.blocks.size()));
      stream.blocks.push_back(block.records);
      stream.records += block.records.size();
    }
    number == kDefinitions ? read_definitions(stream) : threads_.push_back(std::move(stream));
  }
}

void RankTrace::read_definitions(const StreamView& stream) {
  std::vector<Record> all;
  for (const auto& block : stream.blocks) all.insert(all.end(), block.begin(), block.end());
  for (std::span<const Record> left(all); !left.empty();) {
    const Record& record = left[0];
    left = left.subspan(1);
    switch (record.kind) {
      case Kind::kText: {
        const Text piece = as<Text>(record);
        if (piece.count > Text::kMost)
          fail(fmt::format("text {}: a piece of {} characters", piece.id, piece.count));
        texts_[piece.id].append(piece.text, piece.count);
        break;
      }
      case Kind::kSite: {
        const auto site = as<SiteDefinition>(record);
        sites_[site.id] = site;
        break;
      }
      case Kind::kWindow: {
        const auto window = as<WindowDefinition>(record);
        windows_[window.id] = window;
        break;
      }
      case Kind::kTopology: {
        TopologyInfo info{as<TopologyDefinition>(record), {}, {}};
        info.first = take_ids(left, info.definition.first);
        info.second = take_ids(left, info.definition.second);
        topologies_[info.definition.comm] = std::move(info);
        break;
      }
      case Kind::kCommunicator: {
        CommunicatorInfo info{as<CommunicatorDefinition>(record), {}, {}};
        const CommunicatorDefinition& definition = info.definition;
        if (definition.members != 0) {
          info.ranks = take_ids(left, definition.size);
          info.remote_ranks = take_ids(left, definition.remote);
          if (info.ranks.size() != definition.size || info.remote_ranks.size() != definition.remote) {
            const bool crashed = left.empty() && header_.state != State::kFinalized;
            if (!crashed) fail(fmt::format("communicator {} lacks ranks", definition.id));
            break;
          }
        } else if (definition.size != header_.ranks || definition.remote != 0) {
          fail(fmt::format("communicator {}: {} ranks, which it does not name", definition.id,
                           definition.size));
        }
        communicators_[definition.id] = std::move(info);
        break;
      }
      default:
        if (group_of(record.kind) != Group::kDefinition && group_of(record.kind) != Group::kSide) {
          fail(fmt::format("kind {} among the definitions", static_cast<uint16_t>(record.kind)));
        }
    }
  }
}

void RankTrace::check_calls(const StreamView& stream) const {
  uint64_t before = 0;
  uint64_t number = 0;
  bool first = true;
  for (const auto& block : stream.blocks) {
    for (const Record& record : block) {
      ++number;
      const Group group = group_of(record.kind);
      if (group == Group::kSide) {
        if (first) fail(fmt::format("thread {} begins with a side record", stream.number));
        const bool ids = record.kind == Kind::kIds && as<Ids>(record).count > Ids::kMost;
        const bool counts = record.kind == Kind::kCounts && as<Counts>(record).count > Counts::kMost;
        if (ids || counts)
          fail(fmt::format("thread {}, record {}: too many numbers", stream.number, number));
        continue;
      }
      first = false;
      if (group == Group::kDefinition)
        fail(fmt::format("thread {}, record {}: a definition", stream.number, number));
      if (record.begin > record.end || record.begin < before || record.end > kMostNs) {
        fail(fmt::format("thread {}, record {}: from {} to {} ns, after one that ended at {}",
                         stream.number, number, record.begin, record.end, before));
      }
      before = record.end;
      const bool windowed = group == Group::kOneSided || group == Group::kPostOneSided ||
                            group == Group::kEpoch || record.kind == Kind::kWinFree;
      const bool known =
          windowed ? windows_.contains(record.comm) : communicators_.contains(record.comm);
      if (record.comm != 0 && !known) {
        fail(fmt::format("thread {}, record {}: {} {} is not defined", stream.number, number,
                         windowed ? "window" : "communicator", record.comm));
      }
    }
  }
}

bool RankTrace::add_side(CallView& view, const Record& record) {
  if (group_of(record.kind) != Group::kSide) return false;
  if (record.kind == Kind::kMatch) {
    view.matches.push_back(record);
  } else if (record.kind == Kind::kIds) {
    const Ids part = as<Ids>(record);
    view.ids.insert(view.ids.end(), part.numbers, part.numbers + part.count);
  } else if (record.kind == Kind::kCounts) {
    const Counts part = as<Counts>(record);
    auto& to = part.received != 0 ? view.received : view.sent;
    to.insert(to.end(), part.numbers, part.numbers + part.count);
  } else if (record.kind == Kind::kWord) {
    view.words.push_back(as<Word>(record));
  }
  return true;
}

const std::string& RankTrace::text(uint32_t id) const {
  static const std::string kNone = "?";
  const auto found = texts_.find(id);
  return found != texts_.end() ? found->second : kNone;
}

int64_t RankTrace::reference_ns(uint64_t local) const {
  const ClockPoint& first = header_.clock[0];
  const auto since = static_cast<int64_t>(local) - static_cast<int64_t>(first.local);
  const auto drift = static_cast<int64_t>((static_cast<__int128>(since) * drift_) >> kDriftBits);
  return static_cast<int64_t>(first.reference) + since + drift;
}

}  // namespace ompl::trace
