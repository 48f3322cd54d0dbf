// SPDX-License-Identifier: BSD-3-Clause
// References to coarrays whose parts the compiler has resolved: scalars, sections, vector subscripts.
#include <vector>

#include "gfortran/abi.hpp"

namespace gfortran {
namespace {

// The remote side: a section, or a list of elements.
struct Remote {
  uint32_t rank = 0;
  uint64_t address = 0;
  caf::Shape shape;
  Element element{};
  bool listed = false;
  std::vector<uint64_t> list;
};

std::ptrdiff_t subscript(const void* vector, int kind, std::size_t place) {
  switch (kind) {
    case 1:
      return static_cast<const int8_t*>(vector)[place];
    case 2:
      return static_cast<const int16_t*>(vector)[place];
    case 4:
      return static_cast<const int32_t*>(vector)[place];
    default:
      return static_cast<const int64_t*>(vector)[place];
  }
}

// Each dimension has a vector or a triplet; both count from the lower bound.
void expand(Remote* remote, const Descriptor& array, const Subscript* subscripts) {
  remote->listed = true;
  remote->list = {remote->address};
  for (int d = array.rank - 1; d >= 0; --d) {
    const Subscript& given = subscripts[d];
    std::vector<std::ptrdiff_t> places;
    if (given.vectors > 0) {
      for (std::size_t i = 0; i < given.vectors; ++i)
        places.push_back(subscript(given.u.v.vector, given.u.v.kind, i));
    } else {
      const auto& triplet = given.u.triplet;
      const std::ptrdiff_t count =
          triplet.stride == 0 ? 1 : (triplet.upper - triplet.lower) / triplet.stride + 1;
      for (std::ptrdiff_t i = 0; i < count; ++i) places.push_back(triplet.lower + i * triplet.stride);
    }
    std::vector<uint64_t> more;
    more.reserve(remote->list.size() * places.size());
    for (const uint64_t outer : remote->list) {
      for (const std::ptrdiff_t place : places)
        more.push_back(outer + static_cast<uint64_t>((place - array.dim[d].lower) *
                                                     array.dim[d].stride * array.unit()));
    }
    remote->list = std::move(more);
    remote->shape.extent[d] = places.size();
  }
  remote->shape.dimensions = array.rank;
}

int resolve(const void* token, std::size_t offset, int image, const Descriptor& array,
            const Subscript* subscripts, int kind, Remote* remote) {
  if (const int code = locate(token, image, &remote->rank, &remote->address); code != caf::kOk)
    return code;
  remote->address += offset;
  remote->element = {array.type, kind, array.elem_len};
  remote->shape = shape_of(array);
  if (subscripts != nullptr) expand(remote, array, subscripts);
  return caf::kOk;
}

int read(const Remote& remote, std::byte* buffer) {
  if (remote.listed) return caf::get_list(remote.rank, remote.list, remote.element.bytes, buffer);
  const caf::Shape here = caf::packed(remote.shape, remote.element.bytes);
  return caf::get_section(remote.rank, remote.address, remote.shape, remote.element.bytes, buffer,
                          here);
}

int write(const Remote& remote, const std::byte* buffer) {
  if (remote.listed) return caf::put_list(remote.rank, remote.list, remote.element.bytes, buffer);
  const caf::Shape here = caf::packed(remote.shape, remote.element.bytes);
  return caf::put_section(remote.rank, remote.address, remote.shape, remote.element.bytes, buffer,
                          here);
}

int inconvertible() {
  return caf::refuse(caf::kWrong, "there is no conversion between the types of the two sides");
}

// The shape by which `from` is walked for `to`: a scalar stands for all elements. Both walk in array element order.
bool match(const caf::Shape& to, const caf::Shape& from, std::size_t unit, caf::Shape* walk) {
  if (from.count() == 1 && to.count() != 1) {
    *walk = to;
    for (int d = 0; d < to.dimensions; ++d) walk->stride[d] = 0;
    return true;
  }
  if (from.count() != to.count()) return false;
  bool alike = from.dimensions == to.dimensions;
  for (int d = 0; alike && d < to.dimensions; ++d) alike = from.extent[d] == to.extent[d];
  *walk = alike ? from : caf::packed(to, unit);
  return true;
}

int unequal(const caf::Shape& to, const caf::Shape& from) {
  return caf::refuse(caf::kWrong, "%zu elements are assigned to %zu", from.count(), to.count());
}

int fetch(const Remote& remote, const Descriptor& local, int kind) {
  const Element here{local.type, kind, local.elem_len};
  const caf::Shape shape = shape_of(local);
  auto* const to = static_cast<std::byte*>(local.base);
  const bool apart = remote.rank != static_cast<uint32_t>(ompl_rank());
  caf::Shape walk;
  if (!match(shape, remote.shape, remote.element.bytes, &walk)) return unequal(shape, remote.shape);
  const bool direct =
      walk.dimensions == remote.shape.dimensions && walk.count() == remote.shape.count();
  if (!remote.listed && direct && same(here, remote.element) && (apart || shape.count() == 1))
    return caf::get_section(remote.rank, remote.address, remote.shape, here.bytes, to, shape);
  std::vector<std::byte> buffer(remote.shape.count() * remote.element.bytes);
  if (const int code = read(remote, buffer.data()); code != caf::kOk) return code;
  match(shape, caf::packed(remote.shape, remote.element.bytes), remote.element.bytes, &walk);
  return convert(to, shape, here, buffer.data(), walk, remote.element) ? caf::kOk : inconvertible();
}

int store(const Remote& remote, const Descriptor& local, int kind) {
  const Element here{local.type, kind, local.elem_len};
  const caf::Shape shape = shape_of(local);
  const auto* const from = static_cast<const std::byte*>(local.base);
  const bool apart = remote.rank != static_cast<uint32_t>(ompl_rank());
  caf::Shape walk;
  if (!match(remote.shape, shape, here.bytes, &walk)) return unequal(remote.shape, shape);
  const bool alike =
      walk.dimensions == remote.shape.dimensions && shape.count() == remote.shape.count();
  if (!remote.listed && alike && shape.dimensions == remote.shape.dimensions &&
      same(here, remote.element) && (apart || shape.count() == 1))
    return caf::put_section(remote.rank, remote.address, remote.shape, here.bytes, from, shape);
  std::vector<std::byte> buffer(remote.shape.count() * remote.element.bytes);
  std::vector<std::byte> source;
  const std::byte* values = from;
  if (walk.dimensions != shape.dimensions && shape.count() > 1) {  // other rank: by element order
    source.resize(shape.count() * here.bytes);
    caf::copy_block(source.data(), caf::packed(shape, here.bytes), from, shape, here.bytes);
    values = source.data();
  }
  const caf::Shape whole = caf::packed(remote.shape, remote.element.bytes);
  if (!convert(buffer.data(), whole, remote.element, values, walk, here)) return inconvertible();
  return write(remote, buffer.data());
}

constexpr std::size_t kScattered = SIZE_MAX;

// The bytes of an array without gaps, or kScattered.
std::size_t whole_bytes(const Descriptor& array) {
  auto bytes = static_cast<std::ptrdiff_t>(array.elem_len);
  for (int d = 0; d < array.rank; ++d) {
    const auto extent = static_cast<std::ptrdiff_t>(array.dim[d].extent());
    if (extent != 1 && array.dim[d].stride * array.unit() != bytes) return kScattered;
    bytes *= extent;
  }
  return static_cast<std::size_t>(bytes);
}

// The most frequent case: bytes from one place to another. kScattered if it is another one.
std::size_t plain_bytes(const Descriptor& one, int one_kind, const Descriptor& other, int other_kind,
                        const Subscript* subscripts) {
  if (subscripts != nullptr || one.type != other.type || one.elem_len != other.elem_len ||
      one_kind != other_kind)
    return kScattered;
  const std::size_t bytes = whole_bytes(one);
  return bytes == whole_bytes(other) ? bytes : kScattered;
}

}  // namespace
}  // namespace gfortran

using namespace gfortran;

CAF_API void _gfortran_caf_get(void* token, std::size_t offset, int image, Descriptor* source,
                               Subscript* subscripts, Descriptor* target, int source_kind,
                               int target_kind, bool /*may_need_temporary*/, int* stat) {
  const std::size_t plain = plain_bytes(*source, source_kind, *target, target_kind, subscripts);
  if (plain != kScattered) {
    uint32_t rank = 0;
    uint64_t address = 0;
    int code = locate(token, image, &rank, &address);
    if (code == caf::kOk) code = caf::get(rank, address + offset, target->base, plain);
    return report(code, "reference to a coindexed object", stat);
  }
  Remote remote;
  int code = resolve(token, offset, image, *source, subscripts, source_kind, &remote);
  if (code == caf::kOk) code = fetch(remote, *target, target_kind);
  report(code, "reference to a coindexed object", stat);
}

CAF_API void _gfortran_caf_send(void* token, std::size_t offset, int image, Descriptor* target,
                                Subscript* subscripts, Descriptor* source, int target_kind,
                                int source_kind, bool /*may_need_temporary*/, int* stat,
                                void* /*team*/) {
  const std::size_t plain = plain_bytes(*target, target_kind, *source, source_kind, subscripts);
  if (plain != kScattered) {
    uint32_t rank = 0;
    uint64_t address = 0;
    int code = locate(token, image, &rank, &address);
    if (code == caf::kOk) code = caf::put(rank, address + offset, source->base, plain);
    return report(code, "assignment to a coindexed object", stat);
  }
  Remote remote;
  int code = resolve(token, offset, image, *target, subscripts, target_kind, &remote);
  if (code == caf::kOk) code = store(remote, *source, source_kind);
  report(code, "assignment to a coindexed object", stat);
}

CAF_API void _gfortran_caf_sendget(void* target_token, std::size_t target_offset, int target_image,
                                   Descriptor* target, Subscript* target_subscripts, void* source_token,
                                   std::size_t source_offset, int source_image, Descriptor* source,
                                   Subscript* source_subscripts, int target_kind, int source_kind,
                                   bool /*may_need_temporary*/, int* stat) {
  Remote from;
  Remote to;
  int code = resolve(source_token, source_offset, source_image, *source, source_subscripts, source_kind,
                     &from);
  if (code == caf::kOk)
    code = resolve(target_token, target_offset, target_image, *target, target_subscripts, target_kind,
                   &to);
  if (code == caf::kOk) {
    std::vector<std::byte> values(from.shape.count() * from.element.bytes + 1);
    code = read(from, values.data());
    Descriptor between{};
    between.base = values.data();
    between.elem_len = from.element.bytes;
    between.type = source->type;
    between.span = static_cast<std::ptrdiff_t>(from.element.bytes);
    between.rank = static_cast<int8_t>(from.shape.dimensions);
    std::ptrdiff_t stride = 1;
    for (int d = 0; d < from.shape.dimensions; ++d) {
      const auto extent = static_cast<std::ptrdiff_t>(from.shape.extent[d]);
      between.dim[d] = {stride, 1, extent};
      stride *= extent;
    }
    if (code == caf::kOk) code = store(to, between, source_kind);
  }
  report(code, "assignment between coindexed objects", stat);
}
