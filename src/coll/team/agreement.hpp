// SPDX-License-Identifier: BSD-3-Clause
// OMPL_COLL_CHECK: before a collective each member tells all others what it calls; nobody begins unless all call the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "coll/call.hpp"

namespace ompl::coll {

// What members must give alike. Of operations of the user, which have numbers of their own at each rank, that they are such.
struct CallSignature {
  int32_t collective = 0;
  int32_t algorithm = 0;
  int32_t type = 0;
  int32_t op = 0;
  uint32_t root = 0;
  uint16_t listed = 0;
  uint16_t modes = 0;  // CollectiveCall::modes
  uint64_t bytes = 0;  // CollectiveCall::length; 0 if lengths are listed

  bool operator==(const CallSignature&) const = default;
};
static_assert(std::has_unique_object_representations_v<CallSignature>);

[[nodiscard]] CallSignature signature_of(const CollectiveCall& call, int32_t type, int32_t op);

// The allgather, in place, that carries the signatures of `call`'s members.
[[nodiscard]] CollectiveCall exchange_of_signatures(const CollectiveCall& call);

// Empty if they are the same; else who calls what.
[[nodiscard]] std::string disagreement(const std::vector<CallSignature>& signatures);

}  // namespace ompl::coll
