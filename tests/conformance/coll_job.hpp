// SPDX-License-Identifier: BSD-3-Clause
// One collective of a test: its buffers, the call, and what must have come out of it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "omnipgas/coll.h"

namespace ompl::conformance {

constexpr int64_t kCollLimit = 240'000'000'000;  // ns; nothing takes so long

// Of the calling rank.
ompl_team* world_team();

template <class Visit>
void for_every_collective(Visit visit) {
  for (int32_t collective = 0; ompl_coll_name(collective) != nullptr; ++collective) {
    SCOPED_TRACE(ompl_coll_name(collective));
    visit(collective);
  }
}

struct CollCall {
  int32_t collective = OMPL_BARRIER;
  int32_t algorithm = OMPL_COLL_AUTO;
  std::size_t length = 0;  // bytes: of the buffer, or of a block
  std::size_t shift = 0;   // of the buffers from an aligned address
  uint32_t root = 0;
  uint32_t tag = 0;
  bool in_place = false;
  bool lists = false;  // block i has length + i bytes, and a gap follows it
  bool persistent = false;
  std::byte* memory = nullptr;  // for the buffers: 2 * room(); null: the heap
};

class CollJob : public CollCall {
 public:
  explicit CollJob(const CollCall& call = {}) : CollCall(call) {}

  ompl_request* request = nullptr;

  // Bytes of a buffer for any collective.
  static std::size_t room(std::size_t length, uint32_t members) { return (length + 64) * members + 64; }

  // The call as a blocking one, and a look at its results.
  void run(ompl_team* team);
  // The call with a request; then, when that is complete, the look.
  int start(ompl_team* team);
  void check(uint32_t round = 0);
  // New contents of the buffers.
  void fill(ompl_team* team, uint32_t round);

 private:
  using Bytes = std::vector<std::byte>;
  int call(ompl_team* team, ompl_request** place);
  [[nodiscard]] std::size_t extent() const;
  [[nodiscard]] std::size_t of(uint32_t block) const { return lists ? length + block : length; }
  [[nodiscard]] std::size_t at(uint32_t block) const {
    return lists ? block * (length + 40) : block * length;
  }
  [[nodiscard]] Bytes combined(uint32_t first, uint32_t end, uint32_t round, std::size_t from,
                               std::size_t count) const;
  void expect(const Bytes& bytes, std::size_t place);

  uint32_t me_ = 0;
  uint32_t members_ = 1;
  Bytes send_, receive_;      // of the heap
  std::byte* out_ = nullptr;  // what is sent
  std::byte* in_ = nullptr;   // what is received
};

}  // namespace ompl::conformance
