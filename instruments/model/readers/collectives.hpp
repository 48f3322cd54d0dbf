// SPDX-License-Identifier: BSD-3-Clause
// Collective operations as the messages that they are made of, by the algorithms that docs/explanation/model.md names.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ompl::model {

enum class Collective : uint8_t {
  barrier,
  bcast,
  reduce,
  gather,
  scatter,
  allgather,
  allreduce,
  alltoall,
  reduce_scatter,
  scan,
  count,
};
inline constexpr auto kCollectives = static_cast<std::size_t>(Collective::count);

[[nodiscard]] std::string_view name_of(Collective kind);
// The first is taken if none is chosen.
[[nodiscard]] std::vector<std::string_view> algorithms_of(Collective kind);

// The algorithm of each collective, by its place in algorithms_of().
class Algorithms {
 public:
  // Throws InputError for a name of none.
  void choose(std::string_view collective, std::string_view algorithm);
  [[nodiscard]] uint8_t of(Collective kind) const { return chosen_[static_cast<std::size_t>(kind)]; }

 private:
  std::array<uint8_t, kCollectives> chosen_{};
};

// One step of a rank: a send, a receive, or both at once. Ranks are those of the communicator.
struct Exchange {
  static constexpr uint32_t kNobody = UINT32_MAX;

  uint32_t to = kNobody;
  uint64_t bytes = 0;  // to it
  uint32_t from = kNobody;
  int32_t tag = 0;  // tells the steps of one operation apart
};

// What a rank knows of an operation.
struct CollectiveCall {
  Collective kind;
  uint32_t rank, size, root;
  uint64_t bytes;  // the whole vector, or the block for one rank (docs/reference/trace-format.md)
  // In the forms with counts: to each rank, and from each; else empty.
  std::span<const uint64_t> sent, received;
};

[[nodiscard]] std::vector<Exchange> expand(const CollectiveCall& call,
                                           const Algorithms& algorithms = {});

}  // namespace ompl::model
