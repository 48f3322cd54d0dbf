// SPDX-License-Identifier: BSD-3-Clause
// Adapter of GPI-2 (GASPI). put + flag is gaspi_write and gaspi_notify, which one queue keeps in order; both in one call
// is gaspi_write_notify. Each thread has a queue of its own, which is what GASPI offers to threads, and a notification.
// A notification's value is the number of signals so far; taking it clears it, so the highest one seen is kept.
#include <GASPI.h>
#include <sched.h>

#include <vector>

#include "harness/meeting.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"

namespace {

constexpr gaspi_segment_id_t kSegment = 0;

void check(gaspi_return_t result, const char* what) {
  if (result == GASPI_SUCCESS) return;
  gaspi_string_t text = nullptr;
  const bool known = gaspi_print_error(result, &text) == GASPI_SUCCESS && text != nullptr;
  throw std::runtime_error(std::string(what) + ": " + (known ? text : "unknown error"));
}

// gaspi_run's variables, if another launcher started the ranks: it needs ssh, and one machine needs none.
void as_started_by_gaspi_run(const std::string& machines, int rank) {
  if (rank == 0) {
    std::FILE* file = std::fopen(machines.c_str(), "w");
    if (file == nullptr) throw std::runtime_error("cannot write " + machines);
    std::fputs("localhost\nlocalhost\n", file);
    std::fclose(file);
  }
  const std::string number = std::to_string(rank);
  setenv("GASPI_RANK", number.c_str(), 1);
  setenv("GASPI_SOCKET", number.c_str(), 1);
  setenv("GASPI_NRANKS", "2", 1);
  setenv("GASPI_MFILE", machines.c_str(), 1);
  setenv("GASPI_MASTER", "localhost", 1);
}

class Gaspi {
 public:
  Gaspi(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : window_(setup), channels_(static_cast<std::size_t>(setup.threads)) {
    const int rank = bench::launched_rank();
    const bench::Meeting meeting(setup.control + ".meet", rank);
    as_started_by_gaspi_run(setup.control + ".machines", rank);
    (void)meeting.exchange(rank);
    gaspi_config_t config;
    check(gaspi_config_get(&config), "gaspi_config_get");
    config.queue_num = static_cast<gaspi_number_t>(setup.threads);
    check(gaspi_config_set(config), "gaspi_config_set");
    check(gaspi_proc_init(kLimitMs), "gaspi_proc_init");
    check(gaspi_proc_rank(&rank_), "gaspi_proc_rank");
    check(gaspi_segment_create(kSegment, window_.size(), GASPI_GROUP_ALL, kLimitMs,
                               GASPI_MEM_INITIALIZED),
          "gaspi_segment_create");
    gaspi_pointer_t memory = nullptr;
    check(gaspi_segment_ptr(kSegment, &memory), "gaspi_segment_ptr");
    window_.place(memory);
    check(gaspi_barrier(GASPI_GROUP_ALL, kLimitMs), "gaspi_barrier");
  }
  ~Gaspi() {
    gaspi_barrier(GASPI_GROUP_ALL, kLimitMs);
    gaspi_proc_term(kLimitMs);
  }
  Gaspi(const Gaspi&) = delete;
  Gaspi& operator=(const Gaspi&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    float version = 0;
    check(gaspi_version(&version), "gaspi_version");
    gaspi_config_t config;
    check(gaspi_config_get(&config), "gaspi_config_get");
    return {"GPI-2, version " + std::to_string(version),
            config.network == GASPI_ETHERNET ? "tcp" : "InfiniBand or another device",
            static_cast<int>(channels_.size()),
            {{"thread level asked", "none: GASPI has no levels"},
             {"queues", std::to_string(config.queue_num) + ", one per thread"}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return window_.source(i); }
  [[nodiscard]] std::byte* target(int i) const { return window_.target(i); }
  // The source may be used again after the next flush, or once the other side has answered.
  void put(int i, std::size_t offset, std::size_t bytes) {
    post(i, "gaspi_write", [&] {
      return gaspi_write(kSegment, window_.source_offset(i) + offset, peer(), kSegment,
                         window_.target_offset(i) + offset, bytes, queue(i), GASPI_BLOCK);
    });
  }
  void put_alone(int i, std::size_t offset, std::size_t bytes) { put(i, offset, bytes); }
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
  static constexpr gaspi_timeout_t kLimitMs = 20000;
  struct alignas(128) Channel {
    uint32_t sent = 0;
    uint32_t taken = 0;
    uint32_t seen = 0;
  };
  template <class Call>
  void post(int i, const char* what, Call call) {
    gaspi_return_t result = call();
    while (result == GASPI_QUEUE_FULL) flush(i), result = call();
    check(result, what);
  }
  [[nodiscard]] gaspi_rank_t peer() const { return static_cast<gaspi_rank_t>(1 - rank_); }
  static gaspi_queue_id_t queue(int i) { return static_cast<gaspi_queue_id_t>(i); }
  static gaspi_notification_id_t notification(int i) { return static_cast<gaspi_notification_id_t>(i); }
  Channel& at(int i) { return channels_[static_cast<std::size_t>(i)]; }
  bench::Window window_;
  std::vector<Channel> channels_;
  gaspi_rank_t rank_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Gaspi>(argc, argv); }
