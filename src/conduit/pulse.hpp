// SPDX-License-Identifier: BSD-3-Clause
// Whether a rank lives, for fabrics that do not tell: every rank listens on a TCP port where nothing is ever said. The
// system of a rank that lives takes a connection, also while the rank computes; that of a dead one refuses it.
#pragma once

#include <cstdint>
#include <string>

namespace ompl::conduit {

// This rank's.
class Pulse {
 public:
  Pulse() = default;
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  // Listens on the first address of the network interface of that number. Sets *ip to its 4 (IPv4) or 16 (IPv6) bytes
  // and *port to its port in host byte order; neither if the interface has no address.
  int open(unsigned interface, std::string* ip, uint16_t* port);
  // Closes the connections that others made. Any thread; now and then.
  void answer() const;

 private:
  int listener_ = -1;
};

// One question to another rank's.
class PulseProbe {
 public:
  PulseProbe() = default;
  ~PulseProbe() { end(); }
  PulseProbe(const PulseProbe&) = delete;
  PulseProbe& operator=(const PulseProbe&) = delete;

  enum class Answer : uint8_t { none, lives, dead };

  // Asks; not answered before is forgotten. With a port of 0 there will be no answer.
  void begin(const std::string& ip, uint16_t port);
  // The answer so far. Never blocks.
  Answer look();
  [[nodiscard]] bool asking() const { return socket_ >= 0; }
  void end();

 private:
  int socket_ = -1;
  Answer answer_ = Answer::none;
};

}  // namespace ompl::conduit
