// SPDX-License-Identifier: BSD-3-Clause
// Registration: coarrays of all images of a team, and components that an image allocates alone. The compiler uses the same
// call for both; a token that lies in the segment is a component's.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "gfortran/accessors.hpp"

namespace gfortran {
namespace {

ComponentToken* component_of(void* token) {
  if (token == nullptr || !caf::in_own_segment(token)) return nullptr;
  auto* const component = static_cast<ComponentToken*>(token);
  return component->magic == kComponentMagic ? component : nullptr;
}

bool of_a_component(int type, void** token) {
  const bool known = type == kAllocateOnly && *token != nullptr && component_of(*token) == nullptr &&
                     !caf::in_own_segment(token);
  if (known && static_cast<Token*>(*token)->magic == kCoarrayMagic) return false;
  return type == kRegisterOnly || type == kAllocateOnly ||
         (type == kCoarrayAllocate && caf::in_own_segment(token));
}

// Statements of the program and accessors call realloc() on components of which the token says where they were at first. Of an array
// the descriptor stands before the token; what else has moved cannot be found, and stays.
void release_memory(const ComponentToken& component, void** token) {
  if (!accessors_in_use)
    return caf::release_component(
        reinterpret_cast<void*>(component.address));  // NOLINT(performance-no-int-to-ptr)
  if (component.rank > 0) {
    const auto* const place = reinterpret_cast<std::byte*>(token) - descriptor_bytes(component.rank);
    std::free(reinterpret_cast<const Descriptor*>(place)->base);
  } else if (!component.text) {
    std::free(reinterpret_cast<void*>(component.address));  // NOLINT(performance-no-int-to-ptr)
  }
}

int register_component(std::size_t bytes, int type, void** token, Descriptor* descriptor) {
  if (type == kRegisterOnly) {
    auto* const component =
        static_cast<ComponentToken*>(caf::allocate_component(sizeof(ComponentToken)));
    if (component == nullptr) return caf::refuse(caf::kNoMemory, "no memory for a component");
    *component = {kComponentMagic, 0, 0, descriptor->rank, descriptor->type == kCharacter};
    *token = component;
    return caf::kOk;
  }
  if (component_of(*token) == nullptr) *token = nullptr;
  void* const memory = renew_component(token, bytes);
  if (memory == nullptr)
    return caf::refuse(caf::kNoMemory, "no memory for a component of %zu bytes", bytes);
  descriptor->base = memory;
  component_of(*token)->rank = descriptor->rank;
  component_of(*token)->text = descriptor->type == kCharacter;
  return caf::kOk;
}

int register_coarray(std::size_t size, int type, void** token, Descriptor* descriptor) {
  const bool words = type >= kLockStatic && type <= kEventAllocate;
  const std::size_t bytes = words ? size * caf::kWord : size;
  caf::Coarray* coarray = nullptr;
  const int code = caf::allocate(bytes, words ? caf::Fill::zero : caf::Fill::none, &coarray);
  if (coarray == nullptr) return code;
  auto* made = type == kAllocateOnly ? static_cast<Token*>(*token) : new Token;
  made->type = type;
  made->coarray = coarray;
  made->plain = descriptor->type >= kInteger && descriptor->type != kDerived;
  if (accessors_in_use && !made->plain) caf::serve_requests();
  if (type != kCoarrayStatic && descriptor->rank > 0) made->descriptor = descriptor;
  *token = made;
  descriptor->base = caf::own_memory(coarray);
  return code;
}

}  // namespace

bool allocation_had_stat = false;

void* renew_component(void** token, std::size_t bytes) {
  auto* component = static_cast<ComponentToken*>(*token);
  if (component == nullptr) {
    component = static_cast<ComponentToken*>(caf::allocate_component(sizeof(ComponentToken)));
    if (component == nullptr) return nullptr;
    *component = {kComponentMagic, 0, 0, 0, false};
    *token = component;
  }
  const std::size_t room = std::max<std::size_t>(bytes, 1);
  void* const memory = accessors_in_use ? std::malloc(room) : caf::allocate_component(room);
  if (memory == nullptr) return nullptr;
  component->address = reinterpret_cast<uintptr_t>(memory);
  component->bytes = bytes;
  return memory;
}

int locate(const void* token, int image, uint32_t* rank, uint64_t* address) {
  if (token == nullptr) return caf::refuse(caf::kWrong, "the coarray is not allocated");
  if (const int code = caf::rank_of_image(image, rank); code != caf::kOk) return code;
  const auto* const known = static_cast<const Token*>(token);
  if (known->magic != kCoarrayMagic || known->coarray == nullptr)
    return caf::refuse(caf::kWrong, "the coarray is not allocated");
  return caf::address_on(known->coarray, *rank, address);
}

}  // namespace gfortran

using namespace gfortran;

CAF_API void _gfortran_caf_register(std::size_t size, int type, void** token, Descriptor* descriptor,
                                    int* stat, char* message, std::size_t length) {
  caf::begin();  // static coarrays come before main
  const bool component = of_a_component(type, token);
  const int code = component ? register_component(size, type, token, descriptor)
                             : register_coarray(size, type, token, descriptor);
  if (!component && type != kCoarrayStatic) allocation_had_stat = stat != nullptr;
  report(code, component ? "allocate a component" : "allocate a coarray", stat, message, length);
}

CAF_API void _gfortran_caf_deregister(void** token, int type, int* stat, char* message,
                                      std::size_t length) {
  constexpr int kDeallocateOnly = 1;
  if (stat != nullptr) *stat = caf::kOk;
  if (*token == nullptr) return;
  if (ComponentToken* const component = component_of(*token); component != nullptr) {
    release_memory(*component, token);
    component->address = component->bytes = 0;
    if (type == kDeallocateOnly) return;
    component->magic = 0;
    caf::release_component(component);
    *token = nullptr;
    return;
  }
  auto* const known = static_cast<Token*>(*token);
  int code = caf::kOk;
  if (known->coarray != nullptr && caf::own_memory(known->coarray) != nullptr)
    code = caf::release(known->coarray);
  known->coarray = nullptr;
  if (type != kDeallocateOnly) {
    delete known;
    *token = nullptr;
  }
  report(code, "deallocate a coarray", stat, message, length);
}
