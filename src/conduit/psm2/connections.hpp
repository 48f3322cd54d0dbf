// SPDX-License-Identifier: BSD-3-Clause
// The connections of one endpoint: made on first use, or when the other side's hello comes; broken once and for all.
//
// Whether the other side lives is asked first (common/liveness_probe.hpp). Then a thread of its own waits for PSM2 to connect
// (connector.hpp); then both sides tell each other, by a hello with a proof that the sender knows the job's secret and its
// answer, what messages on this link are to carry. A connection that PSM2 has made serves both directions.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/link_table.hpp"
#include "conduit/common/losses.hpp"
#include "conduit/psm2/address.hpp"
#include "conduit/psm2/connector.hpp"
#include "conduit/psm2/link.hpp"
#include "conduit/psm2/wire.hpp"

namespace ompl::conduit::psm2 {

// What all endpoints of a rank share, unchanging while they live.
struct SharedState {
  const Library* library = nullptr;
  const Job* job = nullptr;
  const Address* own = nullptr;
  const std::vector<Address>* peers = nullptr;  // by rank; without slots if another conduit reaches it
  const LivenessListener* liveness = nullptr;
  std::vector<uint64_t> cookies;  // by rank: what its hellos to us carry
  Devices devices = Devices::fabric;
};

class Connections {
 public:
  Connections(const SharedState& shared, uint32_t slot);
  void open(PsmEndpoint* endpoint) { endpoint_ = endpoint; }

  // Any thread.
  [[nodiscard]] Psm2Link* find(uint32_t rank) const { return links_.find(rank); }
  [[nodiscard]] const Losses& losses() const { return losses_; }
  [[nodiscard]] GetPool<Psm2Link>& gets() { return gets_; }
  [[nodiscard]] const GetPool<Psm2Link>& gets() const { return gets_; }
  [[nodiscard]] std::string describe() const;

  // A thread waits for PSM2 to connect, and has the endpoint: nothing of it may be touched but is_away().
  [[nodiscard]] bool is_away() const { return connector_.is_away(); }
  void await_connector() { connector_.join(); }

  // The link to `rank`; begins it if there is none. Look at sends().
  Psm2Link& use(uint32_t rank) {
    Psm2Link* const link = links_.known(rank);
    return link != nullptr && link->state != Psm2Link::State::idle ? *link : prepare(rank);
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Psm2Link>>& all() const { return links_.all(); }
  // The link that a message says it belongs to, null if it lies.
  [[nodiscard]] Psm2Link* admit(Head head) const;

  // The other side's hello came by that address. Sets *link to whose answer is to be sent, if any; returns the operation.
  uint8_t greeted(const Hello& hello, PsmAddress* from, Psm2Link** link) noexcept;
  // Its answer. progress() does what follows: PSM2's handlers may not send requests.
  void answered(Psm2Link& link, uint8_t op, uint64_t head) noexcept;
  // Both sides know what the other one's messages carry.
  void came_up(Psm2Link& link) noexcept;

  // Steps of links that come up. Returns how many were taken. Throws nothing.
  int progress() noexcept;
  // Looks after links on which nothing comes; now and then.
  void look_for_silence(int64_t now) noexcept;
  // Somebody may wait: asks how much has been taken, where that is not known.
  void ask_all() noexcept;
  void ask(Psm2Link& link) noexcept;

  // The link does not work any more. Nothing is sent on it again [18]; failure() will say why.
  void lost(Psm2Link& link, std::string_view why) noexcept { fail(link, OMPL_ERR_LINK, why); }
  // The other side closes its endpoint in order.
  void said_goodbye(Psm2Link& link) noexcept;
  // Tells all others that this side does so. True once all of them have heard it, and have said so too.
  bool part() noexcept;
  // Nothing can come any more from anyone.
  [[nodiscard]] bool has_parted() const;

  // Sends what is not counted. False: the link has failed.
  bool send(Psm2Link& link, const uint64_t* arguments, int count) noexcept;

 private:
  [[nodiscard]] const Address& peer(const Psm2Link& link) const { return (*shared_.peers)[link.rank]; }
  [[nodiscard]] uint32_t target_slot(uint32_t rank) const;
  [[nodiscard]] uint64_t limit_to(uint32_t rank) const;
  Psm2Link& add(uint32_t rank, uint32_t slot);
  Psm2Link& prepare(uint32_t rank);
  void enter(Psm2Link& link, Psm2Link::State state) noexcept;
  void seek(Psm2Link& link);
  bool advance(Psm2Link& link, int64_t now);
  void take_connection(int64_t now);
  void greet(Psm2Link& link) noexcept;
  void look_after(Psm2Link& link, int64_t now);
  // The end of the link, which needs no memory.
  void fail(Psm2Link& link, int code, std::string_view why) noexcept;

  const SharedState& shared_;
  const uint32_t slot_;
  PsmEndpoint* endpoint_ = nullptr;
  GetPool<Psm2Link> gets_;
  LinkTable<Psm2Link> links_;
  Losses losses_;
  std::atomic<uint32_t> up_{0};
  int coming_up_ = 0;
  std::size_t turn_ = 0;            // whose it is to be connected
  Psm2Link* connecting_ = nullptr;  // by the connector
  Connector connector_;
};

}  // namespace ompl::conduit::psm2
