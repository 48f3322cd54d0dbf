// SPDX-License-Identifier: BSD-3-Clause
// Adapter of LCI 2. put + flag is one post_put with a remote completion: LCI keeps no order between two operations, so
// put() keeps what signal() then posts. Each thread has a device and completion queues of its own, as LCI advises, and
// drives their progress; with fewer devices (OMNI_ENDPOINTS) threads take them in turn, and LCI locks them. Messages are
// post_send and post_recv with a tag for each thread.
#include <vector>

#include "harness/endpoints.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "lci_device.hpp"

namespace {

class Lci : public bench::WindowAdapter {
 public:
  Lci(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : WindowAdapter(setup), channels_(static_cast<std::size_t>(setup.threads)), devices_(setup) {
    lci::g_runtime_init_x().alloc_default_device(true)();
    if (lci::get_rank_n() != 2) throw std::runtime_error("needs two ranks");
    rank_ = lci::get_rank_me();
    std::byte* const memory = window_.allocate();
    for (bench::LciDevice& device : devices_.all())
      device.open(memory, window_.size(), window_.crowded());
    // Handles of remote completions are numbered: both ranks register theirs in the same order.
    for (Channel& channel : channels_) {
      channel.signals = lci::alloc_cq();
      channel.messages = lci::alloc_cq();
      channel.remote = lci::register_rcomp(channel.signals);
    }
    lci::barrier();
  }
  ~Lci() {
    lci::barrier();
    for (Channel& channel : channels_) {
      lci::free_comp(&channel.signals);
      lci::free_comp(&channel.messages);
    }
    for (bench::LciDevice& device : devices_.all()) device.close();
    lci::g_runtime_fina();
  }

  [[nodiscard]] bench::Description describe() const {
    return {"LCI " LCI_VERSION_FULL,
            bench::lci_transport(),
            devices_.count(),
            {{"thread level asked", "none: LCI has no levels"}, {"devices", devices_.text()}}};
  }

  void put(int i, std::size_t offset, std::size_t bytes) {
    if (at(i).bytes != 0) transfer(i, false);
    at(i).offset = offset, at(i).bytes = bytes;
  }
  void signal(int i) { transfer(i, true); }
  void wait(int i) { device(i).take(at(i).signals); }
  void flush(int i) {
    if (at(i).bytes != 0) transfer(i, false);
  }
  void look(int i) { device(i).progress(); }
  void attend() {
    for (bench::LciDevice& each : devices_.all()) each.progress();
  }

  void send(int i, std::size_t bytes) {
    const auto tag = static_cast<lci::tag_t>(2 * i + rank_);
    const auto post = [&] {
      return lci::post_send_x(1 - rank_, source(i), bytes, tag, at(i).messages)
          .device(device(i).handle())();
    };
    device(i).finish(post, at(i).messages);
  }
  void receive(int i, std::size_t bytes) {
    const auto tag = static_cast<lci::tag_t>(2 * i + 1 - rank_);
    const auto post = [&] {
      return lci::post_recv_x(1 - rank_, target(i), bytes, tag, at(i).messages)
          .device(device(i).handle())();
    };
    device(i).finish(post, at(i).messages);
  }

 private:
  struct alignas(128) Channel {
    lci::comp_t signals;   // of the peer's puts
    lci::comp_t messages;  // of own operations
    lci::rcomp_t remote = 0;
    std::size_t offset = 0, bytes = 0;  // of a put that the next signal posts
  };

  void transfer(int i, bool with_signal) {
    Channel& channel = at(i);
    const auto post = [&] {
      auto put = device(i).put(1 - rank_, source(i) + channel.offset, channel.bytes, channel.messages,
                               window_.target_offset(i) + channel.offset);
      return with_signal ? put.remote_comp(channel.remote)() : put();
    };
    device(i).finish(post, channel.messages);
    channel.bytes = 0;
  }
  Channel& at(int i) { return channels_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] bench::LciDevice& device(int i) const { return devices_.of(i); }

  std::vector<Channel> channels_;
  bench::Endpoints<bench::LciDevice> devices_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Lci>(argc, argv); }
