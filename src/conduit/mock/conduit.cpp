// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <charconv>

#include "conduit/mock/endpoint.hpp"
#include "conduit/mock/wire.hpp"
#include "util/status.hpp"

namespace ompl::conduit::mock {
namespace {

class MockConduit final : public Conduit {
 public:
  explicit MockConduit(Wire& wire) : wire_(wire) {}

  [[nodiscard]] std::string_view name() const override { return "mock"; }

  [[nodiscard]] Capabilities capabilities() const override {
    const Hostility& hostility = wire_.hostility();
    return {.direct = false,
            .passive_target = hostility.passive_target,
            .ordered_signals = hostility.ordered_signals,
            .ordered_puts = hostility.ordered_puts,
            .remote_completion = hostility.remote_completion,
            .stalls_sender = hostility.stalls_sender,
            .max_fused_put = hostility.max_fused_put,
            .immediate_puts = hostility.immediate_puts,
            .max_message = hostility.max_message,
            .segment = hostility.segment,
            .stripes = hostility.stripes,
            .max_endpoints = hostility.max_endpoints};
  }

  [[nodiscard]] std::size_t connection_bytes(const Job& /*job*/) const override {
    return wire_.hostility().connection_bytes;
  }

  int open(const Job& job) override {
    if (job.size != wire_.size() || job.rank >= job.size)
      return fail(OMPL_ERR_UNSUPPORTED, "mock: rank {} of {} on a wire of {}", job.rank, job.size,
                  wire_.size());
    if (job.size > 1 && job.secret.empty()) wire_.violation("no secret to tell strangers by");
    job_ = &job;
    peer_slots_.assign(job.size, 0);
    wire_.memory(job.rank).open(job.segment, job.capacity);
    return OMPL_OK;
  }

  // The pool's size: peers need it to know which endpoint a slot of theirs talks to.
  [[nodiscard]] std::string address() const override { return fmt::format("mock:{}", job_->slots); }

  Reach connect(uint32_t rank, std::string_view address) override {
    constexpr std::string_view kPrefix = "mock:";
    uint32_t slots = 0;
    const char* const end = address.data() + address.size();
    if (!address.starts_with(kPrefix)) return {.why = "the address is not of the mock"};
    const auto [stop, error] = std::from_chars(address.data() + kPrefix.size(), end, slots);
    if (error != std::errc() || stop != end || slots == 0 || rank >= peer_slots_.size())
      return {.why = "the address is malformed"};
    peer_slots_[rank] = slots;
    return {.usable = true, .why = "on the same mock wire", .death_fd = wire_.death_fd(rank)};
  }

  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override {
    if (slot >= job_->slots || slot >= wire_.hostility().max_endpoints)
      return fail(OMPL_ERR_MEMORY, "mock: no endpoint {}: at most {}", slot,
                  wire_.hostility().max_endpoints);
    *out = std::make_unique<MockEndpoint>(wire_, job_->rank, slot, peer_slots_);
    ++wire_.counts().endpoints;
    return OMPL_OK;
  }

  int commit(uint64_t offset, std::size_t length) override {
    const Hostility& hostility = wire_.hostility();
    const bool limited = hostility.limited_rank == UINT32_MAX || hostility.limited_rank == job_->rank;
    const std::size_t limit = limited ? hostility.registration_limit : SIZE_MAX;
    if (wire_.memory(job_->rank).commit(offset, length, limit)) return OMPL_OK;
    return fail(OMPL_ERR_MEMORY, "mock: cannot register {} bytes at {}: at most {} in all", length,
                offset, limit);
  }

  void release(uint64_t offset, std::size_t length) override {
    wire_.memory(job_->rank).release(offset, length);
  }

 private:
  Wire& wire_;
  const Job* job_ = nullptr;
  std::vector<uint32_t> peer_slots_;  // 0: not connected
};

}  // namespace

std::unique_ptr<Conduit> make(Wire& wire) { return std::make_unique<MockConduit>(wire); }

}  // namespace ompl::conduit::mock
