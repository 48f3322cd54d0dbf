// SPDX-License-Identifier: BSD-3-Clause
// Accessors at any image. On coarrays of intrinsic types that are mapped here they run here: they see nothing but the elements. All
// others run at the owner, by a request.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "gfortran/wire.hpp"

namespace gfortran {
namespace {

constexpr int kAccessService = 1;
constexpr int kForgetService = 2;
constexpr std::size_t kGuess = 4096;  // bytes of a value whose size the owner alone knows

void* as_pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// --- At the owner

uint64_t more(const Want& want) {
  return static_cast<uint64_t>(static_cast<uint32_t>(want.hash)) << 32 | (want.unit & 0xffffff) << 8 |
         (want.is_array ? kMoreArray : kMore);
}

uint64_t send_answer(const caf::Asked& asked, const Head& head, const Access& access, Result* result) {
  Answer answer{result->bytes, 0, result->owned ? 1U : 0U, access.length[0], result->array};
  const void* const data = head.is_array ? result->array.base : result->scalar;
  const std::size_t front = answer_bytes(head.is_array);
  constexpr std::size_t kShort = 2048;
  if (front + result->bytes > head.room) {
    answer.kept = reinterpret_cast<uintptr_t>(data);
    return caf::answer(asked, head.reply, &answer, front) ? kDone : kNotSent;
  }
  bool sent = false;
  if (front + result->bytes <= kShort) {
    std::byte both[kShort];
    std::memcpy(both, &answer, front);
    if (result->bytes > 0) std::memcpy(both + front, data, result->bytes);
    sent = caf::answer(asked, head.reply, both, front + result->bytes);
  } else {
    sent = caf::answer(asked, head.reply, &answer, front) &&
           caf::answer(asked, head.reply + front, data, result->bytes);
  }
  if (result->owned) std::free(const_cast<void*>(data));
  return sent ? kDone : kNotSent;
}

uint64_t get_here(const caf::Asked& asked, const Head& head, Access* access, Reader* rest) {
  Result result;
  if (head.is_array) result.array = rest->take<Descriptor>();
  const Want want = run_getter(access, head.is_array, &result);
  return want.hash != 0 ? more(want) : send_answer(asked, head, *access, &result);
}

uint64_t put_here(Access* access, Reader* rest) {
  Value value;
  rest->take(&value);
  value.array.base = const_cast<std::byte*>(value.data);
  const Want want =
      run_receiver(access, value.is_array ? static_cast<const void*>(&value.array) : value.data);
  return want.hash != 0 ? more(want) : kDone;
}

uint64_t presence_here(Access* access) {
  bool present = false;
  const Want want = run_presence(access, &present);
  return want.hash != 0 ? more(want) : present ? kPresent : kAbsent;
}

uint64_t access_here(const caf::Asked& asked) {
  Reader in(asked.arguments);
  const auto& head = in.take<Head>();
  if (!has_accessor(head.hash)) return kUnknown;
  Access access;
  access.hash = head.hash;
  access.image = head.image;
  access.base = as_pointer(head.base);
  access.unit = head.unit;
  access.counted_by = head.counted_by;
  std::copy_n(head.has_length, 2, access.has_length);
  std::copy_n(head.length, 2, access.length);
  if (head.has_bounds) access.descriptor = &in.take<Descriptor>();
  access.data_bytes = head.data_bytes;
  access.data = const_cast<std::byte*>(in.take(head.data_bytes));
  std::vector<Wanted> given(head.given);
  for (Wanted& each : given) {
    each.hash = in.take<int32_t>();
    in.take(&each.value);
  }
  access.given = &given;
  if (head.kind == Kind::get) return get_here(asked, head, &access, &in);
  return head.kind == Kind::put ? put_here(&access, &in) : presence_here(&access);
}

uint64_t forget_here(const caf::Asked& asked) {
  uint64_t kept = 0;
  std::memcpy(&kept, asked.arguments, sizeof kept);
  std::free(as_pointer(kept));
  return 0;
}

// Known to the core before it begins.
const bool kOffered = [] {
  caf::offer(kAccessService, &access_here);
  caf::offer(kForgetService, &forget_here);
  return true;
}();

// --- At the caller

// Runs the accessor of a nested reference on what this image gave.
Wanted answer_to(const Access& access, uint64_t reply) {
  Access nested;
  nested.hash = static_cast<int>(reply >> 32);
  nested.image = access.image;
  nested.base = access.data;
  nested.unit = reply >> 8 & 0xffffff;
  Result result;
  Wanted wanted;
  wanted.hash = nested.hash;
  wanted.value.is_array = (reply & 0xff) == kMoreArray;
  run_getter(&nested, wanted.value.is_array, &result);
  wanted.value.array = result.array;
  wanted.value.bytes = result.bytes;
  void* const data = wanted.value.is_array ? result.array.base : result.scalar;
  wanted.value.data = static_cast<const std::byte*>(data);
  if (result.owned) wanted.value.keep(Value::Memory::heap, data);
  return wanted;
}

// What accessors wanted before, so that it is sent with the first request.
std::vector<uint64_t>& wishes_of(int hash) {
  thread_local std::map<int, std::vector<uint64_t>> known;
  return known[hash];
}

struct Request {
  Kind kind;
  uint64_t reply = 0, room = 0;
  const Descriptor* like = nullptr;  // of a get into an array
  const Value* value = nullptr;      // of a put
};

Writer written(const Side& side, const Request& request, const std::vector<Wanted>& given) {
  const Access& access = side.access;
  Head head{request.kind, access.hash, access.image, access.counted_by, side.base, request.reply,
            request.room, access.data_bytes, access.unit, {access.length[0], access.length[1]},
            static_cast<uint32_t>(given.size()), {access.has_length[0], access.has_length[1]},
            access.descriptor != nullptr, request.like != nullptr};
  Writer out(access.data_bytes + (request.value == nullptr ? 0 : request.value->bytes));
  out.add(&head, sizeof head);
  if (head.has_bounds) {
    Descriptor bounds{};
    std::memcpy(&bounds, access.descriptor, descriptor_bytes(access.descriptor->rank));
    out.add(&bounds, sizeof bounds);
  }
  out.add(access.data, access.data_bytes);
  for (const Wanted& each : given) {
    const int32_t hash = each.hash;
    out.add(&hash, sizeof hash);
    out.add(each.value);
  }
  if (head.is_array) {
    Descriptor like{};
    std::memcpy(&like, request.like, descriptor_bytes(request.like->rank));
    like.base = nullptr;
    out.add(&like, sizeof like);
  }
  if (request.value != nullptr) out.add(*request.value);
  return out;
}

int outcome(uint64_t reply) {
  if (reply == kUnknown)
    return caf::refuse(caf::kWrong, "that image runs a program without this reference: start the same "
                                    "program on all images");
  if (reply == kNotSent) return caf::refuse(caf::kLayer, "that image cannot send its answer");
  return caf::kOk;
}

// Until the accessor has all that it refers to.
int ask(const Side& side, const Request& request, uint64_t* reply) {
  (void)kOffered;
  std::vector<uint64_t>& wishes = wishes_of(side.access.hash);
  std::vector<Wanted> given;
  for (const uint64_t wish : wishes) given.push_back(answer_to(side.access, wish));
  for (;;) {
    const Writer out = written(side, request, given);
    const int code =
        caf::ask(side.rank, kAccessService, out.bytes().data(), out.bytes().size(), reply);
    if (code != caf::kOk) return code;
    if ((*reply & 0xff) != kMore && (*reply & 0xff) != kMoreArray) return outcome(*reply & 0xff);
    wishes.push_back(*reply);
    given.push_back(answer_to(side.access, *reply));
  }
}

// Accessors count from 1 in an array whose extents fit, whatever its bounds and its offset are.
void count_from_one(Descriptor* array) {
  std::ptrdiff_t stride = 1;
  std::ptrdiff_t offset = 0;
  for (int d = 0; array->base != nullptr && d < array->rank; ++d) {
    const auto extent = static_cast<std::ptrdiff_t>(array->dim[d].extent());
    array->dim[d] = {stride, 1, extent};
    offset -= stride;
    stride *= extent;
  }
  array->offset = static_cast<std::size_t>(offset);
}

// Where the accessor may run in this process.
void* reach(const Side& side) {
  if (side.rank == static_cast<uint32_t>(ompl_rank())) return as_pointer(side.base);
  if (!side.token->plain) return nullptr;
  return caf::direct(side.rank, side.base, caf::bytes_of(side.token->coarray));
}

void take_result(const Result& result, Value* value) {
  void* const data = value->is_array ? result.array.base : result.scalar;
  value->array = result.array;
  value->data = static_cast<const std::byte*>(data);
  value->bytes = result.bytes;
  if (result.owned) value->keep(Value::Memory::heap, data);
}

// What the owner kept, since there was no room for it.
int fetch_kept(const Side& side, const Answer& answer, Value* value) {
  void* const memory = std::malloc(answer.bytes + 1);
  if (memory == nullptr) return caf::refuse(caf::kNoMemory, "no memory for %zu bytes", answer.bytes);
  value->data = static_cast<const std::byte*>(memory);
  value->keep(Value::Memory::heap, memory);
  int code = caf::get(side.rank, answer.kept, memory, answer.bytes);
  uint64_t reply = 0;
  if (code == caf::kOk && answer.owned != 0)
    code = caf::ask(side.rank, kForgetService, &answer.kept, sizeof answer.kept, &reply);
  return code;
}

int fetch_there(Side* side, const Descriptor* like, Value* value) {
  const bool known = like != nullptr && like->base != nullptr;
  const std::size_t expected = known               ? shape_of(*like).count() * like->elem_len
                               : like != nullptr ? kGuess
                                                 : scalar_bytes(side->access);
  const std::size_t front = answer_bytes(like != nullptr);
  const std::size_t room = front + expected;
  auto* const staging = static_cast<std::byte*>(caf::allocate_component(room));
  if (staging == nullptr) return caf::refuse(caf::kNoMemory, "no memory to receive %zu bytes", room);
  uint64_t reply = 0;
  const Request request{Kind::get, reinterpret_cast<uintptr_t>(staging), room, like, nullptr};
  int code = ask(*side, request, &reply);
  Answer answer{};
  if (code == caf::kOk) std::memcpy(&answer, staging, front);
  value->array = answer.array;
  value->bytes = answer.bytes;
  side->access.length[0] = answer.length;
  if (code != caf::kOk || answer.kept != 0) {
    caf::release_component(staging);
    return code != caf::kOk ? code : fetch_kept(*side, answer, value);
  }
  value->data = staging + front;
  value->keep(Value::Memory::component, staging);
  return caf::kOk;
}

// An element of an intrinsic type on another host lies where the accessor finds it in the own coarray.
bool find_element(const Side& side, uint64_t* address) {
  if (!side.token->plain) return false;
  Access here = side.access;
  void* const whole = caf::own_memory(side.token->coarray);
  here.base = here.descriptor == nullptr ? whole : here.descriptor->base;
  Result result;
  if (run_getter(&here, false, &result).hash != 0 || result.owned) return false;
  const auto own = reinterpret_cast<uintptr_t>(whole);
  const auto found = reinterpret_cast<uintptr_t>(result.scalar);
  const std::size_t all = caf::bytes_of(side.token->coarray);
  if (found < own || result.bytes > all || found - own > all - result.bytes) return false;
  *address = side.base + (found - reinterpret_cast<uintptr_t>(here.base));
  return true;
}

// The bounds of an array whose elements have been packed.
Value packed_array(const Descriptor& array, const std::vector<std::byte>& elements, std::size_t bytes) {
  Value value;
  value.is_array = true;
  std::memcpy(&value.array, &array, descriptor_bytes(array.rank));
  value.array.base = const_cast<std::byte*>(elements.data());
  value.array.span = static_cast<std::ptrdiff_t>(array.elem_len);
  std::ptrdiff_t stride = 1;
  std::ptrdiff_t offset = 0;
  for (int d = 0; d < array.rank; ++d) {
    value.array.dim[d].stride = stride;
    offset -= stride * array.dim[d].lower;
    stride *= static_cast<std::ptrdiff_t>(array.dim[d].extent());
  }
  value.array.offset = static_cast<std::size_t>(offset);
  value.data = elements.data();
  value.bytes = bytes;
  return value;
}

}  // namespace

int fetch(Side* side, const Descriptor* like, void* into, Value* value) {
  value->is_array = like != nullptr;
  if (const int code = caf::alive(side->rank); code != caf::kOk) return code;
  if (void* const here = reach(*side); here != nullptr) {
    Result result;
    if (like != nullptr) std::memcpy(&result.array, like, descriptor_bytes(like->rank));
    if (here == as_pointer(side->base)) result.array.base = nullptr;  // the two may overlap
    count_from_one(&result.array);
    side->access.base = here;
    run_getter(&side->access, like != nullptr, &result);
    take_result(result, value);
    return caf::kOk;
  }
  uint64_t address = 0;
  if (like != nullptr || into == nullptr || !find_element(*side, &address))
    return fetch_there(side, like, value);
  value->data = static_cast<const std::byte*>(into);
  value->bytes = scalar_bytes(side->access);
  return caf::get(side->rank, address, into, value->bytes);
}

int store(Side* side, const Descriptor* array, const void* scalar) {
  if (const int code = caf::alive(side->rank); code != caf::kOk) return code;
  void* const here = reach(*side);
  const bool own = here == as_pointer(side->base);
  if (here != nullptr && (!own || array == nullptr)) {
    side->access.base = here;
    run_receiver(&side->access, array != nullptr ? array : scalar);
    return caf::kOk;
  }
  Value value;
  std::vector<std::byte> packed;
  if (array == nullptr) {
    value.data = static_cast<const std::byte*>(scalar);
    value.bytes = scalar_bytes(side->access);
  } else {
    const caf::Shape shape = shape_of(*array);
    const caf::Shape contiguous = caf::packed(shape, array->elem_len);
    packed.resize(shape.count() * array->elem_len + 1);
    if (shape.count() > 0)
      caf::copy_block(packed.data(), contiguous, static_cast<const std::byte*>(array->base), shape,
                      array->elem_len);
    value = packed_array(*array, packed, shape.count() * array->elem_len);
  }
  if (own) {
    side->access.base = here;
    run_receiver(&side->access, &value.array);
    return caf::kOk;
  }
  uint64_t reply = 0;
  return ask(*side, {Kind::put, 0, 0, nullptr, &value}, &reply);
}

int ask_presence(Side* side, bool* present) {
  if (side->rank == static_cast<uint32_t>(ompl_rank())) {
    side->access.base = as_pointer(side->base);
    run_presence(&side->access, present);
    return caf::kOk;
  }
  uint64_t reply = 0;
  const int code = ask(*side, {Kind::presence, 0, 0, nullptr, nullptr}, &reply);
  *present = (reply & 0xff) == kPresent;
  return code;
}

}  // namespace gfortran
