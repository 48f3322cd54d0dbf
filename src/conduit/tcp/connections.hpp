// SPDX-License-Identifier: BSD-3-Clause
// The connections of one endpoint: made on first use, by a listener of its own and a handshake in which both sides prove that
// they know the job's secret; broken once and for all. connections.cpp: how they come to be and end. handshake.cpp: what is
// said while they do.
//
// Which of the other side's addresses takes a connection is found out first (common/route_search.hpp). If both sides ask at
// once the lower rank's request wins. If a connection ends without a goodbye the other side's listener is asked: if it answers
// the connection broke, if it refuses the rank is dead.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/link_table.hpp"
#include "conduit/common/losses.hpp"
#include "conduit/tcp/address.hpp"
#include "conduit/tcp/link.hpp"
#include "conduit/tcp/socket.hpp"

namespace ompl::conduit::tcp {

// What all endpoints of a rank share, unchanging while they live.
struct SharedState {
  const Job* job = nullptr;
  const std::vector<Address>* peers = nullptr;  // by rank; without ports if another conduit reaches it
  uint64_t challenge = 0;                       // that this process has published
  uint64_t network = 0;                         // see HostAddresses
  int64_t connect_timeout_ms = 0;
};

class Connections {
 public:
  static constexpr std::size_t kMostVisitors = 64;  // connections on which no greeting has come yet
  static constexpr std::size_t kMostDirect = 4;     // links whose sockets are read without asking first

  Connections(const SharedState& shared, uint32_t slot);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  int open(const std::vector<std::string>& ips, uint16_t* port);

  // Any thread.
  [[nodiscard]] const TcpLink* find(uint32_t rank) const { return links_.find(rank); }
  [[nodiscard]] const Losses& losses() const { return losses_; }
  [[nodiscard]] TcpOperationPool& operations() { return operations_; }
  [[nodiscard]] const TcpOperationPool& operations() const { return operations_; }
  [[nodiscard]] std::string describe() const;

  // The link to `rank`; begins it if there is none. Look at sends().
  TcpLink& use(uint32_t rank) {
    TcpLink* const link = links_.known(rank);
    return link != nullptr && link->up ? *link : prepare(rank);
  }
  [[nodiscard]] const std::vector<std::unique_ptr<TcpLink>>& all() const { return links_.all(); }
  // Those that are up.
  [[nodiscard]] const std::vector<TcpLink*>& up() const { return up_; }
  // Few are up: each is read without asking the set of descriptors.
  [[nodiscard]] bool is_direct() const { return up_.size() <= kMostDirect; }

  // Takes in what the set of descriptors tells: requests and answers, of which it returns the number; and links with something
  // to read, which it adds to `readable`, kEvents at most. Throws nothing.
  static constexpr int kEvents = 16;
  int look(std::vector<TcpLink*>* readable) noexcept;
  // Steps of links that are due by the clock. The same.
  int advance() noexcept;
  // Somebody waits for something of which no descriptor tells.
  [[nodiscard]] bool troubled() const { return troubled_; }
  // Somebody waits for a connection.
  [[nodiscard]] bool is_busy() const { return troubled_ || pending_ > 0; }

  // The set of descriptors tells of all that comes, and of room for output.
  [[nodiscard]] int descriptor() const { return set_; }
  void arm();
  // The same of one link, with these events alone; none: it says nothing.
  void watch(TcpLink& link, uint32_t events);

  // The link does not work any more. Nothing is sent on it again [18]; failure() will say why.
  void lost(TcpLink& link, std::string_view why) noexcept;
  // The other side will close its end in order. Nothing that it sends later is taken in.
  void said_goodbye(TcpLink& link) noexcept;
  // The end of a link whose rank has left: what is still to be read is of no use.
  void end_of(TcpLink& link) noexcept;

  // Nobody is in the middle of a handshake that this side has answered.
  [[nodiscard]] bool no_candidates() const;

 private:
  enum class What : uint32_t { listener, visitor, attempt, candidate, link };
  struct Visitor {
    Socket socket;
    TcpGreeting greeting;
    std::size_t have = 0;  // bytes of it
    int64_t since = 0;     // ms
  };

  // --- connections.cpp
  [[nodiscard]] Socket one_more() const;
  [[nodiscard]] const Address& peer(const TcpLink& link) const { return (*shared_.peers)[link.rank]; }
  [[nodiscard]] uint32_t target_slot(uint32_t rank) const;
  TcpLink& add(uint32_t rank, uint32_t slot);
  TcpLink& prepare(uint32_t rank);
  bool observe(int fd, What what, uint64_t index, uint32_t events) const;
  void seek(TcpLink& link);
  void look_for_route(TcpLink& link);
  void find_no_route(TcpLink& link, RouteSearch::Answer answer);
  void probe(TcpLink& link);
  void look_at_probe(TcpLink& link, int64_t now);
  void advance(TcpLink& link, int64_t now);
  void look_for_silence(int64_t now) noexcept;
  template <class Step>
  void step(TcpLink& link, Step take) noexcept;
  void recount() noexcept;
  void came_up(TcpLink& link, Socket socket);
  void leave_up(TcpLink& link) noexcept;
  void learn_route(TcpLink& link, int fd) noexcept;
  void put_off(TcpLink& link, std::string_view why);
  [[nodiscard]] HostPort place_of(const TcpLink& link) const;
  // The end of the link, which needs no memory.
  void fail(TcpLink& link, int code, std::string_view why) noexcept;

  // --- handshake.cpp
  void begin_attempt(TcpLink& link);
  void step_attempt(TcpLink& link);
  void greet(TcpLink& link);
  void take_answer(TcpLink& link);
  void refused(TcpLink& link, TcpRefusal refusal);
  void take_visitors() noexcept;
  void step_visitor(std::size_t index) noexcept;
  TcpLink* admissible(const TcpGreeting& greeting);
  void answer(TcpLink& link, Visitor& visitor);
  static void answer_no(int fd, const TcpGreeting& greeting, TcpRefusal refusal, const Job& job);
  void step_candidate(TcpLink& link) noexcept;
  void warn_of_stranger(int fd) noexcept;
  void turn_out_silent(int64_t now) noexcept;

  const SharedState& shared_;
  const uint32_t slot_;
  Socket listener_;
  Socket spare_;  // a descriptor for when there are none left
  int set_ = -1;  // epoll
  TcpOperationPool operations_;
  LinkTable<TcpLink> links_;
  std::vector<TcpLink*> up_;
  std::atomic<uint32_t> up_count_{0};
  Losses losses_;
  std::array<Visitor, kMostVisitors> visitors_;
  std::size_t visiting_ = 0;
  uint64_t strangers_ = 0;
  int pending_ = 0;  // attempts and candidates
  bool troubled_ = false;
  int64_t silence_looked_at_ = 0;  // ms
};

}  // namespace ompl::conduit::tcp
