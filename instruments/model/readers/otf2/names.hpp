// SPDX-License-Identifier: BSD-3-Clause
// What OTF2 and docs/reference/trace-format.md call the same things.
#pragma once

#include <otf2/otf2.h>

#include <optional>
#include <string>
#include <string_view>

#include "trace/reader/reader.hpp"

namespace ompl::model::otf2 {

// MPI_Reduce_scatter for kReduceScatter, ompl_put_word for kOmplPutWord.
[[nodiscard]] std::string function_name(trace::Kind kind);
// Of an MPI function in any spelling, such as MPI_Send() or mpi_send_; kOpaque if its calls are not known.
[[nodiscard]] trace::Kind kind_named(std::string_view name);
[[nodiscard]] bool is_mpi_name(std::string_view name);

// The blocking form.
[[nodiscard]] std::optional<trace::Kind> kind_of(OTF2_CollectiveOp operation);
// Of both forms.
[[nodiscard]] std::optional<OTF2_CollectiveOp> operation_of(trace::Kind kind);
[[nodiscard]] trace::Kind nonblocking(trace::Kind kind);

// Parameters of calls that OTF2's own records do not hold: the level of MPI_Pcontrol, whether a test or a probe found
// something (1), and for collectives with counts the bytes to and from each rank, one event for each, in the order of
// ranks.
inline constexpr std::string_view kLevel = "level";
inline constexpr std::string_view kFound = "found";
inline constexpr std::string_view kBytesTo = "bytes to the next rank";
inline constexpr std::string_view kBytesFrom = "bytes from the next rank";

}  // namespace ompl::model::otf2
