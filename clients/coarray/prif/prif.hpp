// SPDX-License-Identifier: BSD-3-Clause
// The functions that Caffeine's Fortran calls (https://github.com/BerkeleyLab/caffeine, prif_private_s.F90), by the core: with
// them PRIF, the interface that flang calls, stands on the layer. They take the place of Caffeine's caffeine.c.
#pragma once

#include "core/state.hpp"

#define PRIF_API extern "C" __attribute__((visibility("default")))

namespace prif {

// An error of the core ends all images, or waits for the STAT= of the procedure that the program has called, where that settles
// errors (status.cpp).
void must(int code, const char* what);
void note(int code, const char* what);

// The core's functions are of the current team. Caffeine keeps the current team itself, and names one in each call.
class InTeam {
 public:
  explicit InTeam(void* team) : before_(caf::state().current) {
    caf::state().current = static_cast<caf::Team*>(team);
  }
  ~InTeam() { caf::state().current = before_; }
  InTeam(const InTeam&) = delete;
  InTeam& operator=(const InTeam&) = delete;

 private:
  caf::Team* before_;
};

// Images are counted in the initial team where no team is named.
inline uint32_t rank_of(int image) { return static_cast<uint32_t>(image) - 1; }
inline uint64_t address_of(const void* memory) { return caf::as_number(memory); }

// Makes the heaps: bytes of both, and of the symmetric one, which is first. Null if this image does not divide it.
void* start_heaps(intptr_t* all, intptr_t* symmetric_start, intptr_t* symmetric_size);

}  // namespace prif
