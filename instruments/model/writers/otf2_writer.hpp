// SPDX-License-Identifier: BSD-3-Clause
// Writes a recorded trace as an OTF2 archive, so that read_otf2() replays it as it was: each call is a region, times are
// those of the ranks' own clocks, with what makes them one. Each call site is a region of its own, whose file is the place.
#pragma once

#include <cstdint>
#include <string>

namespace ompl::model {

// What OTF2 cannot say.
struct Otf2Losses {
  uint64_t modes = 0;  // persistent sends that were synchronous or buffered: written as ordinary ones
  uint64_t regions =
      0;  // one-sided and neighbour operations, and this layer's own: written as regions alone
  uint64_t open = 0;  // receives and nonblocking collectives that nothing completed
};

// `anchor`: NAME.otf2; the folder NAME and NAME.def stand beside it. Memory: a rank's open requests, a chunk of events.
// Throws InputError if the trace cannot be read or the archive not be written; also if built without OTF2.
Otf2Losses write_otf2(const std::string& recording, const std::string& anchor);

}  // namespace ompl::model
