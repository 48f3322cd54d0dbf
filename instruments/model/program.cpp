// SPDX-License-Identifier: BSD-3-Clause
#include "model/program.hpp"

#include <cstring>
#include <utility>

#include "common/input_error.hpp"

namespace ompl::model {

namespace {

// The first byte of an operation: its kind and these, some of messages and others of waits and branches.
enum Mark : uint8_t {
  synchronous = 16,
  any_source = 32,
  any_tag = 64,
  buffered = 128,
  more = 16,
  handed = 32,
  no_request = 32,  // of hand
};
constexpr uint8_t kKindMask = 15;

void put(std::vector<uint8_t>& code, uint64_t value) {
  for (; value >= 0x80; value >>= 7) code.push_back(static_cast<uint8_t>(value | 0x80));
  code.push_back(static_cast<uint8_t>(value));
}

inline uint64_t take(const uint8_t*& at) {
  uint64_t value = *at++;
  if (value < 0x80) [[likely]]
    return value;
  value &= 0x7f;
  for (unsigned shift = 7;; shift += 7) {
    const uint64_t byte = *at++;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

// Small for small values of either sign.
uint64_t folded(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t unfolded(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

bool posts_request(OpKind kind) { return kind == OpKind::isend || kind == OpKind::irecv; }

}  // namespace

class ProgramStream : public Stream {
 public:
  explicit ProgramStream(const Program& program) : program_(program), at_(program.code_.size()) {
    for (std::size_t i = 0; i < at_.size(); ++i) at_[i].next = program.code_[i].data();
  }

  bool next(uint32_t thread, Op& op) override {
    Place& place = at_[thread];
    const auto& code = program_.code_[thread];
    const uint8_t* at = place.next;
    if (at == code.data() + code.size()) return false;
    const uint32_t rank = program_.rank_of(thread);
    const uint8_t head = *at++;
    op.kind = static_cast<OpKind>(head & kKindMask);
    op.site = place.site += static_cast<uint32_t>(unfolded(take(at)));
    if (op.kind == OpKind::compute) {
      std::memcpy(&op.ns, at, sizeof op.ns);
      at += sizeof op.ns;
    } else if (op.kind == OpKind::wait) {
      op.more = (head & more) != 0;
      op.handed = (head & handed) != 0;
      if (op.handed)
        op.number = take(at);
      else
        op.request = place.posted - take(at);
    } else if (op.kind == OpKind::hand) {
      op.number = take(at);
      op.request = (head & no_request) != 0 ? Op::kNoRequest : place.posted - take(at);
    } else if (op.kind == OpKind::branch) {
      op.more = (head & more) != 0;
      op.bytes = take(at);
      op.peer = static_cast<int32_t>(rank + unfolded(take(at)));
      place.posted = place.requests.after(op, place.posted);
    } else {
      op.synchronous = (head & synchronous) != 0;
      op.buffered = (head & buffered) != 0;
      op.peer = (head & any_source) != 0 ? Op::kAny : static_cast<int32_t>(rank + unfolded(take(at)));
      op.tag = (head & any_tag) != 0 ? Op::kAny : static_cast<int32_t>(take(at));
      op.communicator = static_cast<uint32_t>(take(at));
      op.bytes = take(at);
      if (posts_request(op.kind)) ++place.posted;
    }
    place.next = at;
    return true;
  }

 private:
  struct Place {
    const uint8_t* next = nullptr;
    uint32_t site = 0;
    uint64_t posted = 0;
    BranchRequests requests;
  };
  const Program& program_;
  std::vector<Place> at_;
};

uint32_t Program::add_thread(uint32_t rank) {
  further_.push_back(rank);
  code_.emplace_back();
  posted_.push_back(0);
  site_.push_back(0);
  requests_.emplace_back();
  return threads() - 1;
}

void Program::add(uint32_t thread, const Op& op) {
  auto& code = code_[thread];
  const uint32_t rank = rank_of(thread);
  const auto begin = [&](uint8_t marks) {
    code.push_back(static_cast<uint8_t>(static_cast<uint8_t>(op.kind) | marks));
    put(code, folded(int64_t{op.site} - std::exchange(site_[thread], op.site)));
  };
  const auto mark = [](bool set, Mark which) { return set ? which : Mark{}; };
  const auto request = [&] {
    if (op.request >= posted_[thread])
      refuse("{} waits for request {}, but has posted {}", thread_name(thread), op.request,
             posted_[thread]);
    put(code, posted_[thread] - op.request);
  };
  switch (op.kind) {
    case OpKind::compute: {
      begin(0);
      const auto* const bytes = reinterpret_cast<const uint8_t*>(&op.ns);
      code.insert(code.end(), bytes, bytes + sizeof op.ns);
      return;
    }
    case OpKind::wait:
      begin(mark(op.more, more) | mark(op.handed, handed));
      op.handed ? put(code, op.number) : request();
      return;
    case OpKind::hand:
      begin(mark(op.request == Op::kNoRequest, no_request));
      put(code, op.number);
      if (op.request != Op::kNoRequest) request();
      return;
    case OpKind::branch:
      begin(mark(op.more, more));
      put(code, op.bytes);
      put(code, folded(int64_t{op.peer} - rank));
      posted_[thread] = requests_[thread].after(op, posted_[thread]);
      return;
    default:
      begin(mark(op.synchronous, synchronous) | mark(op.buffered, buffered) |
            mark(op.peer == Op::kAny, any_source) | mark(op.tag == Op::kAny, any_tag));
  }
  if (op.peer != Op::kAny) put(code, folded(int64_t{op.peer} - rank));
  if (op.tag != Op::kAny) put(code, static_cast<uint64_t>(op.tag));
  put(code, op.communicator);
  put(code, op.bytes);
  if (posts_request(op.kind)) ++posted_[thread];
}

std::unique_ptr<Stream> Program::open() const { return std::make_unique<ProgramStream>(*this); }

std::string Program::where(uint32_t /*rank*/, uint32_t site) const {
  if (sites_.empty()) return fmt::format("line {}", site);
  return site < sites_.size() ? sites_[site] : fmt::format("call site {}", site);
}

}  // namespace ompl::model
