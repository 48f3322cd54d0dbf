// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <optional>

#include "conduit/ofi/conduit.hpp"
#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

// Ranks that are not mapped, each an endpoint of its own, over one provider of libfabric on this host, used as
// it would be if it asked for what others do.
class Provider final : public Fabric {
 public:
  Provider(std::string name, const conduit::ofi::Demands& demands)
      : name_(std::move(name)), demands_(demands) {}
  std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t /*rank*/) override {
    std::vector<std::unique_ptr<conduit::Conduit>> list;
    list.push_back(conduit::self::make());
    list.push_back(conduit::ofi::make_demanding(demands_));
    return list;
  }
  void tune(uint32_t /*rank*/, Settings* settings) const override { settings->ofi_provider = name_; }
  [[nodiscard]] std::string describe() const override { return "provider " + name_; }

 private:
  const std::string name_;
  const conduit::ofi::Demands demands_;
};

// One real probe: a job of one rank.
std::string why_not(const std::string& provider, const conduit::ofi::Demands& demands) {
  Settings settings;
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

Case over(const std::string& name, const std::string& provider,
          const conduit::ofi::Demands& demands = {}) {
  return {.name = name,
          .fabric = [=](uint32_t /*ranks*/) { return std::make_unique<Provider>(provider, demands); },
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
