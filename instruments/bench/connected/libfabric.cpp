// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with libfabric: its address in the vector of each thread's domain. See harness/connected.hpp.
#include "adapters/libfabric_endpoint.hpp"
#include "adapters/libfabric_fabric.hpp"
#include "harness/connected.hpp"

namespace {

class Libfabric : public bench::Gathered {
 public:
  Libfabric(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : Gathered(setup),
        fabric_(FI_THREAD_DOMAIN),
        endpoints_(static_cast<std::size_t>(setup.threads)) {
    make_regions(setup.threads);
    uint64_t key = kFirstKey;
    for (bench::Endpoint& each : endpoints_)
      each.open(fabric_.fabric(), fabric_.info(), memory_, offset(setup.threads), key++, others_);
  }

  [[nodiscard]] bench::Description describe() const override {
    return {bench::Fabric::version(), fabric_.provider(), static_cast<int>(endpoints_.size()), {}};
  }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    at(thread).write(peer, region(thread) + from, offset(thread) + to, bytes);
  }
  void flush(int thread) override { at(thread).flush(); }
  void progress() override {
    for (bench::Endpoint& each : endpoints_) each.progress();
  }

 private:
  static constexpr uint64_t kFirstKey = 42;
  bench::Endpoint& at(int thread) { return endpoints_[static_cast<std::size_t>(thread)]; }

  bench::Fabric fabric_;
  std::vector<bench::Endpoint> endpoints_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Libfabric>(argc, argv); }
