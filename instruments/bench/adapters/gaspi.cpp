// SPDX-License-Identifier: BSD-3-Clause
// Adapter of GPI-2 (GASPI). put + flag is gaspi_write and gaspi_notify, which one queue keeps in order; both in one call
// is gaspi_write_notify. Each thread has a queue of its own, which is what GASPI offers to threads, and a notification; with
// fewer queues (OMNI_ENDPOINTS) threads take them in turn, and GPI-2 locks each.
// A notification's value is the number of signals so far; taking it clears it, so the highest one seen is kept.
#include <sched.h>

#include <vector>

#include "gaspi_process.hpp"
#include "harness/endpoints.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"

namespace {

using bench::check;

class Gaspi : public bench::WindowAdapter {
 public:
  Gaspi(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : WindowAdapter(setup),
        channels_(static_cast<std::size_t>(setup.threads)),
        queues_(setup),
        process_(setup, queues_.count()) {
    if (process_.ranks() != 2) throw std::runtime_error("needs two ranks");
    rank_ = process_.rank();
    for (std::size_t i = 0; i < queues_.all().size(); ++i)
      queues_.all()[i] = static_cast<gaspi_queue_id_t>(i);
    window_.place(bench::GaspiProcess::segment(window_.size()));
  }

  [[nodiscard]] bench::Description describe() const {
    return {bench::GaspiProcess::version(),
            process_.device(),
            queues_.count(),
            {{"thread level asked", "none: GASPI has no levels"}, {"queues", queues_.text()}}};
  }

  // The source may be used again after the next flush, or once the other side has answered.
  void put(int i, std::size_t offset, std::size_t bytes) {
    post(i, "gaspi_write", [&] {
      return gaspi_write(kSegment, window_.source_offset(i) + offset, peer(), kSegment,
                         window_.target_offset(i) + offset, bytes, queue(i), GASPI_BLOCK);
    });
  }
  void signal(int i) {
    const uint32_t value = ++at(i).sent;
    post(i, "gaspi_notify",
         [&] { return gaspi_notify(kSegment, peer(), notification(i), value, queue(i), GASPI_BLOCK); });
  }
  void put_signal(int i, std::size_t bytes) {
    const uint32_t value = ++at(i).sent;
    post(i, "gaspi_write_notify", [&] {
      return gaspi_write_notify(kSegment, window_.source_offset(i), peer(), kSegment,
                                window_.target_offset(i), bytes, notification(i), value, queue(i),
                                GASPI_BLOCK);
    });
  }
  void wait(int i) {
    Channel& channel = at(i);
    ++channel.taken;
    while (static_cast<int32_t>(channel.seen - channel.taken) < 0) {
      gaspi_notification_id_t which = 0;
      gaspi_notification_t value = 0;
      const auto found = gaspi_notify_waitsome(kSegment, notification(i), 1, &which, GASPI_TEST);
      if (found == GASPI_SUCCESS) {
        check(gaspi_notify_reset(kSegment, which, &value), "gaspi_notify_reset");
        if (value != 0) channel.seen = value;
      } else if (found != GASPI_TIMEOUT) {
        check(found, "gaspi_notify_waitsome");
      } else if (window_.crowded()) {
        sched_yield();
      }
    }
  }
  void flush(int i) { check(gaspi_wait(queue(i), GASPI_BLOCK), "gaspi_wait"); }
  void look(int /*i*/) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

 private:
  static constexpr gaspi_segment_id_t kSegment = bench::GaspiProcess::kSegment;
  struct alignas(128) Channel {
    uint32_t sent = 0;
    uint32_t taken = 0;
    uint32_t seen = 0;
  };
  template <class Call>
  void post(int i, const char* what, Call call) {
    bench::GaspiProcess::post(queue(i), what, call);
  }
  [[nodiscard]] gaspi_rank_t peer() const { return static_cast<gaspi_rank_t>(1 - rank()); }
  [[nodiscard]] gaspi_queue_id_t queue(int i) const { return queues_.of(i); }
  static gaspi_notification_id_t notification(int i) { return static_cast<gaspi_notification_id_t>(i); }
  Channel& at(int i) { return channels_[static_cast<std::size_t>(i)]; }
  std::vector<Channel> channels_;
  bench::Endpoints<gaspi_queue_id_t> queues_;
  bench::GaspiProcess process_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Gaspi>(argc, argv); }
