// SPDX-License-Identifier: BSD-3-Clause
// Reads OTF2 archives, such as Score-P writes. docs/explanation/model.md says what of them.
//
// An archive is read through once when it is opened, for its call sites and its errors. Memory of a reading: for each rank
// a chunk of its events as the archive has it (256 KiB to 16 MiB), and calls up to otf2::kLookAhead.
#pragma once

#include <memory>
#include <string>

#include "model/trace.hpp"

namespace ompl::model {

[[nodiscard]] inline bool is_otf2(const std::string& path) { return path.ends_with(".otf2"); }
// Throws InputError; also if this program was built without OTF2.
[[nodiscard]] std::unique_ptr<Trace> read_otf2(const std::string& anchor);

}  // namespace ompl::model
