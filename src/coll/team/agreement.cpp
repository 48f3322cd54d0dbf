// SPDX-License-Identifier: BSD-3-Clause
#include "coll/team/agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coll/schedule/operation.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string text_of(const CallSignature& signature) {
  std::string text = ompl_coll_name(signature.collective);
  if (signature.algorithm != OMPL_COLL_AUTO)
    text += fmt::format(" by {}", ompl_algorithm_name(signature.algorithm));
  if (signature.listed != 0)
    text += " of listed lengths";
  else if (signature.collective != OMPL_BARRIER)
    text += fmt::format(" of {} bytes", signature.bytes);
  if (signature.op >= kFirstOperation)
    text += " by the user's operation";
  else if (signature.op >= 0)
    text += fmt::format(" by operation {} of type {}", signature.op, signature.type);
  if (signature.collective == OMPL_BROADCAST || signature.collective == OMPL_REDUCE ||
      signature.collective == OMPL_GATHER || signature.collective == OMPL_SCATTER)
    text += fmt::format(" with root {}", signature.root);
  if (signature.modes != 0) text += " with a request";
  return text;
}

// Those with the same signature as `first`, the first of them.
std::string who(const std::vector<CallSignature>& signatures,
                std::vector<CallSignature>::const_iterator first) {
  std::vector<std::ptrdiff_t> members;
  std::ptrdiff_t more = 0;
  for (auto one = first; one != signatures.end(); ++one) {
    if (*one != *first) continue;
    if (members.size() < kMostNamed)
      members.push_back(one - signatures.begin());
    else
      ++more;
  }
  std::string text =
      fmt::format("member{} {}", members.size() > 1 ? "s" : "", fmt::join(members, ", "));
  if (more > 0) text += fmt::format(" and {} more", more);
  return text;
}

}  // namespace

CallSignature signature_of(const CollectiveCall& call, int32_t type, int32_t op) {
  return {.collective = call.collective,
          .algorithm = call.algorithm,
          .type = type,
          .op = std::min(op, kFirstOperation),
          .root = call.root,
          .listed = static_cast<uint16_t>(call.listed ? 1 : 0),
          .modes = static_cast<uint16_t>(call.modes ? 1 : 0),
          .bytes = call.listed ? 0 : call.length};
}

CollectiveCall exchange_of_signatures(const CollectiveCall& call) {
  return {.collective = OMPL_ALLGATHER,
          .algorithm = OMPL_COLL_BRUCK,
          .me = call.me,
          .size = call.size,
          .in_place = true,
          .length = sizeof(CallSignature)};
}

std::string disagreement(const std::vector<CallSignature>& signatures) {
  if (std::ranges::count(signatures, signatures.front()) == std::ssize(signatures)) return {};
  std::string text = "the members call different collectives";
  for (auto one = signatures.begin(); one != signatures.end(); ++one) {
    if (std::find(signatures.begin(), one, *one) == one)
      text += fmt::format("; {} at {}", text_of(*one), who(signatures, one));
  }
  return text;
}

}  // namespace ompl::coll
