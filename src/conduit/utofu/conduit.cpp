// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "conduit/utofu/endpoint.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::utofu {
namespace {

// Longer puts and gets are split at a multiple of it.
constexpr std::size_t kPage = 4096;

// As the core divides the segment by Capabilities::local_pieces.
uint64_t piece_of(std::size_t capacity) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return ((capacity + kLocalPieces - 1) / kLocalPieces + page - 1) / page * page;
}

class UtofuConduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "utofu"; }
  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::size_t connection_bytes(const Job& /*job*/) const override {
    return sizeof(VcqLink) + sizeof(Incoming);
  }
  int open(const Job& job) override;
  [[nodiscard]] std::string address() const override { return own_.encode(shared_.job->secret); }
  Reach connect(uint32_t rank, std::string_view address) override;
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;
  int commit(uint64_t offset, std::size_t length) override;
  void release(uint64_t offset, std::size_t length) override;
  int commit_local(uint64_t offset, std::size_t length) override;
  void release_local(uint64_t offset, std::size_t length) override;
  int register_memory(const void* address, std::size_t length) override;
  void unregister_memory(const void* address, std::size_t length) override;

 private:
  int open_device();
  int register_with_all(const void* memory, std::size_t length, unsigned stag,
                        std::vector<Registered>* out);

  Library library_;
  std::vector<utofu_tni_id_t> tnis_;
  std::size_t max_message_ = kPage;
  Address own_;
  std::vector<Address> peers_;
  SharedState shared_;
  std::vector<std::unique_ptr<Vcq>> vcqs_;  // by slot; end after all that is registered with them
  SegmentRegions segment_;
  LocalRegions local_;
  ProgramRegions program_;
  std::vector<std::unique_ptr<UtofuEndpoint>> endpoints_;  // until handed out
};

Capabilities UtofuConduit::capabilities() const {
  Capabilities out;
  out.passive_target = true;
  out.ordered_signals = true;
  out.remote_completion = true;
  out.stalls_sender = true;  // a full ring answers retry: the credits are this conduit's own
  out.max_fused_put = UtofuEndpoint::kPiggyback;
  out.immediate_puts = true;
  out.max_message = max_message_;
  out.local_pieces = kLocalPieces;
  if (shared_.job != nullptr && shared_.job->settings->utofu_stripe != 0) {  // open
    out.segment = std::min(shared_.job->settings->utofu_segment, max_message_);
    out.stripes = shared_.job->settings->utofu_stripe;
  }
  return out;
}

int UtofuConduit::open_device() {
  utofu_tni_id_t* ids = nullptr;
  std::size_t count = 0;
  int code = library_.get_onesided_tnis(&ids, &count);
  if (code == UTOFU_SUCCESS) tnis_.assign(ids, ids + count);
  std::free(ids);
  if (tnis_.empty())
    return fail(OMPL_ERR_UNSUPPORTED, "uTofu offers no TNI to this process: {} ({})", text_of(code),
                code);
  utofu_onesided_caps* caps = nullptr;
  code = library_.query_onesided_caps(tnis_.front(), &caps);
  if (code != UTOFU_SUCCESS)
    return fail(OMPL_ERR_UNSUPPORTED, "uTofu does not say what TNI {} can do: {} ({})", tnis_.front(),
                text_of(code), code);
  if ((caps->armw_ops & UTOFU_ONESIDED_CAP_ARMW_OP_ADD) == 0 ||
      caps->max_piggyback_size < UtofuEndpoint::kPiggyback ||
      caps->num_reserved_stags < kProgramStag + kProgramRegions ||
      kAlignment % caps->stag_address_alignment != 0 || caps->max_putget_size < kPage)
    return fail(OMPL_ERR_UNSUPPORTED,
                "TNI {} lacks what this conduit needs: atomic add, {} bytes in a command, {} STags for "
                "users, memory aligned to {} bytes",
                tnis_.front(), UtofuEndpoint::kPiggyback, kProgramStag + kProgramRegions, kAlignment);
  max_message_ = caps->max_putget_size / kPage * kPage;
  return OMPL_OK;
}

int UtofuConduit::open(const Job& job) {
  if (job.size > 1 && job.secret.empty()) return fail(OMPL_ERR_ARG, "the job has no secret");
  int code = library_.load();
  if (code == OMPL_OK) code = open_device();
  if (code != OMPL_OK) return code;
  peers_.resize(job.size);
  shared_ = {.library = &library_,
             .job = &job,
             .peers = &peers_,
             .segment = &segment_,
             .local = &local_,
             .program = &program_,
             .local_piece = piece_of(job.capacity),
             .cookies = {}};
  own_.challenge = unpredictable_number();
  for (uint32_t rank = 0; rank < job.size; ++rank)
    shared_.cookies.push_back(cookie(job.secret, rank, job.rank, own_.challenge));
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    vcqs_.push_back(std::make_unique<Vcq>(library_));
    code = vcqs_.back()->open(tnis_, job.rank + slot);
    if (code != OMPL_OK) return code;
    own_.slots.push_back(vcqs_.back()->id());
    endpoints_.push_back(std::make_unique<UtofuEndpoint>(shared_, *vcqs_.back(), slot));
    if (code = endpoints_.back()->open(); code != OMPL_OK) return code;
  }
  log::info("utofu: {} endpoints over {} TNIs", job.slots, tnis_.size());
  return OMPL_OK;
}

Reach UtofuConduit::connect(uint32_t rank, std::string_view address) {
  Address peer;
  const char* wrong = peer.parse(address, shared_.job->secret);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == shared_.job->rank) return {.why = "this rank itself"};
  peers_[rank] = std::move(peer);
  return {.usable = true, .why = fmt::format("uTofu, {} TNIs (never run on hardware)", tnis_.size())};
}

int UtofuConduit::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (slot >= endpoints_.size() || !endpoints_[slot])
    return fail(OMPL_ERR_ARG, "endpoint {} is not there to be opened", slot);
  *out = std::move(endpoints_[slot]);
  return OMPL_OK;
}

// Steering addresses are per VCQ, so each registers the memory; under one number everywhere.
int UtofuConduit::register_with_all(const void* memory, std::size_t length, unsigned stag,
                                    std::vector<Registered>* out) {
  for (const auto& vcq : vcqs_) {
    const int code = out->emplace_back().open(*vcq, memory, length, stag);
    if (code != UTOFU_SUCCESS)
      return fail(OMPL_ERR_MEMORY, "uTofu cannot register {} bytes at {} with TNI {}: {} ({})", length,
                  memory, vcq->tni(), text_of(code), code);
  }
  return OMPL_OK;
}

int UtofuConduit::commit(uint64_t offset, std::size_t length) {
  const int place = segment_.vacant();
  if (place == SegmentRegions::kNone)
    return fail(
        OMPL_ERR_MEMORY,
        "more than {} allocations at once cannot be registered with uTofu: make fewer and larger "
        "ones",
        kSegmentRegions);
  const unsigned stag = kSegmentStag + static_cast<unsigned>(place);
  std::vector<Registered> memory;
  const int code = register_with_all(shared_.job->segment + offset, length, stag, &memory);
  if (code == OMPL_OK) segment_.add(offset, offset + length, std::move(memory));
  return code;
}

void UtofuConduit::release(uint64_t offset, std::size_t /*length*/) { segment_.remove(offset); }

int UtofuConduit::commit_local(uint64_t offset, std::size_t length) {
  const uint64_t piece = shared_.local_piece;
  if (offset % piece != 0)
    return fail(OMPL_ERR_UNSUPPORTED,
                "another conduit of this job divides the segment otherwise than utofu");
  std::vector<Registered> memory;
  for (uint64_t at = offset; at < offset + length; at += piece) {
    const int code = register_with_all(shared_.job->segment + at, offset + length - at,
                                       kLocalStag + static_cast<unsigned>(at / piece), &memory);
    if (code != OMPL_OK) return code;
  }
  if (local_.add(offset, offset + length, std::move(memory)) != LocalRegions::kNone) return OMPL_OK;
  return fail(OMPL_ERR_MEMORY, "more than {} areas of local memory cannot be registered with uTofu",
              kLocalPieces);
}

void UtofuConduit::release_local(uint64_t offset, std::size_t /*length*/) { local_.remove(offset); }

int UtofuConduit::register_memory(const void* address, std::size_t length) {
  const int place = program_.vacant();
  if (place == ProgramRegions::kNone)
    return fail(OMPL_ERR_MEMORY, "more than {} pieces of memory cannot be registered with uTofu",
                kProgramRegions);
  const unsigned stag = kProgramStag + static_cast<unsigned>(place);
  std::vector<Registered> memory;
  const int code = register_with_all(address, length, stag, &memory);
  const auto begin = reinterpret_cast<uint64_t>(address);
  if (code == OMPL_OK) program_.add(begin, begin + length, std::move(memory));
  return code;
}

void UtofuConduit::unregister_memory(const void* address, std::size_t /*length*/) {
  program_.remove(reinterpret_cast<uint64_t>(address));
}

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<UtofuConduit>(); }

}  // namespace ompl::conduit::utofu
