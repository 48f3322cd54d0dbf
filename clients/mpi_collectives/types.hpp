// SPDX-License-Identifier: BSD-3-Clause
// MPI's types and operations in those of the layer, and data that do not lie one behind the other.
#pragma once

#include <optional>

#include "mpi.hpp"

namespace ompl::mpi_collectives {

struct Reduction {
  int32_t type;
  int32_t op;
};

// Nothing if the layer has no such reduction. The same at all members, since MPI wants the same type and operation.
std::optional<Reduction> reduction(MPI_Datatype type, MPI_Op op);

// MPI takes no memory for no data; the layer wants an address.
void* memory(const void* data);

// The data of one call as bytes one behind the other: the program's own memory where they are, else a copy.
class Staging {
 public:
  explicit Staging(MPI_Comm comm) : comm_(comm) {}

  static std::size_t bytes(int64_t count, MPI_Datatype type);

  // What is sent.
  const void* read(const void* data, int64_t count, MPI_Datatype type);
  // Where it is received; `filled`: what is there counts, too. The program's memory has it after finish().
  void* write(void* data, int64_t count, MPI_Datatype type, bool filled = false);

  // Pieces of several members, at displacements of the type's extent.
  struct Pieces {
    void* data = nullptr;
    std::vector<std::size_t> lengths, offsets;
  };
  Pieces read(const void* data, const int counts[], const int displacements[], MPI_Datatype type);
  Pieces write(void* data, const int counts[], const int displacements[], MPI_Datatype type,
               bool filled = false);

  // Copies what was received to where the program wants it.
  void finish();

 private:
  struct Piece {
    void* data;
    int64_t count;
  };
  // A copy of such pieces, to be given back by finish() or not.
  struct Copy {
    std::vector<std::byte> bytes;
    std::vector<Piece> pieces;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    bool received = false;
  };
  void* copy(std::vector<Piece> pieces, MPI_Datatype type, bool filled, bool received);
  Pieces pieces(void* data, const int counts[], const int displacements[], MPI_Datatype type,
                bool filled, bool received);

  MPI_Comm comm_;
  std::vector<Copy> copies_;
};

}  // namespace ompl::mpi_collectives
