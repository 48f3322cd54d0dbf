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

std::string text_of(const Promise& promise) {
  std::string text = ompl_coll_name(promise.collective);
  if (promise.algorithm != OMPL_COLL_AUTO)
    text += fmt::format(" by {}", ompl_algorithm_name(promise.algorithm));
  if (promise.listed != 0)
    text += " of listed lengths";
  else if (promise.collective != OMPL_BARRIER)
    text += fmt::format(" of {} bytes", promise.bytes);
  if (promise.op >= kFirstOperation)
    text += " by the user's operation";
  else if (promise.op >= 0)
    text += fmt::format(" by operation {} of type {}", promise.op, promise.type);
  if (promise.collective == OMPL_BROADCAST || promise.collective == OMPL_REDUCE ||
      promise.collective == OMPL_GATHER || promise.collective == OMPL_SCATTER)
    text += fmt::format(" with root {}", promise.root);
  if (promise.modes != 0) text += " with a request";
  return text;
}

// Those who promise the same as `first`, the first of them.
std::string who(const std::vector<Promise>& promises, std::vector<Promise>::const_iterator first) {
  std::vector<std::ptrdiff_t> members;
  std::ptrdiff_t more = 0;
  for (auto one = first; one != promises.end(); ++one) {
    if (*one != *first) continue;
    if (members.size() < kMostNamed)
      members.push_back(one - promises.begin());
    else
      ++more;
  }
  std::string text =
      fmt::format("member{} {}", members.size() > 1 ? "s" : "", fmt::join(members, ", "));
  if (more > 0) text += fmt::format(" and {} more", more);
  return text;
}

}  // namespace

Promise promise_of(const Call& call, int32_t type, int32_t op) {
  return {.collective = call.collective,
          .algorithm = call.algorithm,
          .type = type,
          .op = std::min(op, kFirstOperation),
          .root = call.root,
          .listed = static_cast<uint16_t>(call.listed ? 1 : 0),
          .modes = static_cast<uint16_t>(call.modes ? 1 : 0),
          .bytes = call.listed ? 0 : call.length};
}

Call exchange_of_promises(const Call& call) {
  return {.collective = OMPL_ALLGATHER,
          .algorithm = OMPL_COLL_BRUCK,
          .me = call.me,
          .size = call.size,
          .in_place = true,
          .length = sizeof(Promise)};
}

std::string disagreement(const std::vector<Promise>& promises) {
  if (std::ranges::count(promises, promises.front()) == std::ssize(promises)) return {};
  std::string text = "the members call different collectives";
  for (auto one = promises.begin(); one != promises.end(); ++one) {
    if (std::find(promises.begin(), one, *one) == one)
      text += fmt::format("; {} at {}", text_of(*one), who(promises, one));
  }
  return text;
}

}  // namespace ompl::coll
