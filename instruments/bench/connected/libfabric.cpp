// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with libfabric: its address in the vector of each thread's domain. See harness/connected.hpp.
#include <cstdlib>

#include "adapters/libfabric_endpoint.hpp"
#include "adapters/libfabric_fabric.hpp"
#include "harness/connected.hpp"

namespace {

class Libfabric : public bench::Connected {
 public:
  Libfabric(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : others_(setup.control + ".meet", bench::launched_rank(), bench::launched_ranks()),
        fabric_(FI_THREAD_DOMAIN),
        memory_(make_regions(setup.threads)),
        endpoints_(static_cast<std::size_t>(setup.threads)) {
    uint64_t key = kFirstKey;
    for (bench::Endpoint& each : endpoints_)
      each.open(fabric_.fabric(), fabric_.info(), memory_, offset(setup.threads), key++, others_);
  }
  ~Libfabric() override {
    endpoints_.clear();
    std::free(memory_);
  }

  [[nodiscard]] int rank() const override { return others_.rank(); }
  [[nodiscard]] int ranks() const override { return others_.ranks(); }
  [[nodiscard]] bench::Description describe() const override {
    return {bench::Fabric::version(), fabric_.provider(), static_cast<int>(endpoints_.size()), {}};
  }
  [[nodiscard]] std::byte* region(int thread) const override { return memory_ + offset(thread); }
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

  bench::Gathering others_;
  bench::Fabric fabric_;
  std::byte* memory_;
  std::vector<bench::Endpoint> endpoints_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Libfabric>(argc, argv); }
