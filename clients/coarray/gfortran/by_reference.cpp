// SPDX-License-Identifier: BSD-3-Clause
// References to and assignments of parts of coindexed objects that have allocatable or pointer components.
#include <cstdlib>
#include <vector>

#include "gfortran/references.hpp"

namespace gfortran {
namespace {

caf::Shape list_shape(const std::vector<std::size_t>& extents, std::size_t item) {
  caf::Shape shape;
  for (const std::size_t extent : extents) shape.extent[shape.dimensions++] = extent;
  return caf::packed(shape, item);
}

std::vector<std::size_t> extents_of(const Descriptor& array) {
  std::vector<std::size_t> extents;
  extents.reserve(caf::kMostRank);
  for (int d = 0; d < array.rank; ++d) extents.push_back(array.dim[d].extent());
  return extents;
}

// Without dimensions of one element, by which two shapes of different ranks may differ.
std::vector<std::size_t> essential(const std::vector<std::size_t>& extents) {
  std::vector<std::size_t> kept;
  for (const std::size_t extent : extents) {
    if (extent != 1) kept.push_back(extent);
  }
  return kept;
}

bool differ(const std::vector<std::size_t>& one, const std::vector<std::size_t>& other) {
  return one.size() == other.size() ? one != other : essential(one) != essential(other);
}

std::size_t elements_of(const std::vector<std::size_t>& extents) {
  std::size_t count = 1;
  for (const std::size_t extent : extents) count *= extent;
  return count;
}

// Gives the local variable of a reference memory for `extents`, as intrinsic assignment does.
int reallocate(Descriptor* target, std::vector<std::size_t> extents) {
  if (static_cast<int>(extents.size()) != target->rank) extents = essential(extents);
  while (static_cast<int>(extents.size()) < target->rank) extents.push_back(1);
  if (static_cast<int>(extents.size()) != target->rank)
    return caf::refuse(caf::kWrong, "the ranks of the two sides differ");
  const std::size_t bytes = elements_of(extents) * target->elem_len;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);  // the program frees it
  if (memory == nullptr) return caf::refuse(caf::kNoMemory, "no memory for %zu bytes", bytes);
  std::free(target->base);
  target->base = memory;
  target->span = static_cast<std::ptrdiff_t>(target->elem_len);
  std::ptrdiff_t stride = 1;
  std::ptrdiff_t offset = 0;
  for (int d = 0; d < target->rank; ++d) {
    const auto extent = static_cast<std::ptrdiff_t>(extents[static_cast<std::size_t>(d)]);
    target->dim[d] = {stride, 1, extent};
    offset -= stride;
    stride *= extent;
  }
  target->offset = static_cast<std::size_t>(offset);
  return caf::kOk;
}

int inconvertible() {
  return caf::refuse(caf::kWrong, "there is no conversion between the types of the two sides");
}

// Values in element order, in a shape of their own, to the shape of `to`.
int spread(std::byte* to, const caf::Shape& shape, Element to_type, const std::byte* from,
           std::size_t count, Element from_type) {
  caf::Shape walk = caf::packed(shape, from_type.bytes);
  if (count == 1 && shape.count() != 1) {
    for (int d = 0; d < walk.dimensions; ++d) walk.stride[d] = 0;
  } else if (
      count <
      shape.count()) {  // of more the first are taken: gfortran does not check that the shapes conform
    return caf::refuse(caf::kWrong, "%zu elements are assigned to %zu", count, shape.count());
  }
  return convert(to, shape, to_type, from, walk, from_type) ? caf::kOk : inconvertible();
}

// The kind of a type's elements: what the compiler says of derived types is of no use.
Element element(int type, int kind, std::size_t bytes) { return {type, kind, bytes}; }

int fetch(const void* token, int image, const Reference* parts, int type, int kind, Found* found,
          std::vector<std::byte>* values, Element* what) {
  if (const int code = find(token, image, parts, found); code != caf::kOk) return code;
  if (!found->allocated)
    return caf::refuse(caf::kWrong,
                       "a component of the coindexed object is not allocated on that image");
  *what = element(type, kind, found->item);
  values->resize(found->elements.size() * found->item + 1);
  return caf::get_list(found->rank, found->elements, found->item, values->data());
}

// Values in element order, `extents` and type of the source, to a place by reference.
int store(const void* token, int image, const Reference* parts, int type, int kind, bool may_reallocate,
          const std::byte* values, const std::vector<std::size_t>& extents, Element from) {
  Found found;
  if (const int code = find(token, image, parts, &found); code != caf::kOk) return code;
  const bool deferred = type == kCharacter && !found.is_array && found.token_at != 0 &&
                        found.allocated && parts != nullptr && found.item != from.bytes &&
                        found.whole && found.extents.empty();
  const bool reshaped =
      found.is_array && found.whole && !extents.empty() && differ(found.extents, extents);
  if (!found.allocated || (may_reallocate && (reshaped || deferred))) {
    if (found.token_at == 0)
      return caf::refuse(caf::kWrong, "the coindexed object is not allocated on that image");
    const std::size_t item = found.item == 0 || deferred ? from.bytes : found.item;
    if (const int code = allocate_there(found, extents, item, type); code != caf::kOk) return code;
    if (const int code = find(token, image, parts, &found); code != caf::kOk) return code;
  }
  const Element to = element(type, kind, found.item);
  std::vector<std::byte> buffer(found.elements.size() * found.item + 1);
  const caf::Shape shape = list_shape({found.elements.size()}, found.item);
  if (const int code = spread(buffer.data(), shape, to, values, elements_of(extents), from);
      code != caf::kOk)
    return code;
  return caf::put_list(found.rank, found.elements, found.item, buffer.data());
}

}  // namespace
}  // namespace gfortran

using namespace gfortran;

CAF_API void _gfortran_caf_get_by_ref(void* token, int image, Descriptor* target, Reference* parts,
                                      int target_kind, int source_kind, bool /*may_need_temporary*/,
                                      bool may_reallocate, int* stat, int source_type) {
  Found found;
  std::vector<std::byte> values;
  Element from{};
  int code = fetch(token, image, parts, source_type, source_kind, &found, &values, &from);
  if (code == caf::kOk) {
    const bool other = target->rank > 0 && differ(extents_of(*target), found.extents);
    if (target->base == nullptr || (may_reallocate && other)) code = reallocate(target, found.extents);
  }
  if (code == caf::kOk)
    code = spread(static_cast<std::byte*>(target->base), shape_of(*target),
                  element(target->type, target_kind, target->elem_len), values.data(),
                  found.elements.size(), from);
  report(code, "reference to a coindexed object", stat);
}

CAF_API void _gfortran_caf_send_by_ref(void* token, int image, Descriptor* source, Reference* parts,
                                       int target_kind, int source_kind, bool /*may_need_temporary*/,
                                       bool may_reallocate, int* stat, int target_type) {
  const caf::Shape shape = shape_of(*source);
  std::vector<std::byte> values(shape.count() * source->elem_len + 1);
  caf::copy_block(values.data(), caf::packed(shape, source->elem_len),
                  static_cast<const std::byte*>(source->base), shape, source->elem_len);
  const int code = store(token, image, parts, target_type, target_kind, may_reallocate, values.data(),
                         extents_of(*source), element(source->type, source_kind, source->elem_len));
  report(code, "assignment to a coindexed object", stat);
}

CAF_API void _gfortran_caf_sendget_by_ref(void* target_token, int target_image, Reference* target_parts,
                                          void* source_token, int source_image, Reference* source_parts,
                                          int target_kind, int source_kind, bool /*may_need_temporary*/,
                                          int* target_stat, int* source_stat, int target_type,
                                          int source_type) {
  Found found;
  std::vector<std::byte> values;
  Element from{};
  int code =
      fetch(source_token, source_image, source_parts, source_type, source_kind, &found, &values, &from);
  report(code, "reference to a coindexed object", source_stat);
  if (code != caf::kOk) return;
  code = store(target_token, target_image, target_parts, target_type, target_kind, true, values.data(),
               found.extents, from);
  report(code, "assignment to a coindexed object", target_stat);
}

CAF_API int _gfortran_caf_is_present(void* token, int image, Reference* parts) {
  Found found;
  const int code = find(token, image, parts, &found);
  if (code == caf::kFailed) report(code, "allocated", nullptr);
  return code == caf::kOk && found.allocated ? 1 : 0;
}
