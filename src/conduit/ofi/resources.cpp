// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/resources.hpp"

#include <array>

#include "conduit/ofi/address.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr std::size_t kQueueSize = 1024;  // a hint: providers grow it

// Opens one object into its owner.
template <class Owner, class Open>
int make(Owner* owner, Open&& open_object) {
  typename Owner::pointer object = nullptr;
  const int result = open_object(&object);
  if (result == 0) owner->reset(object);
  return result;
}

}  // namespace

int Resources::open(const Library& library, const ProviderChoice& choice, const Job& job,
                    uint64_t key) {
  fi_info* const info = choice.info.get();
  bind_registrations_ = choice.mr_mode(FI_MR_ENDPOINT);
  next_key_ = key;
  if (info->domain_attr->mr_key_size < sizeof key_mask_)
    key_mask_ = (uint64_t{1} << 8 * info->domain_attr->mr_key_size) - 1;

  const char* step = "fi_fabric";
  int result =
      make(&fabric, [&](auto** out) { return library.fabric(info->fabric_attr, out, nullptr); });
  if (result == 0) {
    step = "fi_domain";
    result = make(&domain, [&](auto** out) { return fi_domain(fabric.get(), info, out, nullptr); });
  }
  if (result == 0) {
    step = "fi_cq_open";
    fi_cq_attr attributes{};
    attributes.size = kQueueSize;
    attributes.format = FI_CQ_FORMAT_DATA;
    attributes.wait_obj = FI_WAIT_FD;
    const auto open_queue = [&](auto** out) {
      return fi_cq_open(domain.get(), &attributes, out, nullptr);
    };
    result = make(&queue, open_queue);
    if (result != 0) {
      can_sleep = false;
      attributes.wait_obj = FI_WAIT_NONE;
      result = make(&queue, open_queue);
    }
  }
  if (result == 0)
    result = choice.addressed ? open_addressed(info, &step) : open_connected(info, &step);
  if (result == 0) {
    step = "fi_mr_reg";
    uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
    if (choice.registers) access |= FI_READ | FI_WRITE;  // puts and gets may also start there
    result = register_memory(job.segment, job.capacity, access, &segment);
  }
  if (result == 0 && !choice.addressed) {
    step = "fi_listen";
    result = fi_listen(listener.get());
  }
  if (result == 0) return OMPL_OK;
  return fail(OMPL_ERR_SYSTEM, "{} of provider {} failed: {}{}", step, choice.name,
              library.text(result),
              is_refusal(static_cast<int>(-result))
                  ? "; the system may refuse a call that it makes: see a container's seccomp profile"
                  : "");
}

int Resources::open_connected(fi_info* info, const char** step) {
  fi_eq_attr attributes{};
  attributes.wait_obj = FI_WAIT_FD;
  *step = "fi_eq_open";
  int result =
      make(&events, [&](auto** out) { return fi_eq_open(fabric.get(), &attributes, out, nullptr); });
  if (result == 0) {
    *step = "fi_srx_context";
    result = make(&receiver, [&](auto** out) {
      return fi_srx_context(domain.get(), info->rx_attr, out, nullptr);
    });
  }
  if (result == 0) {
    *step = "fi_passive_ep";
    result =
        make(&listener, [&](auto** out) { return fi_passive_ep(fabric.get(), info, out, nullptr); });
  }
  if (result == 0) result = fi_pep_bind(listener.get(), &events->fid, 0);
  return result;
}

int Resources::open_addressed(fi_info* info, const char** step) {
  fi_av_attr attributes{};
  attributes.type = info->domain_attr->av_type == FI_AV_MAP ? FI_AV_MAP : FI_AV_TABLE;
  *step = "fi_av_open";
  int result =
      make(&peers, [&](auto** out) { return fi_av_open(domain.get(), &attributes, out, nullptr); });
  if (result == 0) {
    *step = "fi_endpoint";
    result = make(&receiver, [&](auto** out) { return fi_endpoint(domain.get(), info, out, nullptr); });
  }
  if (result != 0) return result;
  *step = "fi_ep_bind";
  fid_ep* const endpoint = receiver.get();
  result = fi_ep_bind(endpoint, &peers->fid, 0);
  if (result == 0) result = fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
  if (result == 0) result = fi_ep_bind(endpoint, &queue->fid, FI_RECV);
  if (result != 0) return result;
  *step = "fi_enable";
  return fi_enable(endpoint);
}

Fid<fid_ep> Resources::make_endpoint(fi_info* info, void* context, int* result) const {
  fid_ep* raw = nullptr;
  *result = fi_endpoint(domain.get(), info, &raw, context);
  if (*result != 0) return nullptr;
  Fid<fid_ep> endpoint(raw);
  // Sends report a completion only where asked; receives always do.
  *result = fi_ep_bind(raw, &events->fid, 0);
  if (*result == 0) *result = fi_ep_bind(raw, &queue->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
  if (*result == 0) *result = fi_ep_bind(raw, &queue->fid, FI_RECV);
  if (*result == 0) *result = fi_ep_bind(raw, &receiver->fid, 0);
  if (*result == 0) *result = fi_enable(raw);
  if (*result != 0) return nullptr;
  return endpoint;
}

int Resources::register_memory(const void* address, std::size_t length, uint64_t access,
                               Fid<fid_mr>* out) {
  const uint64_t key = next_key_++ & key_mask_;
  int result = make(out, [&](auto** raw) {
    return fi_mr_reg(domain.get(), address, length, access, 0, key, 0, raw, nullptr);
  });
  if (result != 0 || !bind_registrations_) return result;
  result = fi_mr_bind(out->get(), &receiver->fid, 0);
  if (result == 0) result = fi_mr_enable(out->get());
  if (result != 0) out->reset();
  return result;
}

std::string Resources::name() const {
  std::array<char, Address::kMaxName> buffer{};
  std::size_t length = buffer.size();
  if (fi_getname(&receiver->fid, buffer.data(), &length) != 0 || length > buffer.size()) return {};
  return {buffer.data(), length};
}

}  // namespace ompl::conduit::ofi
