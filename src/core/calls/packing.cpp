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

}  // namespace

class Packing::Reader {
 public:
  explicit Reader(const CallEntry& entry)
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

void Packing::run(uint32_t caller, const CallEntry& entry, FunctionContext& by) {
  by.reply_due = false;
  const uint32_t function = entry.function & ~kTellAtOnce;
  const bool good = function == kGetElements ? get_elements(caller, entry, by)
                                             : function == kPutElements && put_elements(entry);
  if (!good)
    log::error(
        "dropped packed data of rank {} for offset {:#x}: it is not allocated here, or they are broken",
        caller, entry.payload);
}

std::size_t Packing::landing_capacity(const Shape& shape) {
  const std::size_t fixed = shape.wire_bytes(0);
  const std::size_t each = shape.wire_bytes(1) - fixed;
  const std::size_t named =
      each == 0 ? SIZE_MAX : (kOwnArguments - sizeof(PackedHeader) - fixed) / each;
  return std::min({named, kLandingElements / shape.element(), std::size_t{UINT16_MAX}});
}

int Packing::request(OutgoingCalls& outgoing, Context& c, uint32_t rank, uint64_t offset,
                     const Shape& shape, std::size_t first, std::size_t count, uint32_t place) {
  ArgumentWriter out;
  out.add(PackedHeader{.element = static_cast<uint32_t>(shape.element()),
                       .count = static_cast<uint16_t>(count),
                       .kind = shape.wire_kind(),
                       .signalled = 0});
  shape.write(first, count, out.room(shape.wire_bytes(count)));
  return outgoing.try_send(c, {.rank = rank,
                               .entry = {.function = kGetElements,
                                         .length = static_cast<uint32_t>(out.written().size()),
                                         .reply = place + 1,
                                         .ready = 0,
                                         .payload = offset,
                                         .payload_length = first},
                               .arguments = out.written(),
                               .ring_only = true});
}

// The elements of a call of the layer's own at this rank. As data and records from outside are checked.
struct Packing::Found {
  Strided block;
  Indexed list;
  const Shape* shape = nullptr;
  std::size_t first = 0;
  Extent known;
};

bool Packing::find(Reader& in, const PackedHeader& header, const CallEntry& entry, Found* found) {
  const bool is_list = header.kind == Shape::kList;
  const std::byte* const places =
      in.take(is_list ? header.count * sizeof(uint64_t) : header.kind * (2 * sizeof(uint64_t)));
  if (places == nullptr) return false;
  const bool read = is_list ? found->list.receive(header.element, header.count, places)
                            : found->block.receive(header.element, header.kind, places);
  if (!read) return false;
  found->shape = is_list ? static_cast<const Shape*>(&found->list) : &found->block;
  found->first = is_list ? 0 : entry.payload_length;
  const std::size_t all = found->shape->elements();
  if (found->first > all || header.count > all - found->first) return false;
  const auto inside = [&](uint64_t begin, std::size_t length) {
    return runtime_.memory.allocations().holds(begin, length, &found->known) ? OMPL_OK
                                                                             : OMPL_ERR_OFFSET;
  };
  return found->shape->check(inside, entry.payload) == OMPL_OK;
}

bool Packing::put_elements(const CallEntry& entry) {
  Reader in(entry);
  PackedHeader header{};
  PackedSignal signal{};
  Found found;
  if (!in.take(&header) || (header.signalled != 0 && !in.take(&signal))) return false;
  if (!find(in, header, entry, &found)) return false;
  const std::byte* const data = in.take(std::size_t{header.count} * header.element);
  if (data == nullptr) return false;
  found.shape->scatter(Side::remote, runtime_.memory.segment().base() + entry.payload, found.first,
                       header.count, data);
  if (header.signalled == 0) return true;
  uint64_t ignored = 0;
  const Signal record{.offset = signal.offset,
                      .value = signal.value,
                      .op = static_cast<SignalOp>(signal.op),
                      .function = static_cast<Function>(signal.function)};
  runtime_.sleepers.apply(record, found.known, &ignored);
  return true;
}

// The caller is answered in any case, for it waits.
bool Packing::get_elements(uint32_t caller, const CallEntry& entry, FunctionContext& by) {
  if (entry.reply == 0 || entry.reply > kLandings) return false;
  constexpr std::size_t kFront = offsetof(PackedLanding, elements) - offsetof(PackedLanding, code);
  by.landing.assign(kFront, std::byte{0});
  by.lands = true;
  by.reply_due = true;
  by.caller = caller;
  by.place = entry.reply - 1;
  Reader in(entry);
  PackedHeader header{};
  Found found;
  const bool good = in.take(&header) && find(in, header, entry, &found) &&
                    header.count <= kLandingElements / header.element;
  if (!good) {
    const int64_t code = OMPL_ERR_OFFSET;
    std::memcpy(by.landing.data(), &code, sizeof code);
    return false;
  }
  by.landing.resize(kFront + std::size_t{header.count} * header.element);
  found.shape->gather(Side::remote, runtime_.memory.segment().base() + entry.payload, found.first,
                      header.count, &by.landing[kFront]);
  return true;
}

}  // namespace ompl::calls
