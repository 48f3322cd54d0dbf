// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace ompl::coll {

void Execution::find_scratch(uint64_t bytes) {
  if (bytes <= scratch.size()) return;
  try {
    scratch.resize(bytes);
  } catch (const std::bad_alloc&) {
    note_failure(
        OMPL_ERR_MEMORY,
        fmt::format("no memory for {} bytes that the algorithm needs beside the buffers; choose "
                    "another, or make shorter calls",
                    bytes));
  }
}

void Execution::begin(const Work& work) {
  now = work;
  round = 0;
  begin_round();
}

void Execution::begin_round() {
  const Schedule& schedule = *now.schedule;
  first = round == 0 ? 0 : schedule.rounds[round - 1];
  if (round == schedule.rounds.size()) return;
  for (uint32_t i = 0; i < schedule.rounds[round] - first; ++i) {
    progress[i].phase = Progress::Phase::begin;
    progress[i].bytes = 0;
  }
}

void Execution::note_failure(int code, std::string reason) {
  if (failure != OMPL_OK) return;
  failure = code;
  why = std::move(reason);
}

}  // namespace ompl::coll
