// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <optional>

#include "conduit/ofi/conduit.hpp"
#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

// One real probe: a job of one rank.
std::string why_not(const std::string& provider, const conduit::ofi::Demands& demands) {
  Settings settings;
  settings.conduits = "self,ofi";
  settings.ofi_provider = provider;
  std::array<std::byte, 4096> segment{};
  const conduit::Job job{.host = {},
                         .secret = {},
                         .settings = &settings,
                         .segment = segment.data(),
                         .capacity = segment.size()};
  const auto conduit = conduit::ofi::make_demanding(demands);
  return conduit->open(job) == OMPL_OK ? "" : error_detail();
}

// Ranks that are not mapped, each an endpoint of its own, over one provider of libfabric on this host, used as
// it would be if it asked for what others do.
Case over(const std::string& name, const std::string& provider,
          const conduit::ofi::Demands& demands = {}) {
  return {.name = name,
          .fabric =
              [=](uint32_t /*ranks*/) {
                return fabric_of(
                    [=](uint32_t /*rank*/, Settings* settings) {
                      settings->conduits = "self,ofi";  // else TCP is the conduit tcp's
                      settings->ofi_provider = provider;
                    },
                    conduit::self::make, [=] { return conduit::ofi::make_demanding(demands); });
              },
          .why_not =
              [reason = std::optional<std::string>(), provider, demands]() mutable {
                if (!reason) reason = why_not(provider, demands);
                return *reason;
              }};
}

INSTANTIATE_TEST_SUITE_P(ofi, Conformance, ::testing::Values(over("ofi", "")), name_of);

// The same without connections of our own: not in the quick set.
INSTANTIATE_TEST_SUITE_P(addressed, Conformance,
                         ::testing::Values(over("tcp_ofi_rxm", "tcp;ofi_rxm"),
                                           over("net_rdm", "net/rdm"), over("tcp_rdm", "tcp/rdm"),
                                           over("shm", "shm"),
                                           over("registering", "tcp;ofi_rxm", {.registration = true}),
                                           over("unordered", "tcp;ofi_rxm", {.unordered = true})),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
