// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/resources.hpp"

#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr std::size_t kQueueSize = 1024;  // a hint: providers grow it

}  // namespace

int Resources::open(const Library& library, fi_info* info, const Job& job, uint64_t key) {
  fi_eq_attr event_attributes{};
  event_attributes.wait_obj = FI_WAIT_FD;
  fi_cq_attr queue_attributes{};
  queue_attributes.size = kQueueSize;
  queue_attributes.format = FI_CQ_FORMAT_DATA;
  queue_attributes.wait_obj = FI_WAIT_FD;
  constexpr uint64_t kAccess = FI_REMOTE_READ | FI_REMOTE_WRITE;

  const char* step = "";
  int result = 0;
  // Runs one step unless an earlier one failed; `make` opens an object into a raw pointer.
  const auto make = [&](const char* name, auto* owner, auto&& open_object) {
    if (result != 0) return;
    typename std::remove_pointer_t<decltype(owner)>::pointer object = nullptr;
    step = name;
    result = open_object(&object);
    if (result == 0) owner->reset(object);
  };
  make("fi_fabric", &fabric,
       [&](auto** out) { return library.fabric(info->fabric_attr, out, nullptr); });
  make("fi_domain", &domain, [&](auto** out) { return fi_domain(fabric.get(), info, out, nullptr); });
  make("fi_mr_reg", &segment, [&](auto** out) {
    return fi_mr_reg(domain.get(), job.segment, job.capacity, kAccess, 0, key, 0, out, nullptr);
  });
  make("fi_eq_open", &events,
       [&](auto** out) { return fi_eq_open(fabric.get(), &event_attributes, out, nullptr); });
  make("fi_cq_open", &queue,
       [&](auto** out) { return fi_cq_open(domain.get(), &queue_attributes, out, nullptr); });
  make("fi_srx_context", &receiver,
       [&](auto** out) { return fi_srx_context(domain.get(), info->rx_attr, out, nullptr); });
  make("fi_passive_ep", &listener,
       [&](auto** out) { return fi_passive_ep(fabric.get(), info, out, nullptr); });
  if (result == 0) {
    step = "fi_listen";
    result = fi_pep_bind(listener.get(), &events->fid, 0);
    if (result == 0) result = fi_listen(listener.get());
  }
  if (result == 0) return OMPL_OK;
  return fail(OMPL_ERR_SYSTEM, "{} of provider {} failed: {}", step, info->fabric_attr->prov_name,
              library.text(result));
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

}  // namespace ompl::conduit::ofi
