// SPDX-License-Identifier: BSD-3-Clause
// Programs as lists of operations, replayed; and parameters of LogGP-1.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/program.hpp"
#include "model/replay/parameters.hpp"
#include "model/replay/replay.hpp"

namespace ompl::model {

struct Listed : Program {
  explicit Listed(const std::vector<std::vector<Op>>& ops)
      : Program(static_cast<uint32_t>(ops.size())) {
    for (uint32_t rank = 0; rank < ops.size(); ++rank)
      for (const Op& op : ops[rank]) add(rank, op);
  }
};

inline Op compute_for(double ns) { return {.kind = OpKind::compute, .ns = ns}; }
inline Op message(OpKind kind, int32_t peer, uint64_t k) {
  return {.kind = kind, .peer = peer, .bytes = k};
}
inline Op wait_for(uint64_t request, bool more = false) {
  return {.kind = OpKind::wait, .more = more, .request = request};
}

inline Result run(const std::vector<std::vector<Op>>& ranks, const Parameters& parameters,
                  const Options& options = {}) {
  return replay(Listed(ranks), parameters, options);
}

inline double total(const Breakdown& b) { return b.compute + b.overhead + b.send_wait + b.recv_wait; }

// L in us; of each length the bytes, the overheads in us and the gap in ns/byte.
inline Parameters loggp1(double latency_us, const std::vector<std::array<double, 4>>& lengths) {
  const auto quantity = [](double value, const char* unit) {
    return nlohmann::json{{"value", value}, {"unit", unit}};
  };
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [bytes, send, recv, gap] : lengths)
    rows.push_back({{"bytes", quantity(bytes, "bytes")},
                    {"o_send", quantity(send, "us")},
                    {"o_recv", quantity(recv, "us")},
                    {"G", quantity(gap, "ns/byte")}});
  return parse_parameters(
      {{"models", {{"loggp-1", {{"L", quantity(latency_us, "us")}, {"lengths", rows}}}}}},
      Model::loggp1);
}

}  // namespace ompl::model
