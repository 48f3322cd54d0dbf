// SPDX-License-Identifier: BSD-3-Clause
// Hostile traces. The input is a small program that makes a file with right sums, so that what is behind them is read:
// bytes over the header, and records into blocks of chosen streams; or, first byte odd, a file as it is.
#include <cstring>

#include "fuzz.hpp"
#include "tests/trace/file_maker.hpp"
#include "trace/reader/reader.hpp"

namespace {

using namespace ompl::trace;

// What a reader of the trace does with one that was accepted; its laws hold whatever the bytes were.
void read(std::span<const std::byte> bytes) {
  try {
    const RankTrace trace("file", bytes);
    for (const StreamView& thread : trace.threads()) {
      int64_t before = INT64_MIN;
      trace.for_each_call(thread, [&](const CallView& view) {
        fuzz::require(view.call->begin <= view.call->end);
        const int64_t begin = trace.reference_ns(view.call->begin);
        const int64_t end = trace.reference_ns(view.call->end);
        fuzz::require(before <= begin && begin <= end);
        before = end;
        fuzz::require(trace.text(view.call->request).size() <= bytes.size());
        fuzz::require(view.ids.size() + view.sent.size() + view.received.size() <= bytes.size());
      });
    }
    for (const auto& [id, info] : trace.communicators()) {
      fuzz::require(info.ranks.empty() || info.ranks.size() == info.definition.size);
    }
  } catch (const TraceError& error) {
    fuzz::require(std::string_view(error.what()).starts_with("file: "));
  }
}

}  // namespace

void fuzz::one_input(std::string_view input) {
  if (input.empty()) return;
  if (input[0] % 2 != 0) {
    std::vector<uint64_t> aligned(input.size() / 8 + 1);
    std::memcpy(aligned.data(), input.data(), input.size());
    return read(std::as_bytes(std::span(aligned)).first(input.size()));
  }
  FileMaker maker;
  input.remove_prefix(1);
  // Pieces: a byte that says what it is, then its bytes.
  std::vector<Record> records{world_of(2, 0)};
  uint32_t stream = kDefinitions;
  uint32_t sequence = 0;
  int blocks = 0;
  while (!input.empty() && blocks < 4) {
    const auto what = static_cast<unsigned char>(input[0]);
    input.remove_prefix(1);
    if (what < 0xe0) {  // a record
      Record record{};
      const std::size_t length = std::min(input.size(), sizeof record);
      std::memcpy(&record, input.data(), length);
      input.remove_prefix(length);
      records.push_back(record);
    } else if (what < 0xf0) {  // a block ends, the next belongs to this stream
      maker.block(stream, sequence, std::move(records));
      records.clear();
      sequence = what % 4 == 0 ? sequence + 1 : 0;
      stream = what % 4;
      ++blocks;
    } else if (input.size() >= 3) {  // a byte of the header
      const std::size_t at =
          (static_cast<unsigned char>(input[0]) * 256U + static_cast<unsigned char>(input[1])) %
          sizeof maker.header;
      reinterpret_cast<char*>(&maker.header)[at] = input[2];
      input.remove_prefix(3);
    } else {
      break;
    }
  }
  maker.block(stream, sequence, std::move(records));
  const auto bytes = maker.bytes();
  const std::size_t cut = input.empty() ? 0 : static_cast<unsigned char>(input[0]) * 16U;
  read(std::span(bytes).first(bytes.size() - std::min(bytes.size(), cut)));
}
