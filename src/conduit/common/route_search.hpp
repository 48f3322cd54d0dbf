// SPDX-License-Identifier: BSD-3-Clause
// Which of a host's addresses takes a TCP connection. One after the other is asked, the next as soon as one refuses or has not
// answered for a moment, and all that were asked may still answer until a time limit: a firewall that drops packets
// costs a quarter of a second where there is another way, and otherwise ends in a bounded time with what each address said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/host_addresses.hpp"
#include "conduit/common/liveness_probe.hpp"

namespace ompl::conduit {

// An address of a host and the TCP port of a listener there, in host byte order.
struct HostPort {
  std::string ip;
  uint16_t port = 0;
};
// The same port at all addresses.
std::vector<HostPort> at_port(const HostAddresses& host, uint16_t port);

// One thread at a time. Takes a descriptor for each address that is being asked.
class RouteSearch {
 public:
  using Answer = LivenessProbe::Answer;

  // Asks, for at most so long; what was asked before is forgotten. Begins with `first`, a place in the list.
  void begin(std::vector<HostPort> places, int64_t timeout_ms, std::size_t first = 0);
  // The answer so far. Never blocks; asks the next where it is time.
  //   lives: found() takes connections. dead: every address refuses. unreached: time is up.
  Answer look();
  [[nodiscard]] bool asking() const { return !attempts_.empty(); }
  void end() { attempts_.clear(); }

  // Place in the list of the address that took a connection; there was one.
  [[nodiscard]] std::size_t found() const { return found_; }
  [[nodiscard]] const HostPort& place() const { return places_[found_]; }
  // The address found() is of no use: goes on with those that have not said no. False: there is none.
  bool pass_over(std::string_view why);
  // It has refused, which it never takes back.
  [[nodiscard]] bool refuses(std::size_t place) const;
  // What each address has said: "192.0.2.1 port 4711 refuses connections, ...".
  [[nodiscard]] std::string verdicts() const;

 private:
  struct Attempt {
    explicit Attempt(std::size_t of) : place(of) {}
    std::size_t place;
    LivenessProbe probe;
    Answer answer = Answer::none;
    bool begun = false;
    int64_t again = 0;  // ms: it is not reached, and asked anew then
    std::string why;    // not
  };
  void look_at(Attempt& attempt, int64_t now);
  void begin_next(int64_t now);
  [[nodiscard]] std::string verdict(const Attempt& attempt) const;

  std::vector<HostPort> places_;
  std::deque<Attempt> attempts_;  // in the order in which they are begun
  std::size_t found_ = 0;
  Answer answer_ = Answer::none;
  int64_t timeout_ = 0;  // ms
  int64_t until_ = 0;
  int64_t next_ = 0;  // when another one is asked
};

// What it means that no address of a rank was found, in words, for who never had a connection to it. `answer` is dead or
// unreached.
std::string never_connected(const RouteSearch& search, RouteSearch::Answer answer,
                            std::string_view hint = kInterfaceHint);

// Questions for the life of one rank, at the addresses of its LivenessListener, which stay the same: the one that answered last is
// asked first.
class PeerProbe {
 public:
  using Answer = LivenessProbe::Answer;

  // Asks; without addresses there will be no answer.
  void begin(const HostAddresses& host, uint16_t port, int64_t timeout_ms);
  // dead is told of an address that has taken a connection before, or of a rank that shares this host's network: what refuses
  // a first question may be a firewall (refused).
  Answer look();
  [[nodiscard]] bool asking() const { return search_.asking(); }
  void end() { search_.end(); }
  // It has answered once.
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] std::string why(Answer answer) const { return never_connected(search_, answer); }

  // Ranks with this number share this host's network.
  void set_own_network(uint64_t network) { own_network_ = network; }

 private:
  RouteSearch search_;
  std::size_t route_ = 0;  // place in the list of the address that answered last
  uint64_t own_network_ = 0;
  bool near_ = false;
  bool known_ = false;
};

}  // namespace ompl::conduit
