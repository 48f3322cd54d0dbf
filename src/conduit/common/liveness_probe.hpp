// SPDX-License-Identifier: BSD-3-Clause
// Whether a rank lives, for fabrics that do not tell: every rank listens on a TCP port where nothing is ever said. The
// system of a rank that lives takes a connection, also while the rank computes or is stopped; that of a dead one refuses
// it. Who gets no answer at all is cut off.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/ip_address.hpp"

namespace ompl::conduit {

// A rank that answers nothing for so long is out of reach.
inline constexpr int64_t kUnreachedMs = 30'000;

// This rank's.
class LivenessListener {
 public:
  LivenessListener() = default;
  ~LivenessListener();
  LivenessListener(const LivenessListener&) = delete;
  LivenessListener& operator=(const LivenessListener&) = delete;

  // Listens at all of `addresses`, which are this host's: at the one that there is, else at all of its families. Sets *port to
  // its port in host byte order, not if there is none.
  int open(const std::vector<std::string>& addresses, uint16_t* port);
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
  // unreached: the system knows no way there, or has given up. silent: no answer in time, by Rule::kept only. refused: as
  // dead, where it may be a firewall (route_search.hpp only).
  enum class Answer : uint8_t { none, lives, dead, refused, unreached, silent };

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
  // Of the system, behind Answer::unreached.
  [[nodiscard]] int error() const { return error_; }
  void end();

 private:
  void ask();
  [[nodiscard]] Answer answer_to(int error);

  const Rule rule_;
  SocketAddress address_{.v6 = {}};
  int socket_ = -1;
  int error_ = 0;
  bool connected_ = false;
  Answer answer_ = Answer::none;
  int64_t until_ = 0;  // ms; by Rule::kept
};

}  // namespace ompl::conduit
