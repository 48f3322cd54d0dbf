// SPDX-License-Identifier: BSD-3-Clause
// Adapter of UCX: put + flag is ucp_put_nbx of the data, ucp_worker_fence, and ucp_put_nbx of the flag, which the target
// reads in its own memory. Each thread has a worker and an endpoint of its own, as OpenUCX recommends to programs with
// threads; with OMNI_SHARED set all use one worker that UCX locks (UCS_THREAD_MODE_MULTI). UCX_TLS chooses the transport.
#include <ucp/api/ucp.h>

#include <vector>

#include "harness/meeting.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"

namespace {

constexpr ucp_request_param_t kPlain{};

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

class Ucx {
 public:
  Ucx(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : rank_(bench::launched_rank()),
        shared_(std::getenv("OMNI_SHARED") != nullptr),
        window_(setup),
        lines_(shared_ ? 1 : static_cast<std::size_t>(setup.threads)) {
    const bench::Meeting meeting(setup.control + ".meet", rank_);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_RMA;
    check(ucp_init(&params, nullptr, &context_), "ucp_init");
    memory_ = map(window_.size());
    window_.place(memory_);
    void* packed = nullptr;
    std::size_t size = 0;
    check(ucp_rkey_pack(context_, registration_, &packed, &size), "ucp_rkey_pack");
    const std::vector<char> key = meeting.exchange(packed, size);
    ucp_rkey_buffer_release(packed);
    peer_ = meeting.exchange(reinterpret_cast<uint64_t>(memory_));
    for (Line& line : lines_) open(line, meeting, key);
    (void)meeting.exchange(rank_);
  }
  ~Ucx() = default;  // UCX's orderly way out would have to be agreed on with the other side
  Ucx(const Ucx&) = delete;
  Ucx& operator=(const Ucx&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    const char* chosen = std::getenv("UCX_TLS");
    ucp_worker_attr_t worker{};
    worker.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
    check(ucp_worker_query(lines_[0].worker, &worker), "ucp_worker_query");
    return {std::string("UCX ") + ucp_get_version_string(),
            chosen != nullptr ? std::string("UCX_TLS=") + chosen : "chosen by UCX",
            static_cast<int>(lines_.size()),
            {{"thread level asked", mode_name(mode())},
             {"thread level granted", mode_name(worker.thread_mode)},
             {"workers", shared_ ? "one for all threads" : "one per thread"}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return window_.source(i); }
  [[nodiscard]] std::byte* target(int i) const { return window_.target(i); }
  void put(int i, std::size_t offset, std::size_t bytes) {
    transfer(i, source(i) + offset, window_.target_offset(i) + offset, bytes);
  }
  void put_alone(int i, std::size_t offset, std::size_t bytes) { put(i, offset, bytes); }
  void signal(int i) {
    check(ucp_worker_fence(at(i).worker), "ucp_worker_fence");
    window_.next(i);
    transfer(i, window_.at(window_.word_offset(i)), window_.flag_offset(i), sizeof(uint32_t));
  }
  void wait(int i) {
    window_.wait(i, [this, i] { ucp_worker_progress(at(i).worker); });
  }
  void flush(int i) { finish(i, ucp_ep_flush_nbx(at(i).endpoint, &kPlain), "ucp_ep_flush_nbx"); }
  void look(int i) { ucp_worker_progress(at(i).worker); }

 private:
  struct alignas(128) Line {
    ucp_worker_h worker = nullptr;
    ucp_ep_h endpoint = nullptr;
    ucp_rkey_h key = nullptr;
  };

  [[nodiscard]] ucs_thread_mode_t mode() const {
    return shared_ ? UCS_THREAD_MODE_MULTI : UCS_THREAD_MODE_SERIALIZED;
  }
  static std::string mode_name(ucs_thread_mode_t mode) {
    if (mode == UCS_THREAD_MODE_MULTI) return "UCS_THREAD_MODE_MULTI";
    return mode == UCS_THREAD_MODE_SERIALIZED ? "UCS_THREAD_MODE_SERIALIZED" : "UCS_THREAD_MODE_SINGLE";
  }

  // Memory of UCX's own, which it can share with the other process.
  void* map(std::size_t bytes) {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    params.length = bytes;
    params.flags = UCP_MEM_MAP_ALLOCATE;
    check(ucp_mem_map(context_, &params, &registration_), "ucp_mem_map");
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    check(ucp_mem_query(registration_, &attributes), "ucp_mem_query");
    return attributes.address;
  }

  void open(Line& line, const bench::Meeting& meeting, const std::vector<char>& key) const {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = mode();
    check(ucp_worker_create(context_, &params, &line.worker), "ucp_worker_create");
    ucp_address_t* own = nullptr;
    std::size_t size = 0;
    check(ucp_worker_get_address(line.worker, &own, &size), "ucp_worker_get_address");
    const std::vector<char> theirs = meeting.exchange(own, size);
    ucp_worker_release_address(line.worker, own);
    ucp_ep_params_t to{};
    to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    to.address = reinterpret_cast<const ucp_address_t*>(theirs.data());
    check(ucp_ep_create(line.worker, &to, &line.endpoint), "ucp_ep_create");
    check(ucp_ep_rkey_unpack(line.endpoint, key.data(), &line.key), "ucp_ep_rkey_unpack");
  }

  void transfer(int i, const void* from, std::size_t to, std::size_t bytes) {
    finish(i, ucp_put_nbx(at(i).endpoint, from, bytes, peer_ + to, at(i).key, &kPlain), "ucp_put_nbx");
  }
  // The source may be used again once the request is done, which over memory it is at once.
  void finish(int i, ucs_status_ptr_t request, const char* what) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), what);
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(at(i).worker);
    check(ucp_request_check_status(request), what);
    ucp_request_free(request);
  }
  Line& at(int i) { return lines_[shared_ ? 0 : static_cast<std::size_t>(i)]; }

  int rank_;
  bool shared_;
  bench::Window window_;
  std::vector<Line> lines_;
  ucp_context_h context_ = nullptr;
  ucp_mem_h registration_ = nullptr;
  void* memory_ = nullptr;
  uint64_t peer_ = 0;  // address of the peer's memory
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Ucx>(argc, argv); }
