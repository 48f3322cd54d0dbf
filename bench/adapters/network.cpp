// SPDX-License-Identifier: BSD-3-Clause
// Adapter of the network conduits' twins: libfabric or UCX by hand, a channel of its own for each thread. The ranks, told
// apart by the launcher's PMI_RANK, meet at a socket beside the driver's.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "harness/worker.hpp"
#include "raw/network.h"

namespace {

constexpr std::chrono::seconds kLimit{20};

// A connection between the two ranks.
class Meeting {
 public:
  Meeting(const std::string& path, int rank) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path.size() >= sizeof at.sun_path) throw std::runtime_error("path of the socket too long");
    path.copy(at.sun_path, path.size());
    const auto* address = reinterpret_cast<const sockaddr*>(&at);
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{.tv_sec = kLimit.count(), .tv_usec = 0};
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);  // accept() and all that is read
    if (rank == 0) {
      if (bind(made, address, sizeof at) == 0 && listen(made, 1) == 0)
        fd_ = accept(made, nullptr, nullptr);
      close(made);
      if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    } else {
      const auto end = std::chrono::steady_clock::now() + kLimit;
      bool met = false;
      while (!(met = connect(made, address, sizeof at) == 0) && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      met ? fd_ = made : close(made);
    }
    if (fd_ < 0) throw std::runtime_error("the other rank did not come");
  }
  ~Meeting() { close(fd_); }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

int own_rank() {
  const char* text = std::getenv("PMI_RANK");
  if (text == nullptr) throw std::runtime_error("no PMI_RANK: started without a launcher");
  return std::atoi(text);
}

class Network {
 public:
  Network(const bench::Setup& setup, int /*argc*/, char** /*argv*/) : rank_(own_rank()) {
    const Meeting meeting(setup.control + ".meet", rank_);
    const auto threads = static_cast<std::size_t>(setup.threads);
    const bool crowded = 2 * threads > bench::cores().size();
    for (std::size_t i = 0; i < threads; ++i)
      channels_.push_back(channel_open(meeting.fd(), rank_, bench::pages(setup.bytes), crowded));
  }
  ~Network() {
    for (twin_channel* each : channels_) channel_close(each);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    return {"the twin", channel_transport(at(0)), static_cast<int>(channels_.size()), {}};
  }

  [[nodiscard]] std::byte* source(int i) const { return bytes(channel_source(at(i))); }
  [[nodiscard]] std::byte* target(int i) const { return bytes(channel_target(at(i))); }
  void put(int i, std::size_t offset, std::size_t bytes) { channel_put(at(i), offset, bytes); }
  void put_alone(int i, std::size_t offset, std::size_t bytes) { put(i, offset, bytes); }
  void signal(int i) { channel_signal(at(i)); }
  void put_signal(int i, std::size_t bytes) { channel_put_signal(at(i), 0, bytes); }
  void wait(int i) { channel_wait(at(i)); }
  void attend() {
    for (twin_channel* each : channels_) channel_progress(each);
  }
  // Nothing tells when puts without a signal have arrived; `rate` of these is not offered.
  void flush(int i) { channel_progress(at(i)); }
  void look(int i) { channel_progress(at(i)); }

 private:
  static std::byte* bytes(char* memory) { return reinterpret_cast<std::byte*>(memory); }
  [[nodiscard]] twin_channel* at(int i) const { return channels_[static_cast<std::size_t>(i)]; }

  int rank_;
  std::vector<twin_channel*> channels_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Network>(argc, argv); }
