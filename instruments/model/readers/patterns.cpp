// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/patterns.hpp"

#include <array>
#include <charconv>
#include <vector>

#include "common/input_error.hpp"

namespace ompl::model {

namespace {

struct Shape {
  uint32_t ranks;
  uint64_t count, bytes, work;
};

// The operation that a rank does at a place of its program; false behind the last.
using Generator = bool (*)(const Shape& shape, uint32_t rank, uint64_t place, Op& op);

// Tells the call site too: the number of the operation in its round.
bool ring_calls(const Shape& shape, uint32_t rank, uint64_t place, Op& op) {
  constexpr uint64_t kOps = 8;
  const uint64_t round = place / kOps;
  const uint64_t step = place % kOps;
  if (round == shape.count) return false;
  constexpr uint64_t kPosts = 4;
  op = {};
  op.site = static_cast<uint32_t>(step);
  if (step >= kPosts) {
    op.kind = OpKind::wait;
    op.request = round * kPosts + step - kPosts;
    op.more = step + 1 < kOps;
    return true;
  }
  op.kind = step < 2 ? OpKind::irecv : OpKind::isend;
  const uint32_t left = rank == 0 ? shape.ranks - 1 : rank - 1;
  const uint32_t right = rank + 1 == shape.ranks ? 0 : rank + 1;
  op.peer = static_cast<int32_t>(step % 2 == 0 ? left : right);
  // What goes to the right has tag 0, what goes to the left tag 1.
  op.tag = step == 0 || step == 3 ? 0 : 1;
  op.bytes = shape.bytes;
  return true;
}

bool flood_calls(const Shape& shape, uint32_t rank, uint64_t place, Op& op) {
  op = {};
  const uint64_t others = shape.ranks - 1;
  if (rank != 0) {
    if (place == shape.count) return false;
    op.kind = OpKind::send;
    op.tag = static_cast<int32_t>(place);
    op.bytes = shape.bytes;
    return true;
  }
  if (place == 0) {
    op.ns = 1e15;  // later than all messages
    return true;
  }
  if (place > others * shape.count) return false;
  op.kind = OpKind::recv;
  op.site = 1;
  op.peer = static_cast<int32_t>(1 + (place - 1) % others);
  op.tag = static_cast<int32_t>(shape.count - 1 - (place - 1) / others);
  return true;
}

bool pingpong_calls(const Shape& shape, uint32_t rank, uint64_t place, Op& op) {
  op = {};
  const uint64_t ops = rank == 0 ? 3 : 2;
  if (place / ops == shape.count) return false;
  const uint64_t step = place % ops;
  op.site = static_cast<uint32_t>(step);
  op.peer = rank == 0 ? 1 : 0;
  op.bytes = shape.bytes;
  if (rank == 0) {
    constexpr std::array<OpKind, 3> kKinds{OpKind::send, OpKind::compute, OpKind::recv};
    op.kind = kKinds[step];
    op.ns = static_cast<double>(shape.work);
  } else {
    op.kind = step == 0 ? OpKind::recv : OpKind::send;
  }
  return true;
}

class PatternStream : public Stream {
 public:
  PatternStream(const Shape& shape, Generator generator)
      : shape_(shape), generator_(generator), place_(shape.ranks) {}
  bool next(uint32_t rank, Op& op) override { return generator_(shape_, rank, place_[rank]++, op); }

 private:
  Shape shape_;
  Generator generator_;
  std::vector<uint64_t> place_;
};

class Pattern : public Trace {
 public:
  Pattern(std::string name, const Shape& shape, Generator generator, uint32_t sites)
      : name_(std::move(name)), shape_(shape), generator_(generator), sites_(sites) {}
  [[nodiscard]] uint32_t ranks() const override { return shape_.ranks; }
  [[nodiscard]] uint32_t sites() const override { return sites_; }
  [[nodiscard]] std::unique_ptr<Stream> open() const override {
    return std::make_unique<PatternStream>(shape_, generator_);
  }
  [[nodiscard]] std::string where(uint32_t /*rank*/, uint32_t site) const override {
    return fmt::format("{}, call {}", name_, site);
  }

 private:
  std::string name_;
  Shape shape_;
  Generator generator_;
  uint32_t sites_;
};

// The numbers behind the colons.
std::vector<uint64_t> numbers(std::string_view text) {
  std::vector<uint64_t> out;
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    const char* const first = text.data() + colon + 1;
    const char* const last = text.data() + std::min(text.find(':', colon + 1), text.size());
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc{} || end != last) return {};
    out.push_back(value);
  }
  return out;
}

}  // namespace

bool is_pattern(std::string_view specification) {
  return specification.starts_with("ring:") || specification.starts_with("flood:") ||
         specification.starts_with("pingpong:");
}

std::unique_ptr<Trace> make_pattern(std::string_view specification) {
  const std::string name{specification.substr(0, specification.find(':'))};
  const auto n = numbers(specification);
  constexpr uint64_t kMostRanks = uint64_t{1} << 24, kMostTags = INT32_MAX;
  if (n.size() != 3)
    refuse("{}: a pattern is a name and three numbers, as ring:64:1000:8", specification);
  if (name == "pingpong")
    return std::make_unique<Pattern>(name, Shape{2, n[0], n[1], n[2]}, pingpong_calls, 3);
  if (n[0] < 2 || n[0] > kMostRanks) refuse("{}: the ranks must be 2 to {}", specification, kMostRanks);
  const Shape shape{static_cast<uint32_t>(n[0]), n[1], n[2], 0};
  if (name == "ring") return std::make_unique<Pattern>(name, shape, ring_calls, 8);
  if (name != "flood") refuse("{}: no such pattern", specification);
  if (n[1] > kMostTags) refuse("{}: more messages than there are tags", specification);
  return std::make_unique<Pattern>(name, shape, flood_calls, 2);
}

}  // namespace ompl::model
