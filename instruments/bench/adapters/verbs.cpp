// SPDX-License-Identifier: BSD-3-Clause
// Adapter of bare Verbs, over InfiniBand and RoCE: put + flag is an RDMA write of the data and one of the flag, which the
// target reads in its own memory. Each thread has a reliable connected queue pair and a completion queue of its own; one
// request in 16 reports its completion. That the flag comes after the data is what devices do with the writes of a queue
// pair; the specification promises it only to who takes a completion. With fewer queue pairs (OMNI_ENDPOINTS) threads take
// them in turn, under a lock. Never run on hardware.
#include <mutex>

#include "harness/endpoints.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "verbs_port.hpp"
#include "verbs_queue_pair.hpp"

namespace {

class Verbs : public bench::WindowAdapter {
 public:
  Verbs(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : WindowAdapter(setup),
        registered_(port_, window_.allocate(), window_.size()),
        endpoints_(setup) {
    rank_ = bench::launched_rank();
    const bench::Meeting meeting(setup.control + ".meet", rank_);
    for (Endpoint& each : endpoints_.all()) each.pair.open(port_, registered_, meeting);
    (void)meeting.exchange(rank_);
  }

  [[nodiscard]] bench::Description describe() const {
    return {bench::verbs_version(),
            port_.describe(),
            endpoints_.count(),
            {{"thread level asked", "none: a queue pair is locked by its device's driver"},
             {"queue pairs", endpoints_.text()},
             {"bytes in a request", std::to_string(endpoints_.of(0).pair.inlined())},
             {"order of writes", "as devices keep it on a queue pair"}}};
  }

  void put(int i, std::size_t offset, std::size_t bytes) {
    at(i, [&](bench::QueuePair& pair) {
      pair.put(source(i) + offset, window_.target_offset(i) + offset, bytes);
    });
  }
  void signal(int i) {
    window_.next(i);
    at(i, [&](bench::QueuePair& pair) {
      pair.put(window_.at(window_.word_offset(i)), window_.flag_offset(i), sizeof(uint32_t));
    });
  }
  void flush(int i) {
    at(i, [](bench::QueuePair& pair) { pair.flush(); });
  }
  void look(int /*i*/) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

 private:
  struct Endpoint {
    bench::QueuePair pair;
    std::mutex several;  // threads are at it
  };
  template <class Call>
  void at(int i, Call call) {
    Endpoint& endpoint = endpoints_.of(i);
    std::unique_lock lock(endpoint.several, std::defer_lock);
    if (endpoints_.shared()) lock.lock();
    call(endpoint.pair);
  }

  bench::Port port_;  // before all else that takes time: without one nothing is done
  bench::Registered registered_;
  bench::Endpoints<Endpoint> endpoints_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Verbs>(argc, argv); }
