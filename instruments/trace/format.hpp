// SPDX-License-Identifier: BSD-3-Clause
// A trace's file: what the interposer writes in place and the readers read. docs/reference/trace-format.md is the text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

namespace ompl::trace {

inline constexpr char kMagic[8] = {'O', 'M', 'P', 'L', 'T', 'R', 'C', '\0'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kEndian = 0x01020304;  // as the writer's memory has it
inline constexpr uint32_t kBlockMagic = 0x4b4c424f;
inline constexpr uint32_t kHeaderBytes = 65536;  // a page anywhere; mostly a hole in the file
inline constexpr uint32_t kBlockBytes = 262144;
inline constexpr uint32_t kDefinitions = 0;  // the stream of definitions; threads are 1, 2, ...

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses): kinds have MPI's names.
enum class Group : uint16_t {
  kProcess,
  kSend,
  kReceive,
  kProbe,
  kPostSend,
  kPostReceive,
  kMakeSend,
  kMakeReceive,
  kStart,
  kComplete,
  kRequest,
  kCollective,
  kPostCollective,
  kCommunicator,
  kOneSided,
  kPostOneSided,
  kWindow,
  kEpoch,
  kPgas,
  kOpaque,
  kTracer,
  kSide,
  kDefinition,
};

enum class Kind : uint16_t {
#define KIND(name, number, group) k##name = number,
#include "kinds.def"
#undef KIND
};

// Ranks and tags that are none, whatever the MPI's own numbers are.
inline constexpr int32_t kAnySource = -1;  // a receive that was posted and not yet matched
inline constexpr int32_t kProcNull = -2;
inline constexpr int32_t kNoPeer = -3;
inline constexpr int32_t kIntercommRoot = -4;  // MPI_ROOT
inline constexpr int32_t kAnyTag = -1;

enum Flag : uint16_t {
  kAskedAnySource = 1,  // the receive said MPI_ANY_SOURCE; peer is who it was, where that is known
  kAskedAnyTag = 2,
  kCompleted = 4,  // a test or probe that found something
  kSeveral = 8,    // a completion of `bytes` requests, which the side records name
  kInPlace = 16,
  kCancelled = 32,
  kFailed = 64,         // the call returned an error
  kFortran = 128,       // entered through a Fortran name
  kRepeated = 256,      // `bytes` tests or probes in a row, which found nothing
  kRetried = 512,       // nothing was posted: OMPL_RETRY_*
  kInterrupted = 1024,  // functions of the program ran within the call: those recorded last
};
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)

// One call, or something that belongs to one.
struct Record {
  uint64_t begin;    // ns on this rank's clock
  uint64_t end;      //
  uint64_t bytes;    // of data: count times the size of the datatype
  int32_t peer;      // rank in comm, or root; kNoPeer
  int32_t tag;       //
  uint32_t comm;     // id of the communicator, or of the window
  uint32_t request;  // id, never 0 and never reused in this rank; 0 is none
  uint32_t site;     // id of the call site
  Kind kind;         //
  uint16_t flags;    // of Flag
};

struct Ids {
  static constexpr Kind kKind = Kind::kIds;
  static constexpr std::size_t kMost = 11;
  uint32_t numbers[kMost];
  Kind kind;
  uint16_t count;
};

struct Counts {
  static constexpr Kind kKind = Kind::kCounts;
  static constexpr std::size_t kMost = 5;
  uint64_t numbers[kMost];
  uint32_t received;  // 1: what this rank receives from each, 0: what it sends to each
  Kind kind;
  uint16_t count;
};

// `number(i)` of each in such records: append() gets them, as few as hold all.
template <class Part, class Number, class Append>
void in_parts(std::size_t count, const Number& number, const Append& append) {
  for (std::size_t at = 0; at < count; at += Part::kMost) {
    Part part{};
    part.kind = Part::kKind;
    part.count = static_cast<uint16_t>(std::min(count - at, Part::kMost));
    for (std::size_t i = 0; i < part.count; ++i) part.numbers[i] = number(at + i);
    append(part);
  }
}

struct Word {  // kWord
  // What signals and atomics do to it, as OMPL_ATOMIC_FETCH ... OMPL_ATOMIC_FMAX; what is waited for, as OMPL_TAKE ... OMPL_TAKE_MANY.
  // NOLINTBEGIN(readability-identifier-naming)
  enum Function : uint32_t {
    kFetch,
    kSet,
    kAdd,
    kAnd,
    kOr,
    kXor,
    kSwapIfEqual,
    kUnsignedMin,
    kUnsignedMax,
    kSignedMin,
    kSignedMax,
    kFloatAdd,
    kFloatMin,
    kFloatMax
  };
  enum Comparison : uint32_t {
    kTake,
    kEqual,
    kNotEqual,
    kGreater,
    kGreaterOrEqual,
    kLess,
    kLessOrEqual,
    kTakeMany
  };
  // NOLINTEND(readability-identifier-naming)
  uint64_t value;     // operand, or what is waited for
  uint64_t compare;   // of kSwapIfEqual
  uint32_t number;    // its offset / 4, modulo 2^32
  uint32_t function;  // or comparison
  uint32_t width;     // bits
  uint32_t unused[4];
  Kind kind;
  uint16_t unused1;
};

struct Text {  // kText; pieces of one string follow each other
  static constexpr std::size_t kMost = 40;
  char text[kMost];
  uint32_t id;
  Kind kind;
  uint16_t count;  // characters of this piece
};

// A communicator: `members` many Ids with its ranks follow (none for MPI_COMM_WORLD: all of them, in order).
struct CommunicatorDefinition {
  uint64_t global;  // the same at every member, and at no other communicator
  uint32_t id;
  uint32_t size;
  uint32_t rank;  // of this process in it
  uint32_t
      remote;  // members of the remote group of an intercommunicator, whose Ids follow those of the local
  uint32_t parent;  // id, or 0
  uint32_t unused[3];
  uint32_t members;  // Ids records that follow
  Kind kind;
  Kind made_by;
};

struct WindowDefinition {
  uint64_t bytes;
  uint32_t id;
  uint32_t comm;
  uint32_t unused[7];
  Kind kind;
  Kind made_by;
};

struct SiteDefinition {
  uint64_t offset;   // of the call's return address in its module
  uint32_t id;       //
  uint32_t module;   // Text
  uint32_t symbol;   // Text of the exported name before it, or 0
  uint32_t unused0;  //
  uint64_t inside;   // bytes behind that symbol
  uint32_t unused[3];
  Kind kind;
  uint16_t unused1;
};

struct
    TopologyDefinition {  // of a communicator; then Ids: dimensions and periods, or sources and destinations
  uint32_t comm;
  uint32_t first;   // cart: dimensions; graph: sources
  uint32_t second;  // cart: periods; graph: destinations
  uint32_t unused[8];
  Kind kind;
  Kind made_by;
};

static_assert(sizeof(Record) == 48 && offsetof(Record, kind) == 44);
static_assert(sizeof(Ids) == 48 && offsetof(Ids, kind) == 44);
static_assert(sizeof(Counts) == 48 && offsetof(Counts, kind) == 44);
static_assert(sizeof(Word) == 48 && offsetof(Word, kind) == 44);
static_assert(sizeof(Text) == 48 && offsetof(Text, kind) == 44);
static_assert(sizeof(CommunicatorDefinition) == 48 && offsetof(CommunicatorDefinition, kind) == 44);
static_assert(sizeof(WindowDefinition) == 48 && offsetof(WindowDefinition, kind) == 44);
static_assert(sizeof(SiteDefinition) == 48 && offsetof(SiteDefinition, kind) == 44);
static_assert(sizeof(TopologyDefinition) == 48 && offsetof(TopologyDefinition, kind) == 44);

// This rank's clock beside rank 0's: local ns on the one is reference ns on the other, give or take uncertainty.
struct ClockPoint {
  uint64_t local;
  uint64_t reference;
  uint64_t uncertainty;
  uint64_t known;  // 0 or 1
};

// How many records of a block are whole, and their sum. Two, written in turn, so that one is always right.
struct Published {
  uint64_t used;
  uint64_t sum;
};

struct BlockHeader {
  uint32_t magic;
  uint32_t stream;    // kDefinitions, or a thread
  uint32_t sequence;  // of this block in its stream, from 0
  uint32_t reused;    // 1: where the stream writes; what is full is copied to a block of its own
  uint64_t local;     // this rank's clock when the block was begun, and the host's beside it
  uint64_t host;      // (CLOCK_MONOTONIC): corrects the clock of a trace without a second clock point
  Published published[2];  // the one with the larger `used` holds
};
static_assert(sizeof(BlockHeader) == 64);

inline constexpr std::size_t kRecordsPerBlock = (kBlockBytes - sizeof(BlockHeader)) / sizeof(Record);
static_assert(kRecordsPerBlock * sizeof(Record) + sizeof(BlockHeader) == kBlockBytes);
static_assert(kRecordsPerBlock % 2 == 0,
              "File::keep() empties published[0], which is that of a full block, first");

enum class State : uint32_t {
  kRunning = 0,    // NOLINT(readability-identifier-naming)
  kFinalized = 1,  // NOLINT(readability-identifier-naming)
  kAborted = 2,    // NOLINT(readability-identifier-naming)
};

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t endian;
  uint32_t header_bytes;
  uint32_t block_bytes;
  uint32_t record_bytes;
  uint32_t rank;
  uint32_t ranks;
  uint32_t thread_level;  // 0 single, 1 funneled, 2 serialized, 3 multiple
  uint64_t process;
  uint64_t wall;        // ns since 1970 when local was `clock[0].local`
  char clock_name[16];  // "tsc", "monotonic"
  char host[64];        // strings end with 0
  char boot[64];        // the same on two ranks only if they share a clock
  char library[256];    // what MPI_Get_library_version says
  char program[1024];   //
  uint64_t sum;         // of the bytes before it; what follows is written while the program runs
  uint64_t blocks;      // begun; a block of zeroes is one whose thread came no further
  ClockPoint clock[2];  // after MPI_Init, before MPI_Finalize
  State state;          //
  int32_t code;         // of MPI_Abort
  uint64_t lost;        // records that found no place (disk full)
};
static_assert(sizeof(FileHeader) % 8 == 0 && sizeof(FileHeader) <= kHeaderBytes);

// The sum of a block after one more record. Independent products: the next call does not wait for them.
constexpr uint64_t add_to_sum(uint64_t sum, const uint64_t (&words)[6]) {
  const uint64_t mixed = words[0] * 0x9e3779b97f4a7c15U + words[1] * 0xc2b2ae3d27d4eb4fU +
                         words[2] * 0x165667b19e3779f9U + words[3] * 0xd6e8feb86659fd93U +
                         words[4] * 0xa0761d6478bd642fU + words[5] * 0xe7037ed1a0b428dbU;
  return ((sum << 1) | (sum >> 63)) + (mixed ^ (mixed >> 29));
}

// The sum of bytes, a record's length at a time.
inline uint64_t sum_of(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Record)) {
    uint64_t words[6] = {};
    std::memcpy(words, bytes.data() + at, std::min(sizeof words, bytes.size() - at));
    sum = add_to_sum(sum, words);
  }
  return sum;
}
inline uint64_t sum_of(const FileHeader& header) {
  return sum_of(std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, sum)));
}

// Of a rank's file as this version writes it; the rest is zeroes.
inline FileHeader header_of(uint32_t rank, uint32_t ranks) {
  FileHeader header{};
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  header.version = kVersion;
  header.endian = kEndian;
  header.header_bytes = kHeaderBytes;
  header.block_bytes = kBlockBytes;
  header.record_bytes = sizeof(Record);
  header.rank = rank;
  header.ranks = ranks;
  return header;
}

}  // namespace ompl::trace
