// SPDX-License-Identifier: BSD-3-Clause
// One trace replayed under many changes at once, and what of the trace says which changes are worth a look.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/replay/replay.hpp"

namespace ompl::model {

struct Survey {
  std::map<uint64_t, uint64_t>
      lengths;  // how many messages of each; not those of MPI_Ssend and MPI_Bsend
  std::map<std::string, uint64_t> collectives;  // calls of all ranks
  std::vector<uint64_t> long_messages,
      long_bytes;  // sent by each rank above S; not those of collectives
};
[[nodiscard]] Survey survey(const Trace& trace, uint64_t longest_eager);

// A change: {"name": any, "machine": name or file, "set": {parameter: value}, "scale": {parameter: factor},
// "collectives": {collective: algorithm}, "fragment": true or bytes}, each of them optional. Parameters are named as in
// Parameters::name_of(), and s, S; values in ns and bytes. They apply in this order.
struct Change {
  std::string name;
  Parameters parameters;
  Algorithms algorithms;
  uint64_t fragment = 0;  // bytes; 0: messages stay whole
};
// Throws InputError.
[[nodiscard]] Change read_change(const nlohmann::json& object, const Parameters& base);

// The survey, the time without a change ("base"), and that of each change, in order; by up to `jobs` threads at once,
// each of which holds a replay's ranks and messages on their way, not the trace. How many makes no difference to it.
// A change under which the program does not end has "error" instead of times.
[[nodiscard]] nlohmann::json what_if(const Trace& trace, const Parameters& base, const Options& options,
                                     const std::vector<Change>& changes, unsigned jobs);

}  // namespace ompl::model
