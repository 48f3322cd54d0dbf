// SPDX-License-Identifier: BSD-3-Clause
// The parameters of a machine under one of the models. Times are in nanoseconds, lengths in bytes.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ompl::model {

// LogGPS: Ino, Fujimoto, Hagihara (2001), section 3. LogGP-1 and LogGP-2: its section 4.5. LogGOPS-MPI: the
// parameters of LogGOPS, Hoefler, Schneider, Lumsdaine (2010), in this replay of MPI calls, which is not LogGOPSim's. Curve: o and the wire measured, as lines over segments of lengths (docs/explanation/model.md).
enum class Model : uint8_t { loggps, loggp1, loggp2, loggops, curve };

[[nodiscard]] std::string_view name_of(Model model);
// Throws InputError for a name of no model.
[[nodiscard]] Model model_named(std::string_view name);

// What every cost is a linear function of, so that a predicted time can be differentiated. Which of them a model
// has, and what it calls them, say names(). `compute` is the factor of all computation.
enum Term : uint8_t {
  latency,
  overhead,       // o'; LogGP-2: of short messages; LogGP-1: factor of the table's
  overhead_long,  // LogGP-2: of long messages
  send_short,     // Oss; LogGOPS: O
  recv_short,     // Ors
  gap_short,      // Gs; LogGP-2: G of short messages; LogGOPS: G; LogGP-1: factor of the table's
  send_long,      // Osl
  recv_long,      // Orl
  gap_long,       // Gl; LogGP-2: G of long messages
  message_gap,    // LogGOPS: g
  compute,
  term_count,
};

// LogGP-1 gives o and G for each message length, the curve at the ends of its segments. Between two lengths they are
// interpolated.
struct LengthRow {
  uint64_t bytes;
  double send, recv,
      gap;  // o of MPI_Send, o of MPI_Recv, G per byte; curve: time on the wire without L
};

struct Parameters {
  std::string machine;
  Model model = Model::loggps;
  std::array<double, term_count> value{};  // compute is 1 unless it is scaled
  uint64_t longest_packet =
      0;  // the longest message of one packet; LogGP-2: the longest of the short ones
  uint64_t longest_eager =
      std::numeric_limits<uint64_t>::max();  // the longest message sent without synchronization
  std::vector<LengthRow> rows;               // LogGP-1 and the curve, by rising length

  // Whether o and G are given by length.
  [[nodiscard]] bool has_rows() const { return model == Model::loggp1 || model == Model::curve; }
  [[nodiscard]] const char* name_of(Term term) const;  // nullptr if the model has it not
};

// The machines of the paper: cenju4, myrinet, fast-ethernet.
[[nodiscard]] std::span<const std::string_view> machine_names();

// Of a machine of the paper, or of a parameter file (docs/explanation/model.md). Throws InputError.
[[nodiscard]] Parameters find_parameters(const std::string& name_or_file, Model model);
[[nodiscard]] Parameters parse_parameters(const nlohmann::json& file, Model model);

}  // namespace ompl::model
