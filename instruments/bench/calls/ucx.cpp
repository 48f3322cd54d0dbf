// SPDX-License-Identifier: BSD-3-Clause
// Active messages of UCX: ucp_am_send_nbx with the payload in its header. Each thread has a worker of its own, as OpenUCX
// recommends. See calls.hpp.
#include <ucp/api/ucp.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "adapters/ucx_worker.hpp"
#include "calls.hpp"

namespace {

using bench::check;

class Ucx : public bench::Calls {
 public:
  Ucx(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : Calls(setup), threads_(static_cast<std::size_t>(setup.threads)) {
    const bench::Gathering both(setup, 2);
    rank_ = both.rank();
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = UCP_FEATURE_AM;
    params.mt_workers_shared = threads_.size() > 1;
    check(ucp_init(&params, nullptr, &context_), "ucp_init");
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      threads_[i].self = this, threads_[i].channel = static_cast<int>(i);
      open(threads_[i], both);
    }
    (void)both.all(rank_);
  }

  [[nodiscard]] bench::Description describe() const {
    return {std::string("UCX ") + ucp_get_version_string(),
            bench::ucx_transport(),
            static_cast<int>(threads_.size()),
            {{"thread level asked", "UCS_THREAD_MODE_SERIALIZED"}, {"workers", "one per thread"}}};
  }

  void call(int i, std::size_t bytes) {
    Thread& mine = at(i);
    Request& request = mine.requests[mine.next++ % kOutstanding];
    finish(mine, request);
    const void* payload = source(i);
    const bool small = bytes <= request.payload.size();
    if (small) payload = std::memcpy(request.payload.data(), payload, bytes);
    request.handle = ucp_am_send_nbx(mine.endpoint, kId, payload, bytes, nullptr, 0, &kPlain);
    if (!small) finish(mine, request);
  }
  void take(int i) {
    window_.wait(i, [this, i] { ucp_worker_progress(at(i).worker); });
  }
  // The library may leave what it had no room for until it is called again.
  void rest(int i) {
    Thread& mine = at(i);
    for (Request& request : mine.requests) finish(mine, request);
  }

 private:
  static constexpr unsigned kId = 1;
  static constexpr std::size_t kOutstanding = 64;
  static constexpr ucp_request_param_t kPlain{};
  struct Request {
    void* handle = nullptr;
    std::array<std::byte, 64> payload{};  // which the request may still read
  };
  struct alignas(128) Thread {
    const Ucx* self = nullptr;
    int channel = 0;
    ucp_worker_h worker = nullptr;
    ucp_ep_h endpoint = nullptr;
    std::size_t next = 0;
    std::array<Request, kOutstanding> requests{};  // those under way
  };

  static ucs_status_t run(void* thread, const void* header, std::size_t bytes, void* /*data*/,
                          std::size_t /*length*/, const ucp_am_recv_param_t* /*more*/) {
    const auto* const at = static_cast<const Thread*>(thread);
    at->self->arrive(at->channel, header, bytes);
    return UCS_OK;
  }
  // Collective.
  void open(Thread& mine, const bench::Gathering& both) {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    check(ucp_worker_create(context_, &params, &mine.worker), "ucp_worker_create");
    ucp_am_handler_param_t handler{};
    handler.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kId;
    handler.cb = run;
    handler.arg = &mine;
    check(ucp_worker_set_am_recv_handler(mine.worker, &handler), "ucp_worker_set_am_recv_handler");
    ucp_address_t* own = nullptr;
    std::size_t size = 0;
    check(ucp_worker_get_address(mine.worker, &own, &size), "ucp_worker_get_address");
    const auto addresses = both.all(own, size);
    ucp_worker_release_address(mine.worker, own);
    ucp_ep_params_t to{};
    to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    to.address =
        reinterpret_cast<const ucp_address_t*>(addresses[static_cast<std::size_t>(1 - rank_)].data());
    check(ucp_ep_create(mine.worker, &to, &mine.endpoint), "ucp_ep_create");
  }
  static void finish(const Thread& mine, Request& request) {
    void* const handle = std::exchange(request.handle, nullptr);
    if (handle == nullptr) return;
    if (UCS_PTR_IS_ERR(handle)) check(UCS_PTR_STATUS(handle), "ucp_am_send_nbx");
    while (ucp_request_check_status(handle) == UCS_INPROGRESS) ucp_worker_progress(mine.worker);
    check(ucp_request_check_status(handle), "ucp_am_send_nbx");
    ucp_request_free(handle);
  }
  [[nodiscard]] Thread& at(int i) { return threads_[static_cast<std::size_t>(i)]; }

  ucp_context_h context_ = nullptr;
  std::vector<Thread> threads_;
};

}  // namespace

int main(int argc, char** argv) { return bench::calls_main<Ucx>(argc, argv); }
