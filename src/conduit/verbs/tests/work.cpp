// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/work.hpp"

#include "conduit/registry.hpp"
#include "conduit/verbs/tests/stub/stub_call.hpp"

namespace {

ompl::conformance::Posted posted() {
  verbs_stub_counters now{};
  if (auto* const count = STUB(verbs_stub_counts); count != nullptr) count(&now);
  return {now.doorbells, now.requests};
}

}  // namespace

int main(int argc, char** argv) {
  const auto fabric =
      ompl::conformance::every_rank(ompl::conduit::self::make, ompl::conduit::verbs::make);
  return ompl::conformance::run_work(argc, argv, fabric(2), posted, 256);
}
