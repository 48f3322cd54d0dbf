// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include "omnipgas/ompl.h"

namespace ompl::conduit::self {
namespace {

class SelfConduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "self"; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.direct = true, .passive_target = true, .ordered_signals = true, .remote_completion = true};
  }
  int open(const Job& job) override {
    job_ = &job;
    return OMPL_OK;
  }
  [[nodiscard]] std::string address() const override { return {}; }
  Reach connect(uint32_t rank, std::string_view /*address*/) override {
    if (rank != job_->rank) return {.usable = false, .why = "another rank"};
    return {.usable = true, .why = "this rank itself", .base = job_->segment};
  }

 private:
  const Job* job_ = nullptr;
};

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<SelfConduit>(); }

}  // namespace ompl::conduit::self
