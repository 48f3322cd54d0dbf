// SPDX-License-Identifier: BSD-3-Clause
// What the definitions of an OTF2 archive say of ranks, communicators, regions and the clock.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/readers/call_reader.hpp"
#include "model/readers/otf2/archive.hpp"

namespace ompl::model::otf2 {

struct Region {
  std::string name;
  std::string place;  // in a file; empty if unknown
  trace::Kind kind;   // kOpaque: none that is known
  bool is_call;       // a function of MPI that is more than a local question
};

// As its members see it; those of an intercommunicator see two groups, each from its own side.
struct Communicator {
  uint32_t number;
  trace::CommunicatorInfo near, far;
  bool self = false;  // of each rank alone
};

enum class Parameter : uint8_t { none, level, found, bytes_to, bytes_from };

struct Definitions {
  // Throws InputError.
  Definitions(Archive& archive, const std::string& name);

  // What a rank knows of a communicator; `self`: what it knows of one of itself alone. Throws InputError if it is no
  // member, or there is no such communicator.
  [[nodiscard]] Members members(uint32_t communicator, uint32_t rank,
                                const trace::CommunicatorInfo& self) const;

  double ns_per_tick = 0;
  std::vector<uint64_t> ranks;                    // the location of each
  std::vector<uint64_t> threads;                  // locations of other threads that have events
  std::unordered_map<uint64_t, uint64_t> events;  // how many each of these locations has
  std::unordered_map<uint32_t, Region> regions;
  std::unordered_map<uint32_t, Communicator> communicators;
  std::unordered_map<uint32_t, Parameter> parameters;
};

}  // namespace ompl::model::otf2
