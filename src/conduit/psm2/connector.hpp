// SPDX-License-Identifier: BSD-3-Clause
// psm2_ep_connect() waits, two seconds at least, until the other side progresses its endpoint, and a post may not wait. So a
// thread of its own makes the call, which has the endpoint to itself meanwhile (PSM2: one thread at a time) and progresses it.
#pragma once

#include <atomic>
#include <thread>

#include "conduit/psm2/library.hpp"

namespace ompl::conduit::psm2 {

// It serves one endpoint, and makes one connection at a time.
class Connector {
 public:
  explicit Connector(const Library& library) : library_(library) {}
  ~Connector() { join(); }
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Begins to connect. False: no thread can be made now.
  bool begin(PsmEndpoint* endpoint, PsmEpid number);
  // The thread has the endpoint.
  [[nodiscard]] bool is_away() const { return away_.load(std::memory_order_acquire); }
  // The call has returned, and nobody has taken its result.
  [[nodiscard]] bool has_result() const { return thread_.joinable() && !is_away(); }
  // Takes it: kPsmOk and *address, or why there is no connection.
  PsmError take_result(PsmAddress** address, std::string* why);
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(PsmEndpoint* endpoint, PsmEpid number);

  const Library& library_;
  std::atomic<bool> away_{false};
  PsmError error_ = kPsmOk;
  PsmAddress* address_ = nullptr;
  std::string why_;
  std::thread thread_;
};

}  // namespace ompl::conduit::psm2
