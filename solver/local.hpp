// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "solver/coupling.hpp"
#include "solver/csr.hpp"
#include "solver/partition.hpp"

namespace ompl::solver {

// What one part sends and receives in each exchange.
struct Pattern {
  struct Neighbour {
    uint32_t part;
    std::vector<uint32_t> send;  // rows of this part, in the order of the matrix
    uint32_t receive = 0;        // values that come, likewise
  };
  std::vector<Neighbour>
      neighbours;  // by part; one that only sends or only receives is in both lists, too
};

// Some rows of a matrix, in its order.
struct Slice {
  std::vector<uint32_t> global;  // for each row, which of the matrix it is
  Csr rows;                      // with all the columns of the matrix
};

// One part's rows of a matrix, those that need no other part first, each group in the matrix's order.
struct LocalMatrix {
  uint32_t interior = 0;         // rows before this one need no halo
  Csr own;                       // the columns of this part's rows
  Coupling coupling;             // the columns of other parts
  std::vector<uint32_t> global;  // for each row, which of the matrix it is
  Pattern pattern;
};

// What passes between a part and each other one in an exchange: rows of the matrix, in its order.
struct Traffic {
  std::vector<std::vector<uint32_t>> send, receive;  // by the other part
};

// What a part's rows need of each other part: Traffic::receive. What it sends, only the others know.
[[nodiscard]] std::vector<std::vector<uint32_t>> needed_by(const Slice& mine,
                                                           const Partition& partition, uint32_t part);

// The matrix must be square.
[[nodiscard]] LocalMatrix localize(const Slice& mine, const Partition& partition, uint32_t part,
                                   const Traffic& traffic);

// Looks at the whole matrix once, in place of asking.
[[nodiscard]] LocalMatrix localize(const Csr& whole, const Partition& partition, uint32_t part);

}  // namespace ompl::solver
