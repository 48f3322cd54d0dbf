// SPDX-License-Identifier: BSD-3-Clause
// Whether anybody still listens at an IP address: a TCP connection that is made and closed. The kernel answers
// for a process that is busy elsewhere, and refuses for one that is dead.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string_view>

namespace ompl::conduit::ofi {

class Probe {
 public:
  enum class Answer : uint8_t { none_yet, alive, dead, unreachable, silent };

  Probe() = default;
  ~Probe() { stop(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // `name` is a sockaddr of IP. Any earlier probe is dropped.
  void start(std::string_view name, int64_t now_ms);
  // Does not block. `silent`: no answer in time.
  Answer look(int64_t now_ms);

 private:
  void stop();
  void connect();

  sockaddr_storage address_{};
  int socket_ = -1;
  bool connected_ = false;
  Answer answer_ = Answer::unreachable;
  int64_t until_ = 0;  // ms
};

}  // namespace ompl::conduit::ofi
