// SPDX-License-Identifier: BSD-3-Clause
// Whether a rank lives, for fabrics that do not tell: every rank listens on a TCP port where nothing is ever said. The
// system of a rank that lives takes a connection, also while the rank computes or is stopped; that of a dead one refuses
// it. Who gets no answer at all is cut off.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ompl::conduit {

// A rank that answers nothing for so long is out of reach.
inline constexpr int64_t kUnreachedMs = 30'000;

// The number of the network interface of that name, else of the first that is up and reaches other hosts, a bridge only if there is
// nothing else; 0: none.
unsigned liveness_interface(const std::string& name);
// 4 or 16 bytes as one reads them: "192.0.2.1".
std::string ip_text(const std::string& ip);

// This rank's.
class LivenessListener {
 public:
  LivenessListener() = default;
  ~LivenessListener();
  LivenessListener(const LivenessListener&) = delete;
  LivenessListener& operator=(const LivenessListener&) = delete;

  // Listens on the first address of the network interface of that number. Sets *ip to its 4 (IPv4) or 16 (IPv6) bytes
  // and *port to its port in host byte order; neither if the interface has no address.
  int open(unsigned interface, std::string* ip, uint16_t* port);
  // Closes connections of strangers who say something: a question is none of ours to take. Any thread; now and then.
  void answer() const;

 private:
  int listener_ = -1;
};

// One question to another rank's listener.
class LivenessProbe {
 public:
  // What shows that a rank lives.
  enum class Rule : uint8_t {
    accepted,  // its LivenessListener takes the connection, which is reset then and leaves no trace
    kept,      // a listener of a library takes it, and does not hang up at once as a dying process does
  };
  // unreached: the system knows no way there, or has given up. silent: no answer in time, by Rule::kept only.
  enum class Answer : uint8_t { none, lives, dead, unreached, silent };

  explicit LivenessProbe(Rule rule = Rule::accepted) : rule_(rule) {}
  ~LivenessProbe() { end(); }
  LivenessProbe(const LivenessProbe&) = delete;
  LivenessProbe& operator=(const LivenessProbe&) = delete;

  // Asks; not answered before is forgotten. With a port of 0 there will be no answer.
  void begin(const std::string& ip, uint16_t port);
  // The same of the bytes of a socket address of IP.
  void begin(std::string_view address);
  // The answer so far. Never blocks.
  Answer look();
  [[nodiscard]] bool asking() const { return socket_ >= 0; }
  void end();

 private:
  void ask();
  [[nodiscard]] Answer answer_to(int error) const;

  const Rule rule_;
  sockaddr_in6 address_{};  // or a sockaddr_in
  int socket_ = -1;
  bool connected_ = false;
  Answer answer_ = Answer::none;
  int64_t until_ = 0;  // ms; by Rule::kept
};

}  // namespace ompl::conduit
