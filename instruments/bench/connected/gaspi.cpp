// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with GPI-2: all that a write to it needs, in a queue for each thread. See harness/connected.hpp.
#include "adapters/gaspi_process.hpp"
#include "harness/connected.hpp"

namespace {

using bench::check;

class Gaspi : public bench::Connected {
 public:
  Gaspi(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : queues_(setup.threads), process_(setup, queues_) {
    rank_ = process_.rank();
    ranks_ = process_.ranks();
    memory_ = bench::GaspiProcess::segment(offset(queues_));
  }

  [[nodiscard]] bench::Description describe() const override {
    return {bench::GaspiProcess::version(), process_.device(), queues_, {}};
  }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    post(thread, "gaspi_write", [&] {
      return gaspi_write(kSegment, offset(thread) + from, static_cast<gaspi_rank_t>(peer), kSegment,
                         offset(thread) + to, bytes, queue(thread), GASPI_BLOCK);
    });
  }
  // gaspi_wait says that sources may be used again. A notification comes after what was written before it.
  void flush(int thread) override {
    for (int peer = 0; peer < ranks(); ++peer) {
      post(thread, "gaspi_notify", [&] {
        return gaspi_notify(kSegment, static_cast<gaspi_rank_t>(peer), notification(rank(), thread), 1,
                            queue(thread), GASPI_BLOCK);
      });
    }
    for (int peer = 0; peer < ranks(); ++peer) {
      gaspi_notification_id_t which = 0;
      gaspi_notification_t value = 0;
      check(gaspi_notify_waitsome(kSegment, notification(peer, thread), 1, &which, GASPI_BLOCK),
            "gaspi_notify_waitsome");
      check(gaspi_notify_reset(kSegment, which, &value), "gaspi_notify_reset");
    }
  }
  void progress() override { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

 private:
  static constexpr auto kSegment = bench::GaspiProcess::kSegment;

  template <class Call>
  void post(int thread, const char* what, Call call) {
    bench::GaspiProcess::post(queue(thread), what, call);
  }
  static gaspi_queue_id_t queue(int thread) { return static_cast<gaspi_queue_id_t>(thread); }
  [[nodiscard]] gaspi_notification_id_t notification(int rank, int thread) const {
    return static_cast<gaspi_notification_id_t>(rank * queues_ + thread);
  }

  int queues_;
  bench::GaspiProcess process_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Gaspi>(argc, argv); }
