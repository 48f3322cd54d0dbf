// SPDX-License-Identifier: BSD-3-Clause
// Ranks that reach each other by PSM2's shared memory alone: no card is needed, and none was ever used.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "conduit/psm2/library.hpp"
#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {

inline constexpr const char* kPsm2Devices = "self,shm";

// "", or why this machine has no PSM2. Tells libpsm2 to do without a card.
inline std::string no_psm2() {
  ::setenv("PSM2_DEVICES", kPsm2Devices, 1);
  conduit::psm2::Library library;
  return library.load(conduit::psm2::Devices::memory) == OMPL_OK ? "" : error_detail();
}

// As many endpoints a rank, where a test does not say how many.
inline std::unique_ptr<Fabric> over_psm2(unsigned endpoints = 2) {
  return fabric_of(
      [endpoints](uint32_t /*rank*/, Settings* settings) {
        settings->psm2_devices = kPsm2Devices;
        if (settings->endpoints == 0) settings->endpoints = endpoints;
      },
      conduit::self::make, conduit::psm2::make);
}

}  // namespace ompl::conformance
