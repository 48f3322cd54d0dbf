// SPDX-License-Identifier: BSD-3-Clause
// References and assignments as gfortran 15 calls them: by accessors.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "gfortran/accessors.hpp"

namespace gfortran {
namespace {

const char* const kReference = "reference to a coindexed object";
const char* const kAssignment = "assignment to a coindexed object";

struct Where {
  void* token;
  const Descriptor* descriptor;
  int image;
  void** team;
  const int* team_number;
};

int find_rank(const Where& where, uint32_t* rank) {
  if (where.team != nullptr)
    return caf::rank_of_image_in(static_cast<const caf::Team*>(*where.team), where.image, rank);
  if (where.team_number != nullptr) return caf::rank_of_image_in(*where.team_number, where.image, rank);
  return caf::rank_of_image(where.image, rank);
}

int locate(const Where& where, Side* side) {
  const auto* const token = static_cast<const Token*>(where.token);
  if (token == nullptr || token->magic != kCoarrayMagic || token->coarray == nullptr)
    return caf::refuse(caf::kWrong, "the coarray is not allocated");
  if (const int code = find_rank(where, &side->rank); code != caf::kOk) return code;
  side->token = token;
  side->access.descriptor = where.descriptor;
  side->access.image = caf::this_image();
  if (const int code = caf::address_on(token->coarray, side->rank, &side->base); code != caf::kOk)
    return code;
  if (where.descriptor == nullptr) return caf::kOk;
  const auto own = reinterpret_cast<uintptr_t>(caf::own_memory(token->coarray));
  const auto base = reinterpret_cast<uintptr_t>(where.descriptor->base);
  if (base >= own && base - own < caf::bytes_of(token->coarray)) side->base += base - own;  // of a part of it
  return caf::kOk;
}

// The lengths of strings; `counted_by` is the one that counts the characters of what is transferred.
void set_lengths(Access* access, const std::size_t* local, const std::size_t* remote, int counted_by) {
  const std::size_t* const given[2] = {local, remote};
  for (int side = 0; side < 2; ++side) {
    access->has_length[side] = given[side] != nullptr;
    access->length[side] = given[side] == nullptr ? 0 : *given[side];
  }
  access->counted_by = given[counted_by] == nullptr ? -1 : counted_by;
}

void set_data(Access* access, int hash, void* data, std::size_t bytes) {
  access->hash = hash;
  access->data = data;
  access->data_bytes = data == nullptr ? 0 : bytes;
}

int no_memory(std::size_t bytes) { return caf::refuse(caf::kNoMemory, "no memory for %zu bytes", bytes); }

// Into an array that the compiler has made for it, or that gets its memory now.
int deliver_array(Value* value, Descriptor* target, bool may_reallocate) {
  if (value->data == target->base && target->base != nullptr) return caf::kOk;
  if (target->base != nullptr && !may_reallocate) {
    const std::size_t room = shape_of(*target).count() * target->elem_len;
    if (value->bytes > room)
      return caf::refuse(caf::kWrong, "%zu bytes are assigned to %zu", value->bytes, room);
    if (value->bytes > 0) std::memcpy(target->base, value->data, value->bytes);
    return caf::kOk;
  }
  const std::byte* const data = value->data;
  void* memory = value->take();
  if (memory == nullptr) {
    memory = std::malloc(std::max<std::size_t>(value->bytes, 1));  // the program frees it
    if (memory == nullptr) return no_memory(value->bytes);
    if (value->bytes > 0) std::memcpy(memory, data, value->bytes);
  }
  std::free(target->base);
  target->base = memory;
  target->offset = value->array.offset;
  target->span = value->array.span;
  target->elem_len = value->array.elem_len;
  std::copy_n(value->array.dim, target->rank, target->dim);
  return caf::kOk;
}

int deliver_scalar(const Value& value, std::size_t room, void** target) {
  if (*target == nullptr || value.bytes > room) {
    *target = std::malloc(std::max<std::size_t>(value.bytes, 1));
    if (*target == nullptr) return no_memory(value.bytes);
  }
  if (value.data != *target && value.bytes > 0) std::memmove(*target, value.data, value.bytes);
  return caf::kOk;
}

// A reference, by an accessor that runs here, to what its caller gave it. Nothing in it needs a destructor, since it may not return.
void refer_to_caller(const void* token, Access* of, int hash, std::size_t unit, void** target,
                     Descriptor* array) {
  if (of->given != nullptr) {
    const Value& value = given_value(token, {hash, array != nullptr, unit});
    Value borrowed;
    borrowed.array = value.array;
    borrowed.data = value.data;
    borrowed.bytes = value.bytes;
    if (array != nullptr) {
      deliver_array(&borrowed, array, array->base == nullptr);
    } else {
      deliver_scalar(borrowed, unit, target);
    }
    return;
  }
  Side side;
  side.rank = static_cast<uint32_t>(ompl_rank());
  side.base = reinterpret_cast<uintptr_t>(of->data);
  side.access.hash = hash;
  side.access.image = of->image;
  side.access.unit = unit;
  Value value;
  fetch(&side, array, array != nullptr ? nullptr : *target, &value);
  if (array != nullptr) {
    deliver_array(&value, array, array->base == nullptr);
  } else {
    deliver_scalar(value, unit, target);
  }
}

int get(const Where& where, Side* side, std::size_t* target_length, Descriptor* target, void** scalar,
        bool may_reallocate) {
  int code = locate(where, side);
  if (code != caf::kOk) return code;
  Value value;
  const std::size_t room = scalar_bytes(side->access);
  Descriptor like{};
  if (target != nullptr) {
    std::memcpy(&like, target, descriptor_bytes(target->rank));
    if (may_reallocate) like.base = nullptr;
  }
  code = fetch(side, target == nullptr ? nullptr : &like, target == nullptr ? *scalar : nullptr, &value);
  if (code != caf::kOk) return code;
  if (target_length != nullptr) *target_length = side->access.length[0];
  return target != nullptr ? deliver_array(&value, target, may_reallocate)
                           : deliver_scalar(value, room, scalar);
}

}  // namespace
}  // namespace gfortran

using namespace gfortran;

CAF_API void _gfortran_caf_get_from_remote(
    void* token, const Descriptor* source, const std::size_t* source_length, int image,
    std::size_t target_size, void** target_data, std::size_t* target_length, Descriptor* target,
    bool may_reallocate, int accessor, void* data, std::size_t data_bytes, int* stat, void** team,
    int* team_number) {
  if (Access* const of = access_of_caller(token); of != nullptr)
    return refer_to_caller(token, of, accessor, target_size, target_data, target);
  Side side;
  side.access.unit = target_size;
  set_lengths(&side.access, target_length, source_length, 0);
  set_data(&side.access, accessor, data, data_bytes);
  const int code =
      get({token, source, image, team, team_number}, &side, target_length, target, target_data, may_reallocate);
  report(code, kReference, stat);
}

CAF_API void _gfortran_caf_send_to_remote(void* token, Descriptor* target, const std::size_t* target_length,
                                          int image, std::size_t source_size, const void* source_data,
                                          const std::size_t* source_length, const Descriptor* source,
                                          int accessor, void* data, std::size_t data_bytes, int* stat,
                                          void** team, int* team_number) {
  Side side;
  side.access.unit = source_size;
  set_lengths(&side.access, source_length, target_length, 0);
  set_data(&side.access, accessor, data, data_bytes);
  int code = locate({token, target, image, team, team_number}, &side);
  if (code == caf::kOk) code = store(&side, source, source_data);
  report(code, kAssignment, stat);
}

// gfortran 15 passes four of the six arguments that its manual names at the end, in this order; the source's team is not among them.
CAF_API void _gfortran_caf_transfer_between_remotes(
    void* target_token, Descriptor* target, std::size_t* target_length, int target_image,
    int target_accessor, void* target_data, std::size_t target_data_bytes, void* source_token,
    const Descriptor* source, const std::size_t* source_length, int source_image, int source_accessor,
    void* source_data, std::size_t source_data_bytes, std::size_t source_size, bool scalar,
    int* target_stat, void** target_team, int* target_team_number, int* source_stat) {
  Side from;
  from.access.unit = source_size;
  set_lengths(&from.access, target_length, source_length, source_length != nullptr ? 1 : 0);
  set_data(&from.access, source_accessor, source_data, source_data_bytes);
  Value value;
  const Descriptor like{};
  int code = locate({source_token, source, source_image, nullptr, nullptr}, &from);
  if (code == caf::kOk) code = fetch(&from, scalar ? nullptr : &like, nullptr, &value);
  report(code, kReference, source_stat);
  if (code != caf::kOk) return;
  Side to;
  to.access.unit = source_size;
  set_lengths(&to.access, source_length, target_length, 0);
  set_data(&to.access, target_accessor, target_data, target_data_bytes);
  code = locate({target_token, target, target_image, target_team, target_team_number}, &to);
  value.array.base = const_cast<std::byte*>(value.data);
  if (code == caf::kOk) code = store(&to, scalar ? nullptr : &value.array, value.data);
  report(code, kAssignment, target_stat);
}

CAF_API int32_t _gfortran_caf_is_present_on_remote(void* token, int image, int accessor, void* data,
                                                   std::size_t data_bytes) {
  if (token == nullptr) return 0;
  Side side;
  set_data(&side.access, accessor, data, data_bytes);
  bool present = false;
  int code = locate({token, nullptr, image, nullptr, nullptr}, &side);
  if (code == caf::kOk) code = ask_presence(&side, &present);
  report(code, "allocated", nullptr);
  return present ? 1 : 0;
}
