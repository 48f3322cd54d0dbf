// SPDX-License-Identifier: BSD-3-Clause
// Adapter of the network conduits' baselines: sockets, PSM2, libfabric or UCX by hand, a channel of its own for each thread.
#include <vector>

#include "harness/meeting.hpp"
#include "harness/worker.hpp"
#include "raw/network.h"

namespace {

class Network {
 public:
  Network(const bench::Setup& setup, int /*argc*/, char** /*argv*/) : rank_(bench::launched_rank()) {
    const bench::Meeting meeting(setup.control + ".meet", rank_);
    const auto threads = static_cast<std::size_t>(setup.threads);
    const bool crowded = bench::crowded(setup.threads);
    for (std::size_t i = 0; i < threads; ++i)
      channels_.push_back(channel_open(meeting.fd(), rank_, bench::pages(setup.bytes), crowded));
  }
  ~Network() {
    for (baseline_channel* each : channels_) channel_close(each);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    return {"the baseline", channel_transport(at(0)), static_cast<int>(channels_.size()), {}};
  }

  [[nodiscard]] std::byte* source(int i) const { return bytes(channel_source(at(i))); }
  [[nodiscard]] std::byte* target(int i) const { return bytes(channel_target(at(i))); }
  void put(int i, std::size_t offset, std::size_t bytes) { channel_put(at(i), offset, bytes); }
  void signal(int i) { channel_signal(at(i)); }
  void put_signal(int i, std::size_t bytes) { channel_put_signal(at(i), 0, bytes); }
  void wait(int i) { channel_wait(at(i)); }
  void attend() {
    for (baseline_channel* each : channels_) channel_progress(each);
  }
  // Nothing tells when puts without a signal have arrived; `rate` of these is not offered.
  void flush(int i) { channel_progress(at(i)); }
  void look(int i) { channel_progress(at(i)); }

 private:
  static std::byte* bytes(char* memory) { return reinterpret_cast<std::byte*>(memory); }
  [[nodiscard]] baseline_channel* at(int i) const { return channels_[static_cast<std::size_t>(i)]; }

  int rank_;
  std::vector<baseline_channel*> channels_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Network>(argc, argv); }
