// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with UCX: an endpoint to it from each thread's worker. See harness/connected.hpp.
#include <cstring>

#include "adapters/ucx_worker.hpp"
#include "harness/connected.hpp"

namespace {

class Ucx : public bench::Gathered {
 public:
  Ucx(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : Gathered(setup),
        workers_(static_cast<std::size_t>(setup.threads)),
        of_ucx_(workers_.size() * kRegion, workers_.size()) {
    memory_ = static_cast<std::byte*>(of_ucx_.address());
    std::memset(memory_, 0, workers_.size() * kRegion);
    for (bench::UcxWorker& worker : workers_) worker.open(of_ucx_, UCS_THREAD_MODE_SERIALIZED, others_);
  }

  [[nodiscard]] bench::Description describe() const override {
    return {std::string("UCX ") + ucp_get_version_string(),
            bench::ucx_transport(),
            static_cast<int>(workers_.size()),
            {{"workers", "one per thread"}}};
  }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    at(thread).put(peer, region(thread) + from, offset(thread) + to, bytes);
  }
  void flush(int thread) override {
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer != rank()) at(thread).flush(peer);
    }
  }
  void progress() override {
    for (bench::UcxWorker& worker : workers_) worker.progress();
  }

 private:
  bench::UcxWorker& at(int thread) { return workers_[static_cast<std::size_t>(thread)]; }

  std::vector<bench::UcxWorker> workers_;
  bench::UcxMemory of_ucx_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Ucx>(argc, argv); }
