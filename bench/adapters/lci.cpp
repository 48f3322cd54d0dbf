// SPDX-License-Identifier: BSD-3-Clause
// Adapter of LCI 2. put + flag is one post_put with a remote completion: LCI keeps no order between two operations, so
// put() keeps what signal() then posts. Each thread has a device and completion queues of its own, as LCI advises, and
// drives their progress. Messages are post_send and post_recv with a tag for each thread.
#include <sched.h>
#include <lci.hpp>

#include <cstdlib>
#include <vector>

#include "harness/window.hpp"
#include "harness/worker.hpp"

namespace {

class Lci {
 public:
  Lci(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : window_(setup),
        memory_(static_cast<std::byte*>(std::aligned_alloc(bench::kPage, window_.size()))),
        channels_(static_cast<std::size_t>(setup.threads)) {
    lci::g_runtime_init_x().alloc_default_device(true)();
    if (lci::get_rank_n() != 2) throw std::runtime_error("needs two ranks");
    rank_ = lci::get_rank_me();
    window_.place(memory_);
    for (Channel& channel : channels_) open(channel);
    lci::barrier();
  }
  ~Lci() {
    lci::barrier();
    for (Channel& channel : channels_) {
      lci::deregister_memory(&channel.registration);
      lci::free_comp(&channel.signals);
      lci::free_comp(&channel.messages);
      lci::free_device(&channel.device);
    }
    lci::g_runtime_fina();
    std::free(memory_);
  }
  Lci(const Lci&) = delete;
  Lci& operator=(const Lci&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    const char* provider = std::getenv("FI_PROVIDER");
    return {"LCI " LCI_VERSION_FULL,
            std::string("backends ") + LCI_NETWORK_BACKENDS_ENABLED +
                (provider != nullptr ? std::string(", FI_PROVIDER=") + provider : ""),
            static_cast<int>(channels_.size()),
            {{"thread level asked", "none: LCI has no levels"}, {"devices", "one per thread"}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return window_.source(i); }
  [[nodiscard]] std::byte* target(int i) const { return window_.target(i); }
  void put(int i, std::size_t offset, std::size_t bytes) {
    if (at(i).bytes != 0) transfer(i, false);
    at(i).offset = offset, at(i).bytes = bytes;
  }
  void put_alone(int i, std::size_t offset, std::size_t bytes) { put(i, offset, bytes); }
  void signal(int i) { transfer(i, true); }
  void wait(int i) { take(i, at(i).signals); }
  void flush(int i) {
    if (at(i).bytes != 0) transfer(i, false);
  }
  void look(int i) { lci::progress_x().device(at(i).device)(); }
  void attend() {
    for (Channel& channel : channels_) lci::progress_x().device(channel.device)();
  }

  void send(int i, std::size_t bytes) {
    finish(i, [&] {
      return lci::post_send_x(1 - rank_, source(i), bytes, static_cast<lci::tag_t>(2 * i + rank_),
                              at(i).messages)
          .device(at(i).device)();
    });
  }
  void receive(int i, std::size_t bytes) {
    finish(i, [&] {
      return lci::post_recv_x(1 - rank_, target(i), bytes, static_cast<lci::tag_t>(2 * i + 1 - rank_),
                              at(i).messages)
          .device(at(i).device)();
    });
  }

 private:
  struct alignas(128) Channel {
    lci::device_t device;
    lci::comp_t signals;   // of the peer's puts
    lci::comp_t messages;  // of own operations
    lci::rcomp_t remote = 0;
    lci::mr_t registration;
    lci::rmr_t peer;
    std::size_t offset = 0, bytes = 0;  // of a put that the next signal posts
  };

  // Both ranks do this in the same order: handles of remote completions are numbered.
  void open(Channel& channel) {
    channel.device = lci::alloc_device();
    channel.signals = lci::alloc_cq();
    channel.messages = lci::alloc_cq();
    channel.remote = lci::register_rcomp(channel.signals);
    channel.registration = lci::register_memory_x(memory_, window_.size()).device(channel.device)();
    const lci::rmr_t own = lci::get_rmr(channel.registration);
    lci::rmr_t both[2];
    lci::allgather(&own, both, sizeof own);
    channel.peer = both[1 - rank_];
  }

  void transfer(int i, bool with_signal) {
    Channel& channel = at(i);
    finish(i, [&] {
      auto post =
          lci::post_put_x(1 - rank_, source(i) + channel.offset, channel.bytes, channel.messages,
                          window_.target_offset(i) + channel.offset, channel.peer)
              .device(channel.device)
              .mr(channel.registration);
      return with_signal ? post.remote_comp(channel.remote)() : post();
    });
    channel.bytes = 0;
  }

  // Posts until it is taken, then waits until it is done here.
  template <class Post>
  void finish(int i, Post post) {
    lci::status_t status = post();
    while (status.is_retry()) {
      lci::progress_x().device(at(i).device)();
      if (window_.crowded()) sched_yield();
      status = post();
    }
    if (!status.is_done()) take(i, at(i).messages);
  }
  void take(int i, lci::comp_t& queue) {
    while (lci::cq_pop(queue).is_retry()) {
      lci::progress_x().device(at(i).device)();
      if (window_.crowded()) sched_yield();
    }
  }
  Channel& at(int i) { return channels_[static_cast<std::size_t>(i)]; }

  bench::Window window_;
  std::byte* memory_;
  std::vector<Channel> channels_;
  int rank_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Lci>(argc, argv); }
