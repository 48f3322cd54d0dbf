// SPDX-License-Identifier: BSD-3-Clause
#include "core/calls/packing.hpp"

#include <array>
#include <cstring>

#include "core/calls/scope.hpp"
#include "core/job/runtime.hpp"
#include "core/wait/block.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::calls {
namespace {

// How many elements fit into a call.
std::size_t capacity(const Shape& shape, bool signalled) {
  const std::size_t fixed = shape.wire_bytes(0);
  const std::size_t each = shape.wire_bytes(1) - fixed + shape.element();
  return (kOwnArguments - sizeof(PackedHeader) - (signalled ? sizeof(PackedSignal) : 0) - fixed) / each;
}

// The bytes of a call, one after the other.
class ArgumentWriter {
 public:
  template <class T>
  void add(const T& value) {
    std::memcpy(room(sizeof value), &value, sizeof value);
  }
  std::byte* room(std::size_t bytes) {
    std::byte* const begin = &bytes_[length_];
    length_ += bytes;
    return begin;
  }
  [[nodiscard]] std::span<const std::byte> written() const { return {bytes_.data(), length_}; }

 private:
  alignas(16) std::array<std::byte, kOwnArguments> bytes_;
  std::size_t length_ = 0;
};

class ArgumentReader {
 public:
  explicit ArgumentReader(const CallEntry& entry)
      : at_(reinterpret_cast<const std::byte*>(&entry + 1)), left_(entry.length) {}
  template <class T>
  bool take(T* value) {
    const std::byte* const from = take(sizeof *value);
    if (from != nullptr) std::memcpy(value, from, sizeof *value);
    return from != nullptr;
  }
  const std::byte* take(std::size_t bytes) {
    if (bytes > left_) return nullptr;
    left_ -= bytes;
    return std::exchange(at_, at_ + bytes);
  }

 private:
  const std::byte* at_;
  std::size_t left_;
};

}  // namespace

int Packing::put(Caller& caller, uint32_t rank, uint64_t offset, const Shape& shape,
                 const std::byte* local, const Signal* record, bool once, uint32_t* end) {
  const std::size_t fits = capacity(shape, record != nullptr);
  const std::size_t all = shape.elements();
  for (std::size_t first = 0; first < all;) {
    const std::size_t count = std::min(fits, all - first);
    const bool last = first + count == all;
    const bool signalled = last && record != nullptr;
    ArgumentWriter out;
    out.add(PackedHeader{.element = static_cast<uint32_t>(shape.element()),
                         .count = static_cast<uint16_t>(count),
                         .kind = shape.wire_kind(),
                         .signalled = signalled ? uint8_t{1} : uint8_t{0}});
    if (signalled)
      out.add(PackedSignal{.offset = record->offset,
                           .value = record->value,
                           .op = static_cast<uint32_t>(record->op),
                           .function = static_cast<uint32_t>(record->function)});
    shape.write(first, count, out.room(shape.wire_bytes(count)));
    shape.gather(Side::local, local, first, count, out.room(count * shape.element()));
    const Request call{.rank = rank,
                       .entry = {.function = kPutElements | (last ? kTellAtOnce : 0),
                                 .length = static_cast<uint32_t>(out.written().size()),
                                 .reply = 0,
                                 .ready = 0,
                                 .payload = offset,
                                 .payload_length = first},
                       .arguments = out.written(),
                       .ring_only = true};
    if (const int code = send(caller, call, first == 0, once, end); code != OMPL_OK) return code;
    first += count;
  }
  return OMPL_OK;
}

int Packing::send(Caller& caller, const Request& call, bool first, bool once, uint32_t* end) {
  int code = outgoing_.try_send(caller.now(), call, end);
  if (first && code == OMPL_ERR_MEMORY) return kNotPacked;
  if (!is_retry(code) || (first && once)) return code;
  const Blocked what{.call = Call::put, .peer = call.rank, .keeps_thread = !first};
  Blocker blocker(caller.now(), what, Deadline::never());
  return blocker.run([&] {
    code = outgoing_.try_send(blocker.context(), call, end);
    if (code == OMPL_RETRY_BUSY) blocker.stay_awake();
    return is_retry(code) ? 0 : code == OMPL_OK ? 1 : code;
  });
}

void Packing::run(uint32_t caller, const CallEntry& entry) {
  const uint32_t function = entry.function & ~kTellAtOnce;
  const bool good = function == kPutElements && put_elements(entry);
  if (!good)
    log::error(
        "dropped packed data of rank {} for offset {:#x}: it is not allocated here, or they are broken",
        caller, entry.payload);
}

// As data and records from outside are checked.
bool Packing::put_elements(const CallEntry& entry) {
  ArgumentReader in(entry);
  PackedHeader header{};
  PackedSignal signal{};
  if (!in.take(&header) || (header.signalled != 0 && !in.take(&signal))) return false;
  Strided block;
  Indexed list;
  const bool is_list = header.kind == Shape::kList;
  const std::byte* const places =
      in.take(is_list ? header.count * sizeof(uint64_t) : header.kind * 2 * sizeof(uint64_t));
  const std::byte* const data = in.take(std::size_t{header.count} * header.element);
  if (places == nullptr || data == nullptr) return false;
  const bool read = is_list ? list.receive(header.element, header.count, places)
                            : block.receive(header.element, header.kind, places);
  if (!read) return false;
  const Shape& shape = is_list ? static_cast<const Shape&>(list) : block;
  const std::size_t first = is_list ? 0 : entry.payload_length;
  if (first > shape.elements() || header.count > shape.elements() - first) return false;
  Extent known;
  const auto inside = [&](uint64_t begin, std::size_t length) {
    return runtime_.memory.allocations().holds(begin, length, &known) ? OMPL_OK : OMPL_ERR_OFFSET;
  };
  if (shape.check(inside, entry.payload) != OMPL_OK) return false;
  shape.scatter(Side::remote, runtime_.memory.segment().base() + entry.payload, first, header.count,
                data);
  if (header.signalled == 0) return true;
  uint64_t ignored = 0;
  const Signal record{.offset = signal.offset,
                      .value = signal.value,
                      .op = static_cast<SignalOp>(signal.op),
                      .function = static_cast<Function>(signal.function)};
  runtime_.sleepers.apply(record, known, &ignored);
  return true;
}

}  // namespace ompl::calls
