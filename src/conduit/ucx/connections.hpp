// SPDX-License-Identifier: BSD-3-Clause
// The connections of one endpoint: made on first use, or when the other side's first message comes; broken
// once and for all.
//
// Which of the other side's addresses takes a TCP connection is found out first (common/route_search.hpp); UCX then connects by
// the worker of that network. A connection that ends after a goodbye is a rank that left. If one ends without, the other
// side's listener is probed: it answers, then the connection broke; it refuses, then the rank is dead.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/clock.hpp"
#include "conduit/common/completion_window.hpp"
#include "conduit/common/doorkeeper.hpp"
#include "conduit/common/link_table.hpp"
#include "conduit/common/network_interfaces.hpp"
#include "conduit/common/route_search.hpp"
#include "conduit/conduit.hpp"
#include "conduit/ucx/address.hpp"
#include "conduit/ucx/library.hpp"
#include "conduit/ucx/wire.hpp"
#include "omnipgas/ompl.h"

namespace ompl::conduit::ucx {

// What all endpoints of a rank share, unchanging while they live.
struct SharedState {
  const Library* library = nullptr;
  const Job* job = nullptr;
  const std::vector<Address>* peers = nullptr;  // by rank; without slots if another conduit reaches it
  ucp_err_handling_mode_t error_mode = UCP_ERR_HANDLING_MODE_NONE;
  std::vector<uint64_t> cookies;  // by rank: what its messages to us carry
  uint64_t network = 0;           // see HostAddresses
  const std::vector<NetworkInterface>* networks =
      nullptr;  // of each context; empty: UCX has chosen for one
  int64_t connect_timeout_ms = 0;
};

class Connections;

// A way between two ranks: places in the lists of networks of this side and of the other.
struct NetworkPair {
  uint32_t own = 0;
  uint32_t theirs = 0;
};

// One connection. Changed under the claim only; what other threads read is atomic.
struct UcpLink : LinkState {
  UcpLink(Connections& of, uint32_t to_rank) : LinkState(to_rank), owner(of) {}

  enum class State : uint8_t {
    seeking,  // the network on which the other side is reached
    connecting,
    testing,  // whether short messages work
    up,
    closing,  // UCX is giving back what was outstanding
    probing,  // does the other side live? At its listener, or by a second connection
    alive,    // it does
    failed
  };
  [[nodiscard]] bool up() const { return state == State::up && error == UCS_OK; }
  [[nodiscard]] bool connecting() const { return state < State::up && error == UCS_OK; }
  [[nodiscard]] bool sends() const { return up() && !departed; }
  [[nodiscard]] uint64_t completed() const { return window.completed(); }

  Connections& owner;
  State state = State::connecting;
  bool was_up = false;
  uint32_t network = 0;             // of this side,
  uint32_t their_network = 0;       // and of the other
  std::vector<NetworkPair> routes;  // that lead there, in the order of the search,
  std::unique_ptr<RouteSearch> search;
  bool reached = false;         // one of them was found
  ucs_status_t error = UCS_OK;  // of `endpoint`
  ucp_ep_h endpoint = nullptr;
  ucp_rkey_h key = nullptr;  // of the other side's segment
  Message hello;             // its cookie is that of all messages
  bool short_works = false;  // UCX can be asked to send a record at once or not at all
  int short_tests = 0;
  uint64_t puts = 1;           // posted to its memory, and the hello,
  uint64_t flushed = 0;        // how many of them are sure to have arrived,
  uint64_t flushing = 0;       // and how many will have when the flush under way completes; 0: none is
  bool goodbye_said = false;   // by this side
  bool close_pending = false;  // of an endpoint that we had
  int64_t put_off_until = 0;   // ms; not begun yet, for want of descriptors; 0: not put off
  int64_t probe_until = 0;     // ms
  int64_t probe_again = 0;  // ms; its process has answered once since the connection broke; 0: not yet
  bool probed_again = false;
  int64_t part_by = 0;  // ms; the other side has said goodbye
  CompletionWindow<> window;
};

class Connections {
 public:
  Connections(const SharedState& shared, uint32_t slot);
  // A worker for each of SharedState::networks; at least one.
  void open(std::vector<ucp_worker_h> workers) { workers_ = std::move(workers); }

  // The connection to `rank` if one was ever begun, else null. Any thread.
  [[nodiscard]] UcpLink* find(uint32_t rank) const { return links_.find(rank); }

  // The worker has a listener at that TCP port.
  void listens_at(uint16_t port) { door_.guard(port); }
  // Now and then.
  void look_at_strangers() { door_.look(arch::now_ms()); }

  // The connection to `rank`, made if there is none.
  UcpLink& use(uint32_t rank);
  // A message of `rank` came; progress() sees to a connection in the other direction. Without memory to note it that is for
  // whoever next sends there.
  void met(uint32_t rank) noexcept {
    if (find(rank) != nullptr) return;
    try {
      met_.push_back(rank);
    } catch (const std::bad_alloc&) {
    }
  }

  // Takes in what happened to connections. Outside of UCX's callbacks. Returns how much there was.
  int progress();
  // Whether somebody waits for progress().
  [[nodiscard]] bool troubled() const { return troubled_ || !met_.empty(); }

  // The connection does not work any more. Nothing is sent on it again [18]; failure() will say why.
  void lost(UcpLink& link, ucs_status_t status);

  // `rank` will close its connection to this endpoint in order. Without memory to note that its end is one like any other.
  void said_goodbye(uint32_t rank) noexcept;
  // Something is complete that used a caller's memory.
  void part_if_idle(UcpLink& link);

  // Everything put before is sure to have arrived; if not, asks for it.
  bool flushed(UcpLink& link);

  [[nodiscard]] const std::vector<std::unique_ptr<UcpLink>>& all() const { return links_.all(); }
  // Begins to end all connections. Returns how many still do; progress the worker until none.
  int close();
  // Before the end of the worker; the end of the links comes after it.
  void drop_keys();

  [[nodiscard]] std::string describe() const;

 private:
  static void on_error(void* link, ucp_ep_h endpoint, ucs_status_t status);
  static void on_closed(void* request, ucs_status_t status, void* link);
  static void on_hello_sent(void* request, ucs_status_t status, void* link);
  static void on_flushed(void* request, ucs_status_t status, void* link);
  [[nodiscard]] const Address& peer(const UcpLink& link) const { return (*shared_.peers)[link.rank]; }
  UcpLink& add(uint32_t rank);
  void begin(UcpLink& link);
  void begin_if_possible(UcpLink& link) noexcept;
  bool seek(UcpLink& link);
  void look_for_route(UcpLink& link);
  void begin_connection(UcpLink& link);
  [[nodiscard]] HostPort place_of(const UcpLink& link) const;
  [[nodiscard]] const WorkerAddresses& their_network(const UcpLink& link) const {
    return peer(link).networks[link.their_network];
  }
  void probe(UcpLink& link);
  void look_at_probe(UcpLink& link);
  void probe_again(UcpLink& link, int64_t now);
  void connect(UcpLink& link);
  ucs_status_ptr_t send_hello(UcpLink& link, uint32_t flags);
  void connected(UcpLink& link);
  void test_short(UcpLink& link);
  void disconnect(UcpLink& link);
  void advance(UcpLink& link);
  void advance_if_possible(UcpLink& link) noexcept;
  void turned_away(UcpLink& link);
  // The end of the link, which needs no memory.
  void fail(UcpLink& link, int code, std::string_view why) noexcept;

  const SharedState& shared_;
  const uint32_t slot_;
  std::vector<ucp_worker_h> workers_;
  LinkTable<UcpLink> links_;
  std::vector<uint32_t> met_;
  std::atomic<uint32_t> up_{0};
  Doorkeeper door_{9};     // UCX begins with a word of 8 bytes, in the call that connects
  bool troubled_ = false;  // some link is put off or testing, or broke and has not failed yet
};

}  // namespace ompl::conduit::ucx
