// SPDX-License-Identifier: BSD-3-Clause
// Packed strided and indexed data: many small elements travel in few remote calls, whose function is the layer's own and
// runs where the others run. docs/explanation/packing.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/calls/function_context.hpp"
#include "core/calls/outgoing.hpp"
#include "core/data/shapes.hpp"
#include "core/wait/deadline.hpp"

namespace ompl::calls {

// Of packed elements, in front of what follows: the signal if there is one, the elements' places, the elements.
// In the call's entry `payload` is the offset of place 0 and `payload_length` the number of the first element.
struct PackedHeader {
  uint32_t element;   // bytes
  uint16_t count;     // elements in this call
  uint8_t kind;       // Shape::wire_kind()
  uint8_t signalled;  // 1: a PackedSignal follows
};
static_assert(sizeof(PackedHeader) == 8);
struct PackedSignal {
  uint64_t offset;
  uint64_t value;
  uint32_t op;
  uint32_t function;
};
static_assert(sizeof(PackedSignal) == 24);

// The layer's own functions.
inline constexpr uint32_t kPutElements = kOwnFunction | 1;
inline constexpr uint32_t kGetElements = kOwnFunction | 2;  // into the landing that `reply` names

class Packing {
 public:
  // Not in the range of codes: nothing was sent, and the elements are to go one by one.
  static constexpr int kNotPacked = INT32_MIN;
  // Longer elements go one by one: copying them would cost more than the messages saved.
  static constexpr std::size_t kLongestElement = 1024;
  // And so do fewer.
  static constexpr std::size_t kFewestElements = 4;
  static bool suits(const Shape& shape) {
    return shape.element() <= kLongestElement && shape.elements() >= kFewestElements;
  }

  Packing(Runtime& runtime, OutgoingCalls& outgoing) : runtime_(runtime), outgoing_(outgoing) {}

  // Elements of `local` to their remote places, `record`, unless null, after them. The first call is tried once if `once`, the others
  // follow in any case. OMPL_OK (`*end`: of the ring, when all are unpacked; the source may be reused), OMPL_RETRY_* (only if
  // `once`), an error or kNotPacked.
  int put(Caller& caller, uint32_t rank, uint64_t offset, const Shape& shape, const std::byte* local,
          const Signal* record, bool once, uint32_t* end);

  // The request of a packed get, tried once: as OutgoingCalls::try_send().
  static int request(OutgoingCalls& outgoing, Context& c, uint32_t rank, uint64_t offset,
                     const Shape& shape, std::size_t first, std::size_t count, uint32_t place);
  // How many elements one request may ask for.
  static std::size_t landing_capacity(const Shape& shape);

  // Runs a call of the layer's own, whose answer is left in `by`. Outside bytes.
  void run(uint32_t caller, const CallEntry& entry, FunctionContext& by);

 private:
  int send(Caller& caller, const Request& call, bool first, bool once, uint32_t* end);
  bool put_elements(const CallEntry& entry);
  bool get_elements(uint32_t caller, const CallEntry& entry, FunctionContext& by);
  struct Found;
  class Reader;
  bool find(Reader& in, const PackedHeader& header, const CallEntry& entry, Found* found);

  Runtime& runtime_;
  OutgoingCalls& outgoing_;
};

}  // namespace ompl::calls
