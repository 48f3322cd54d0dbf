// SPDX-License-Identifier: BSD-3-Clause
// Files of traces made in memory, whole or wrong on purpose: what the reader's tests and its fuzzer read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "trace/format.hpp"

namespace ompl::trace {

template <typename AnyRecord>
Record as_record(const AnyRecord& from) {
  static_assert(sizeof from == sizeof(Record));
  Record to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

inline Record call_of(Kind kind, uint64_t begin, uint64_t end, uint32_t comm = 0) {
  Record record{};
  record.kind = kind;
  record.begin = begin;
  record.end = end;
  record.comm = comm;
  record.peer = kNoPeer;
  return record;
}

// MPI_COMM_WORLD of a job.
inline Record world_of(uint32_t ranks, uint32_t rank) {
  CommunicatorDefinition world{};
  world.global = 1;
  world.id = 1;
  world.size = ranks;
  world.rank = rank;
  world.kind = Kind::kCommunicator;
  return as_record(world);
}

class FileMaker {
 public:
  FileHeader header;

  explicit FileMaker(uint32_t ranks = 2, uint32_t rank = 0) : header(header_of(rank, ranks)) {
    header.clock[0] = {1000, 1000, 0, 1};
  }

  // A block of a stream; `sequence` counts from 0.
  void block(uint32_t stream, uint32_t sequence, std::vector<Record> records) {
    blocks_.push_back({{kBlockMagic, stream, sequence, 0, 1000, 1000, {}}, std::move(records)});
    ++header.blocks;
  }
  BlockHeader& last_block() { return blocks_.back().header; }

  // The file, with right sums; aligned as a mapping is.
  std::vector<std::byte> bytes() {
    header.sum = sum_of(header);
    std::vector<std::byte> file(kHeaderBytes + blocks_.size() * kBlockBytes);
    std::memcpy(file.data(), &header, sizeof header);
    std::byte* at = file.data() + kHeaderBytes;
    for (Block& block : blocks_) {
      Published& published = block.header.published[block.records.size() % 2];
      const auto records = std::as_bytes(std::span(block.records));
      if (published.used == 0) published = {block.records.size(), sum_of(records)};
      std::memcpy(at, &block.header, sizeof block.header);
      if (!records.empty()) std::memcpy(at + sizeof block.header, records.data(), records.size());
      at += kBlockBytes;
    }
    return file;
  }

 private:
  struct Block {
    BlockHeader header;
    std::vector<Record> records;
  };

  std::vector<Block> blocks_;
};

}  // namespace ompl::trace
