// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "solver/matrix/csr.hpp"
#include "solver/matrix/sell.hpp"
#include "solver/partition/partition.hpp"

namespace ompl::solver {

// The columns of other parts, in runs of those that one row takes from one neighbour: what came from a neighbour is
// read where it landed, wherever that is in this exchange.
struct Coupling {
  struct Run {
    uint32_t row;
    uint32_t neighbour;  // its number in Pattern
  };
  std::vector<Run> runs;           // by row, then by neighbour
  std::vector<uint64_t> start{0};  // of each run in the next two, and their length
  std::vector<uint32_t> column;    // counts what comes from the neighbour
  std::vector<double> value;

  [[nodiscard]] uint64_t entries() const { return column.size(); }
};

// y += A x for the rows first up to, but without, last. halo: x as each neighbour sent it.
void multiply_add(const Coupling& coupling, uint32_t first, uint32_t last, const double* const* halo,
                  double* y);

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

// The same, wherever they come from.
struct Rows {
  std::span<const uint32_t> global;
  uint64_t entries;  // at most
  std::function<Row(uint32_t)> row;

  // Those of a slice, which must outlive this.
  Rows(const Slice& slice)  // NOLINT(google-explicit-constructor)
      : global(slice.global),
        entries(slice.rows.entries()),
        row([&slice](uint32_t number) { return slice.rows[number]; }) {}
  // What row() gives is used before it is asked again.
  Rows(std::span<const uint32_t> numbers, uint64_t most, std::function<Row(uint32_t)> given)
      : global(numbers), entries(most), row(std::move(given)) {}
};

// One part's rows of a matrix, those that need no other part first, each group in the matrix's order.
struct LocalMatrix {
  uint32_t interior = 0;         // rows before this one need no halo
  Csr own;                       // the columns of this part's rows; sizes only if they are chunks
  Sell chunks;                   // the same, if asked for
  uint64_t entries = 0;          // of either
  Coupling coupling;             // the columns of other parts
  std::vector<uint32_t> global;  // for each row, which of the matrix it is
  Pattern pattern;
};

// What passes between a part and each other one in an exchange: rows of the matrix, in its order.
struct Traffic {
  std::vector<std::vector<uint32_t>> send, receive;  // by the other part
};

// What a part's rows need of each other part: Traffic::receive. What it sends, only the others know.
[[nodiscard]] std::vector<std::vector<uint32_t>> needed_by(const Rows& mine, const Partition& partition,
                                                           uint32_t part);

enum class Storage { rows, chunks };

// The matrix must be square.
[[nodiscard]] LocalMatrix localize(const Rows& mine, const Partition& partition, uint32_t part,
                                   const Traffic& traffic, Storage storage = Storage::rows);

// Looks at the whole matrix once, in place of asking.
[[nodiscard]] LocalMatrix localize(const Csr& whole, const Partition& partition, uint32_t part);

}  // namespace ompl::solver
