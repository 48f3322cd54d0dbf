// SPDX-License-Identifier: BSD-3-Clause
#include "types.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ompl::mpi_collectives {
namespace {

constexpr int32_t kNone = -1;

template <class T>
constexpr int32_t integer() {
  constexpr bool kSigned = static_cast<T>(-1) < T{0};
  if constexpr (sizeof(T) == 1) return kSigned ? OMPL_INT8 : OMPL_UINT8;
  if constexpr (sizeof(T) == 2) return kSigned ? OMPL_INT16 : OMPL_UINT16;
  if constexpr (sizeof(T) == 4) return kSigned ? OMPL_INT32 : OMPL_UINT32;
  return kSigned ? OMPL_INT64 : OMPL_UINT64;
}

int32_t type_of(MPI_Datatype type) {
  static const std::array<std::pair<MPI_Datatype, int32_t>, 27> kTypes{{
      {MPI_INT, integer<int>()},
      {MPI_DOUBLE, OMPL_DOUBLE},
      {MPI_FLOAT, OMPL_FLOAT},
      {MPI_LONG, integer<long>()},
      {MPI_LONG_LONG, integer<long long>()},
      {MPI_UNSIGNED, integer<unsigned>()},
      {MPI_UNSIGNED_LONG, integer<unsigned long>()},
      {MPI_UNSIGNED_LONG_LONG, integer<unsigned long long>()},
      {MPI_SHORT, integer<short>()},
      {MPI_UNSIGNED_SHORT, integer<unsigned short>()},
      {MPI_CHAR, integer<char>()},  // MPI does not ask for it, but MPIs reduce it
      {MPI_SIGNED_CHAR, OMPL_INT8},
      {MPI_UNSIGNED_CHAR, OMPL_UINT8},
      {MPI_INT8_T, OMPL_INT8},
      {MPI_UINT8_T, OMPL_UINT8},
      {MPI_INT16_T, OMPL_INT16},
      {MPI_UINT16_T, OMPL_UINT16},
      {MPI_INT32_T, OMPL_INT32},
      {MPI_UINT32_T, OMPL_UINT32},
      {MPI_INT64_T, OMPL_INT64},
      {MPI_UINT64_T, OMPL_UINT64},
      {MPI_AINT, integer<MPI_Aint>()},
      {MPI_C_FLOAT_COMPLEX, OMPL_FLOAT_COMPLEX},
      {MPI_C_DOUBLE_COMPLEX, OMPL_DOUBLE_COMPLEX},
      {MPI_INTEGER, OMPL_INT32},  // of Fortran, as every compiler has them without options
      {MPI_REAL, OMPL_FLOAT},
      {MPI_DOUBLE_PRECISION, OMPL_DOUBLE},
  }};
  const auto* const found = std::ranges::find(kTypes, type, &std::pair<MPI_Datatype, int32_t>::first);
  return found == kTypes.end() ? kNone : found->second;
}

int32_t operation_of(MPI_Op op) {
  static const std::array<std::pair<MPI_Op, int32_t>, 10> kOperations{{{MPI_SUM, OMPL_SUM},
                                                                       {MPI_MAX, OMPL_MAX},
                                                                       {MPI_MIN, OMPL_MIN},
                                                                       {MPI_PROD, OMPL_PROD},
                                                                       {MPI_LAND, OMPL_LAND},
                                                                       {MPI_LOR, OMPL_LOR},
                                                                       {MPI_LXOR, OMPL_LXOR},
                                                                       {MPI_BAND, OMPL_BAND},
                                                                       {MPI_BOR, OMPL_BOR},
                                                                       {MPI_BXOR, OMPL_BXOR}}};
  const auto* const found = std::ranges::find(kOperations, op, &std::pair<MPI_Op, int32_t>::first);
  return found == kOperations.end() ? kNone : found->second;
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  PMPI_Type_get_extent(type, &low, &extent);
  return extent;
}

// Elements of a type of MPI's own without gaps.
bool is_contiguous(MPI_Datatype type) {
  if (type == MPI_BYTE || type == MPI_CHAR || type_of(type) != kNone) return true;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED &&
         static_cast<std::size_t>(extent_of(type)) == Staging::bytes(1, type);
}

}  // namespace

std::optional<Reduction> reduction(MPI_Datatype type, MPI_Op op) {
  const Reduction found{type_of(type), operation_of(op)};
  if (found.type == kNone || found.op == kNone) return std::nullopt;
  const bool complex = found.type >= OMPL_FLOAT_COMPLEX;
  const bool real = found.type >= OMPL_FLOAT;
  if (complex && found.op > OMPL_PROD) return std::nullopt;
  if (real && found.op > OMPL_MAX) return std::nullopt;
  return found;
}

void* memory(const void* data) {
  static std::byte none;
  return data == nullptr ? &none : const_cast<void*>(data);
}

std::size_t Staging::bytes(int64_t count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::size_t>(size) * static_cast<std::size_t>(count);
}

const void* Staging::read(const void* data, int64_t count, MPI_Datatype type) {
  if (is_contiguous(type)) return memory(data);
  return copy({{const_cast<void*>(data), count}}, type, true, false);
}

void* Staging::write(void* data, int64_t count, MPI_Datatype type, bool filled) {
  if (is_contiguous(type)) return memory(data);
  return copy({{data, count}}, type, filled, true);
}

Staging::Pieces Staging::read(const void* data, const int counts[], const int displacements[],
                              MPI_Datatype type) {
  return pieces(const_cast<void*>(data), counts, displacements, type, true, false);
}

Staging::Pieces Staging::write(void* data, const int counts[], const int displacements[],
                               MPI_Datatype type, bool filled) {
  return pieces(data, counts, displacements, type, filled, true);
}

Staging::Pieces Staging::pieces(void* data, const int counts[], const int displacements[],
                                MPI_Datatype type, bool filled, bool received) {
  int size = 0;
  PMPI_Comm_size(comm_, &size);
  const auto is_negative = [](int displacement) { return displacement < 0; };
  const bool contiguous =
      is_contiguous(type) && std::none_of(displacements, displacements + size, is_negative);
  const MPI_Aint extent = extent_of(type);
  Pieces found{.data = memory(data), .lengths = {}, .offsets = {}};
  std::vector<Piece> parts;
  std::size_t end = 0;
  for (int i = 0; i < size; ++i) {
    const MPI_Aint at = displacements[i] * extent;
    found.lengths.push_back(bytes(counts[i], type));
    found.offsets.push_back(contiguous ? static_cast<std::size_t>(at) : end);
    end += found.lengths.back();
    parts.push_back({static_cast<std::byte*>(data) + at, counts[i]});
  }
  if (!contiguous) found.data = copy(std::move(parts), type, filled, received);
  return found;
}

void* Staging::copy(std::vector<Piece> pieces, MPI_Datatype type, bool filled, bool received) {
  std::size_t length = 0;
  for (const Piece& piece : pieces) length += bytes(piece.count, type);
  Copy& made = copies_.emplace_back();
  made.bytes.resize(std::max<std::size_t>(length, 1));
  made.pieces = std::move(pieces);
  made.received = received;
  PMPI_Type_dup(type, &made.type);  // the program may free its own before finish()
  std::byte* to = made.bytes.data();
  for (const Piece& piece : made.pieces) {
    const std::size_t size = bytes(piece.count, type);
    int at = 0;
    if (filled)
      PMPI_Pack(piece.data, static_cast<int>(piece.count), type, to, static_cast<int>(size), &at,
                comm_);
    to += size;
  }
  return made.bytes.data();
}

void Staging::finish() {
  for (Copy& one : copies_) {
    const std::byte* from = one.bytes.data();
    for (const Piece& piece : one.pieces) {
      const std::size_t size = bytes(piece.count, one.type);
      int at = 0;
      if (one.received)
        PMPI_Unpack(from, static_cast<int>(size), &at, piece.data, static_cast<int>(piece.count),
                    one.type, comm_);
      from += size;
    }
    PMPI_Type_free(&one.type);
  }
  copies_.clear();
}

}  // namespace ompl::mpi_collectives
