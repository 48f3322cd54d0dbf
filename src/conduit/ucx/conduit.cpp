// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <pthread.h>

#include "conduit/common/needed_calls.hpp"
#include "conduit/common/network_identity.hpp"
#include "conduit/ucx/endpoint.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ucx {
namespace {

class UcxConduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "ucx"; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.ordered_signals = true, .max_fused_put = max_fused_put_};
  }
  int open(const Job& job) override;
  [[nodiscard]] std::string address() const override { return own_.encode(shared_.job->secret); }
  Reach connect(uint32_t rank, std::string_view address) override;
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;

 private:
  Library library_;
  UcpContext context_{library_};
  Address own_;
  std::vector<Address> peers_;
  SharedState shared_;
  std::size_t max_fused_put_ = 0;
  std::vector<std::unique_ptr<UcxEndpoint>> endpoints_;  // until handed out
};

// UCX aborts the process, or waits for ever, where the system refuses these. Some seccomp profiles refuse clone3 with an error
// after which the C library does not try clone, so there are no threads.
int try_calls() {
  if (const int code =
          conduit::try_calls("UCX", {{"accept", SYS_accept}, {"timerfd_settime", SYS_timerfd_settime}});
      code != OMPL_OK)
    return code;
  ::pthread_t thread{};
  const int error = ::pthread_create(
      &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
  if (error != 0)
    return fail(OMPL_ERR_SYSTEM, "UCX needs a thread, and none can be made: {}",
                call_text("clone3", error));
  ::pthread_join(thread, nullptr);
  return OMPL_OK;
}

int UcxConduit::open(const Job& job) {
  if (job.size > 1 && job.secret.empty()) return fail(OMPL_ERR_ARG, "the job has no secret");
  int code = try_calls();
  if (code == OMPL_OK) code = library_.load();
  if (code == OMPL_OK) code = context_.open(job);
  if (code != OMPL_OK) return code;

  peers_.resize(job.size);
  shared_ = {.library = &library_,
             .job = &job,
             .peers = &peers_,
             .error_mode = context_.error_mode(),
             .cookies = {},
             .network = network_identity()};
  own_.network = shared_.network;
  own_.challenge = unpredictable_number();
  for (uint32_t rank = 0; rank < job.size; ++rank)
    shared_.cookies.push_back(cookie(job.secret, rank, job.rank, own_.challenge));
  own_.version = library_.version();
  own_.base = reinterpret_cast<uintptr_t>(job.segment);
  own_.key = context_.key();
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    endpoints_.push_back(std::make_unique<UcxEndpoint>(shared_, slot));
    code = endpoints_.back()->open(context_, &own_);
    if (code != OMPL_OK) return code;
    max_fused_put_ = endpoints_.back()->copy_limit();
  }
  log::info("ucx: UCX {}, {} endpoints", own_.version, job.slots);
  return OMPL_OK;
}

Reach UcxConduit::connect(uint32_t rank, std::string_view address) {
  Address peer;
  const char* wrong = peer.parse(address, shared_.job->secret);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == shared_.job->rank) return {.why = "this rank itself"};
  if (peer.version != own_.version)
    return {.why =
                fmt::format("versions of UCX differ (here {}, there {})", own_.version, peer.version)};
  peers_[rank] = std::move(peer);
  return {.usable = true, .why = "UCX " + own_.version};
}

int UcxConduit::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (slot >= endpoints_.size() || !endpoints_[slot])
    return fail(OMPL_ERR_ARG, "endpoint {} is not there to be opened", slot);
  *out = std::move(endpoints_[slot]);
  return OMPL_OK;
}

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<UcxConduit>(); }

}  // namespace ompl::conduit::ucx
