// SPDX-License-Identifier: BSD-3-Clause
// What the tests of remote calls share: the state that the functions of a rank know, and how to make a call.
#pragma once

#include <omnipgas/ompl_calls.h>

#include <array>
#include <cstring>
#include <vector>

#include "conformance/conformance.hpp"

namespace ompl::conformance {

// What the functions of one rank know: the test's bodies share it with them.
struct RankState {
  uint64_t memory = 0;                             // an allocation of the test
  std::array<std::atomic<uint32_t>, 64> counts{};  // of calls, by what the test likes
  std::atomic<uint64_t> sum{0};
  std::atomic<uint32_t> wrong{0};
  uint32_t function = 0;
  uint32_t other = 0;
  uint32_t rank = 0;
  uint32_t size = 0;
};

// The state of each rank that is in this process; a rank knows its own only.
class States {
 public:
  explicit States(uint32_t ranks) : states_(ranks) {}
  RankState& of(const Rank& r) { return states_[r.rank]; }
  // Whether each rank of this process has counted so many.
  [[nodiscard]] bool all_counted(uint32_t count) const {
    for (const RankState& state : states_) {
      if (state.size != 0 && state.counts[0] != count) return false;
    }
    return true;
  }

 private:
  std::vector<RankState> states_;
};

inline uint32_t add(const char* name, ompl_call_fn code, void* user) {
  uint32_t function = UINT32_MAX;
  ok(ompl_call_register(name, code, user, &function));
  return function;
}

inline ompl_call_request request(uint32_t function, const void* arguments, std::size_t length) {
  ompl_call_request made = OMPL_CALL_INIT;
  made.function = function;
  made.arguments = arguments;
  made.length = length;
  return made;
}

template <class T>
T argument(const ompl_call_context& call) {
  T value{};
  if (call.length >= sizeof value) std::memcpy(&value, call.arguments, sizeof value);
  return value;
}

// Waits, with progress, until it holds.
template <class Condition>
void until(Condition holds) {
  while (!holds()) ASSERT_GE(ompl_progress(OMPL_CTX_DEFAULT, 1'000'000), 0) << error_detail();
}

// The argument and the caller's rank; counts[0] is the number of calls.
inline uint64_t plus_source(void* user, const ompl_call_context* call) {
  static_cast<RankState*>(user)->counts[0].fetch_add(1);
  return argument<uint64_t>(*call) + call->source;
}

}  // namespace ompl::conformance
