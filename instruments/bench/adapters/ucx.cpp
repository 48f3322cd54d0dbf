// SPDX-License-Identifier: BSD-3-Clause
// Adapter of UCX: put + flag is ucp_put_nbx of the data, ucp_worker_fence, and ucp_put_nbx of the flag, which the target
// reads in its own memory. Each thread has a worker and an endpoint of its own, as OpenUCX recommends to programs with
// threads; with fewer workers (OMNI_ENDPOINTS) threads share them in turn, and UCX locks them (UCS_THREAD_MODE_MULTI).
// UCX_TLS chooses the transport.
#include "harness/endpoints.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "ucx_worker.hpp"

namespace {

class Ucx : public bench::WindowAdapter {
 public:
  Ucx(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : WindowAdapter(setup), workers_(setup), memory_(window_.size(), workers_.all().size()) {
    const bench::Gathering both(setup, 2);
    rank_ = both.rank();
    window_.place(memory_.address());
    for (bench::UcxWorker& worker : workers_.all()) worker.open(memory_, mode(), both);
    (void)both.all(rank_);
  }

  [[nodiscard]] bench::Description describe() const {
    return {std::string("UCX ") + ucp_get_version_string(),
            bench::ucx_transport(),
            workers_.count(),
            {{"thread level asked", mode_name(mode())},
             {"thread level granted", mode_name(at(0).granted())},
             {"workers", workers_.text()}}};
  }

  void put(int i, std::size_t offset, std::size_t bytes) {
    at(i).put(1 - rank_, source(i) + offset, window_.target_offset(i) + offset, bytes);
  }
  void signal(int i) {
    at(i).fence();
    window_.next(i);
    at(i).put(1 - rank_, window_.at(window_.word_offset(i)), window_.flag_offset(i), sizeof(uint32_t));
  }
  void wait(int i) {
    window_.wait(i, [this, i] { at(i).progress(); });
  }
  void flush(int i) { at(i).flush(1 - rank_); }
  void look(int i) { at(i).progress(); }
  void attend() {
    for (bench::UcxWorker& worker : workers_.all()) worker.progress();
  }

 private:
  [[nodiscard]] ucs_thread_mode_t mode() const {
    return workers_.shared() ? UCS_THREAD_MODE_MULTI : UCS_THREAD_MODE_SERIALIZED;
  }
  static std::string mode_name(ucs_thread_mode_t mode) {
    if (mode == UCS_THREAD_MODE_MULTI) return "UCS_THREAD_MODE_MULTI";
    return mode == UCS_THREAD_MODE_SERIALIZED ? "UCS_THREAD_MODE_SERIALIZED" : "UCS_THREAD_MODE_SINGLE";
  }
  [[nodiscard]] bench::UcxWorker& at(int i) const { return workers_.of(i); }

  bench::Endpoints<bench::UcxWorker> workers_;
  bench::UcxMemory memory_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Ucx>(argc, argv); }
