// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with UCX: an endpoint to it from each thread's worker. See harness/connected.hpp.
#include <cstring>

#include "adapters/ucx_worker.hpp"
#include "harness/connected.hpp"

namespace {

class Ucx : public bench::Connected {
 public:
  Ucx(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : others_(setup.control + ".meet", bench::launched_rank(), bench::launched_ranks()),
        workers_(static_cast<std::size_t>(setup.threads)),
        memory_(workers_.size() * kRegion, workers_.size()) {
    std::memset(memory_.address(), 0, workers_.size() * kRegion);
    for (bench::UcxWorker& worker : workers_) worker.open(memory_, UCS_THREAD_MODE_SERIALIZED, others_);
  }

  [[nodiscard]] int rank() const override { return others_.rank(); }
  [[nodiscard]] int ranks() const override { return others_.ranks(); }
  [[nodiscard]] bench::Description describe() const override {
    return {std::string("UCX ") + ucp_get_version_string(),
            bench::ucx_transport(),
            static_cast<int>(workers_.size()),
            {{"workers", "one per thread"}}};
  }
  [[nodiscard]] std::byte* region(int thread) const override {
    return static_cast<std::byte*>(memory_.address()) + offset(thread);
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

  bench::Gathering others_;
  std::vector<bench::UcxWorker> workers_;
  bench::UcxMemory memory_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Ucx>(argc, argv); }
