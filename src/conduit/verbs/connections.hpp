// SPDX-License-Identifier: BSD-3-Clause
// The connections of one endpoint: made on first use, broken once and for all.
//
// An endpoint's connection end is a queue pair of datagrams, whose number every rank knows. The side that needs a
// connection sends a request; the other answers with its own queue pair; "ready" ends it. All three are sent again
// until answered. When both sides ask at once the lower rank's request wins [12]. Datagrams prove that their sender knows
// the job's secret, to the rank that they are for; who does not is not heard.
//
// XRC and DC differ (connections_shared.cpp): what a link sends by is its node's, or lent to it.
//
// A queue pair that breaks does not say why. The other rank's liveness listener is then asked: it is dead (OMPL_ERR_PEER), or it
// lives or cannot be asked (OMPL_ERR_LINK). The same happens if nobody answers a request. A connection on which nothing
// happens is tried once a second by a write of no bytes.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conduit/common/losses.hpp"
#include "conduit/verbs/address.hpp"
#include "conduit/verbs/link.hpp"
#include "conduit/verbs/resources.hpp"

namespace ompl::conduit::verbs {

class Connections {
 public:
  Connections(const SharedState& shared, Resources& resources, uint32_t slot);

  // Receives datagrams.
  void open();

  // The connection to `rank` if one was ever begun, else null. Any thread.
  [[nodiscard]] const QueuePairLink* find(uint32_t rank) const { return links_.find(rank); }
  // The same, for whoever holds the claim.
  [[nodiscard]] QueuePairLink* known(uint32_t rank) const { return links_.known(rank); }
  [[nodiscard]] QueuePairLink* find_pair(uint32_t queue_pair) const;
  [[nodiscard]] QueuePairLink& at(std::size_t index) const { return *links_.all()[index]; }
  [[nodiscard]] std::size_t count() const { return links_.all().size(); }

  // The connection to `rank`; asks for it if there is none. Look at `state`.
  QueuePairLink& use(uint32_t rank);

  // A datagram has come, or one of ours has left.
  void received(uint64_t buffer, uint32_t length);
  void sent() { --datagrams_sent_; }
  // Something came on a connection that waits for "ready".
  void begun(QueuePairLink& link);
  // XRC, DC: an endpoint of that rank says hello (DC) or goodbye. Both numbers come from outside.
  void greeted(uint32_t rank, uint32_t slot) noexcept;
  void parted(uint32_t rank, uint32_t slot);

  // Sends again what was not answered, and probes for liveness. Now and then.
  void tick(int64_t now);
  // Whether tick() is wanted soon.
  [[nodiscard]] bool waiting() const { return waiting_ > 0; }

  // Nothing was posted or completed since the last heartbeat, though something should: what was sent stalls for as long as the
  // other side lives. A device that lost it would never say so: Soft-RoCE's does, when its interface goes down.
  void stalled(QueuePairLink& link, int64_t now) noexcept;

  // XRC, DC: whether its initiator has room for so many requests. Over DC it is lent one.
  bool borrows(QueuePairLink& link, uint64_t requests);

  // The queue pair has failed: nothing is sent on it again [18]; failure() will say why.
  void broke(QueuePairLink& link, std::string_view why);
  // The other side has left in order.
  void said_goodbye(QueuePairLink& link);
  // Something is complete that used a caller's memory.
  void part_if_idle(QueuePairLink& link);

  // Breaks of those that only the other side sends on. Any thread.
  [[nodiscard]] const Losses& losses() const { return losses_; }

  [[nodiscard]] std::string describe() const;

 private:
  // After which an unanswered datagram is sent again; doubled each time.
  static constexpr int64_t kFirstAgainMs = 20;

  [[nodiscard]] uint32_t target_slot(uint32_t rank) const;
  [[nodiscard]] const Address& peer(const QueuePairLink& link) const {
    return (*shared_.peers)[link.rank];
  }
  QueuePairLink& add(uint32_t rank, uint32_t slot);
  // use(), for the first time.
  QueuePairLink& begin_first(uint32_t rank);
  void begin(QueuePairLink& link);
  [[nodiscard]] bool knows(uint32_t rank, uint32_t slot) const;
  QueuePairLink& add_from(uint32_t rank, uint32_t slot);
  QueuePairLink* wanted(const Datagram& datagram);
  bool admit(std::string_view bytes, Datagram* out) const;
  bool prepare(QueuePairLink& link);
  void make_room_to_find();
  int prepare_path(QueuePairLink& link);
  void enlist(QueuePairLink& link);
  void stop(QueuePairLink& link) const;
  void take_in(const Datagram& datagram);
  void requested(QueuePairLink& link, const Datagram& datagram);
  void replied(QueuePairLink& link, const Datagram& datagram);
  void begin_shared(QueuePairLink& link);
  void requested_xrc(QueuePairLink& link, const Datagram& datagram);
  void replied_xrc(QueuePairLink& link, const Datagram& datagram);
  [[nodiscard]] bool fill_xrc(QueuePairLink& link, Datagram* datagram) const;
  [[nodiscard]] Route route_of(const QueuePairLink& link, const Datagram& datagram) const;
  bool route(QueuePairLink& link, const Datagram& datagram);
  void send(QueuePairLink& link, HandshakeStep step);
  void post_receive(uint64_t buffer);
  void enter(QueuePairLink& link, QueuePairLink::State state);
  void go_up(QueuePairLink& link);
  // The end of the link, which needs no memory.
  void fail(QueuePairLink& link, int code, std::string_view why) noexcept;
  void look_after(QueuePairLink& link, int64_t now);
  void look_after_if_possible(QueuePairLink& link, int64_t now) noexcept;
  void ask(QueuePairLink& link) const;

  const SharedState& shared_;
  Resources& resources_;
  const uint32_t slot_;
  LinkTable<QueuePairLink> links_;
  std::vector<std::pair<uint32_t, QueuePairLink*>>
      by_pair_;  // a hash table; its size is a power of two
  Losses losses_;
  std::atomic<uint32_t> up_{0};
  int waiting_ = 0;  // links
  uint32_t datagrams_sent_ = 0;
  uint32_t next_datagram_ = 0;
};

}  // namespace ompl::conduit::verbs
