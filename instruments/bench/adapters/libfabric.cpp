// SPDX-License-Identifier: BSD-3-Clause
// Adapter of libfabric: put + flag is fi_write of the data and fi_inject_write of the flag, which the target reads in its
// own memory while it drives progress. Where the provider does not keep writes in order (FI_ORDER_WAW) the flag waits for
// FI_DELIVERY_COMPLETE. Each thread has a domain and an endpoint of its own (FI_THREAD_DOMAIN: no locks); with fewer
// (OMNI_ENDPOINTS) threads share them in turn, and libfabric locks them (FI_THREAD_SAFE). FI_PROVIDER chooses the provider.

#include "harness/endpoints.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "libfabric_endpoint.hpp"
#include "libfabric_fabric.hpp"

namespace {

class Libfabric : public bench::WindowAdapter {
 public:
  Libfabric(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : WindowAdapter(setup),
        endpoints_(setup),
        fabric_(endpoints_.shared() ? FI_THREAD_SAFE : FI_THREAD_DOMAIN) {
    const bench::Gathering both(setup, 2);
    rank_ = both.rank();
    std::byte* const memory = window_.allocate();
    uint64_t key = kFirstKey;
    for (bench::Endpoint& each : endpoints_.all())
      each.open(fabric_.fabric(), fabric_.info(), memory, window_.size(), key++, both);
    (void)both.all(rank_);
  }

  ~Libfabric() { endpoints_.all().clear(); }  // before the fabric

  [[nodiscard]] bench::Description describe() const {
    const auto threading = fabric_.info()->domain_attr->threading;
    return {bench::Fabric::version(),
            fabric_.provider(),
            endpoints_.count(),
            {{"thread level asked", endpoints_.shared() ? "FI_THREAD_SAFE" : "FI_THREAD_DOMAIN"},
             {"thread level granted", fi_tostr(&threading, FI_TYPE_THREADING)},
             {"endpoints", endpoints_.text()},
             {"order of writes",
              fabric_.ordered() ? "kept by the provider" : "the flag waits for FI_DELIVERY_COMPLETE"}}};
  }

  void put(int i, std::size_t offset, std::size_t bytes) {
    at(i).write(1 - rank_, source(i) + offset, window_.target_offset(i) + offset, bytes);
  }
  void signal(int i) {
    if (!fabric_.ordered()) flush(i);
    window_.next(i);
    at(i).inject(1 - rank_, window_.at(window_.word_offset(i)), window_.flag_offset(i),
                 sizeof(uint32_t));
  }
  void wait(int i) {
    window_.wait(i, [this, i] { at(i).progress(); });
  }
  void flush(int i) { at(i).flush(); }
  void look(int i) { at(i).progress(); }
  void attend() {
    for (bench::Endpoint& each : endpoints_.all()) each.progress();
  }

 private:
  static constexpr uint64_t kFirstKey = 42;
  [[nodiscard]] bench::Endpoint& at(int i) const { return endpoints_.of(i); }

  bench::Endpoints<bench::Endpoint> endpoints_;
  bench::Fabric fabric_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Libfabric>(argc, argv); }
