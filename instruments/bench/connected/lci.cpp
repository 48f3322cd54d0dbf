// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with LCI: a device for each thread, and all that a put to it needs there. See harness/connected.hpp.
#include "adapters/lci_device.hpp"
#include "harness/connected.hpp"

namespace {

class Lci : public bench::Connected {
 public:
  Lci(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : channels_(static_cast<std::size_t>(setup.threads)) {
    make_regions(setup.threads);
    lci::g_runtime_init_x().alloc_default_device(true)();
    rank_ = lci::get_rank_me();
    ranks_ = lci::get_rank_n();
    for (Channel& channel : channels_) {
      channel.device.open(memory_, offset(setup.threads), true);
      channel.arrived = lci::alloc_cq();
      channel.done = lci::alloc_cq();
      channel.remote = lci::register_rcomp(channel.arrived);
    }
    lci::barrier();
  }
  ~Lci() override {
    lci::barrier();
    for (Channel& channel : channels_) {
      lci::free_comp(&channel.arrived);
      lci::free_comp(&channel.done);
      channel.device.close();
    }
    lci::g_runtime_fina();
  }

  [[nodiscard]] bench::Description describe() const override {
    return {"LCI " LCI_VERSION_FULL, bench::lci_transport(), static_cast<int>(channels_.size()), {}};
  }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    Channel& channel = at(thread);
    const auto post = [&] {
      return channel.device.put(peer, region(thread) + from, bytes, channel.done, offset(thread) + to)
          .remote_comp(channel.remote)();
    };
    channel.device.finish(post, channel.done);
    ++channel.expected;
  }
  // As many puts come as were made.
  void flush(int thread) override {
    Channel& channel = at(thread);
    for (; channel.expected > 0; --channel.expected) channel.device.take(channel.arrived);
  }
  void progress() override {
    for (Channel& channel : channels_) channel.device.progress();
  }

 private:
  struct Channel {
    bench::LciDevice device;
    lci::comp_t arrived;  // of the others' puts
    lci::comp_t done;     // of own ones
    lci::rcomp_t remote = 0;
    int expected = 0;
  };
  Channel& at(int thread) { return channels_[static_cast<std::size_t>(thread)]; }

  std::vector<Channel> channels_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Lci>(argc, argv); }
