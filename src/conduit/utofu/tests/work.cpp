// SPDX-License-Identifier: BSD-3-Clause
// Of an interconnect that does all at once, so that nothing but our own work is counted.
#include "conformance/work.hpp"

#include "conduit/registry.hpp"
#include "conduit/utofu/tests/emulator/emulator.h"

namespace {

ompl::conformance::Posted posted() {
  utofu_emulator_counts now{};
  utofu_emulator_count(&now);
  return {now.posts, now.posts};
}

}  // namespace

int main(int argc, char** argv) {
  utofu_emulator_settings settings{};
  utofu_emulator_get(&settings);
  settings.delay = 0;
  settings.spurious_busy = 0;
  utofu_emulator_set(&settings);
  const auto fabric =
      ompl::conformance::every_rank(ompl::conduit::self::make, ompl::conduit::utofu::make);
  return ompl::conformance::run_work(argc, argv, fabric(2), posted, 64);
}
