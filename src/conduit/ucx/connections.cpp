// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ucx/connections.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "arch/clock.hpp"
#include "conduit/common/ip_address.hpp"
#include "conduit/ucx/resources.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ucx {
namespace {

constexpr int64_t kProbeMs = 500;
// A dying process may close its connections before its listener, and lose its core between the two.
constexpr int64_t kDyingMs = 1000;
// UCX's TCP connects while its caller waits: a refusal comes at once, what comes later is the system giving up.
constexpr int64_t kRefusalMs = 2000;
constexpr int kShortTests = 10;
constexpr int64_t kPutOffMs = 20'000;
constexpr int64_t kPartMs = 1000;  // of a rank that has said goodbye: its endpoint is gone long before
constexpr const char* kHint =
    "UCX_NET_DEVICES names the network devices to use, or OMPL_NET_INTERFACE the interfaces, addresses "
    "or "
    "subnets, on each host its own";

ucp_request_param_t with_callback(ucp_send_nbx_callback_t callback, UcpLink& link) {
  ucp_request_param_t out{};
  out.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  out.cb.send = callback;
  out.user_data = &link;
  return out;
}

// The network of this side by which the system sends to that address; none if there is none for its family.
std::optional<uint32_t> network_towards(const std::vector<NetworkInterface>& own,
                                        const std::string& ip) {
  const std::string source = source_address(ip);
  std::optional<uint32_t> found;
  for (uint32_t i = 0; i < own.size(); ++i) {
    if (own[i].ip == source) return i;
    if (own[i].ip.size() == ip.size() && (!found || own[i].has_in_its_subnet(ip))) found = i;
  }
  return found;
}

}  // namespace

Connections::Connections(const SharedState& shared, uint32_t slot)
    : shared_(shared), slot_(slot), links_(shared.job->size) {}

UcpLink& Connections::add(uint32_t rank) {
  UcpLink& link = links_.add(*this, rank);
  links_.use(link);
  return link;
}

UcpLink& Connections::use(uint32_t rank) {
  if (UcpLink* link = find(rank); link != nullptr) return *link;
  const Address& there = (*shared_.peers)[rank];
  const Message hello = {
      .cookie = cookie(shared_.job->secret, shared_.job->rank, rank, there.challenge),
      .source = shared_.job->rank,
      .op = kHello};
  UcpLink& link = add(rank);
  if (there.slots() == 0) {
    fail(link, OMPL_ERR_LINK, "it is not reached by this conduit");
    return link;
  }
  link.hello = hello;
  begin_if_possible(link);
  return link;
}

// Without memory it is put off, as without descriptors; if there still is none at the end of that time, the link fails.
void Connections::begin_if_possible(UcpLink& link) noexcept {
  const int64_t now = arch::now_ms();
  try {
    begin(link);
  } catch (const std::bad_alloc&) {
    if (link.put_off_until == 0) link.put_off_until = now + kPutOffMs;
    troubled_ = true;
    if (now >= link.put_off_until) fail(link, OMPL_ERR_LINK, kNoMemoryForText);
  }
}

// UCX takes a want of descriptors for the death of the other side. Strangers may hold them for a moment.
void Connections::begin(UcpLink& link) {
  const int64_t now = arch::now_ms();
  if (!Doorkeeper::has_room() && (link.put_off_until == 0 || now < link.put_off_until)) {
    if (link.put_off_until == 0) link.put_off_until = now + kPutOffMs;
    door_.look(now);
    troubled_ = true;
    return;
  }
  const bool seeks = seek(link);
  link.put_off_until = 0;
  if (!seeks) begin_connection(link);
}

// False: there is nothing to seek, since one of the two sides leaves the choice to UCX.
bool Connections::seek(UcpLink& link) {
  const std::vector<WorkerAddresses>& theirs = peer(link).networks;
  std::vector<HostPort> places;
  link.routes.clear();
  for (const HostAddress& there : peer(link).host.list) {
    const auto network = std::ranges::find(theirs, there.ip, &WorkerAddresses::ip);
    const auto own = network_towards(*shared_.networks, there.ip);
    if (network == theirs.end() || !own) continue;
    const uint16_t port = network->ports[slot_ % network->ports.size()];
    if (port == 0) continue;
    places.push_back({there.ip, port});
    link.routes.push_back({*own, static_cast<uint32_t>(network - theirs.begin())});
  }
  if (places.empty()) return false;
  link.search = std::make_unique<RouteSearch>();
  link.search->begin(std::move(places), shared_.connect_timeout_ms);
  link.state = UcpLink::State::seeking;
  troubled_ = true;
  return true;
}

void Connections::look_for_route(UcpLink& link) {
  const RouteSearch::Answer answer = link.search->look();
  if (answer == RouteSearch::Answer::none) return;
  if (answer == RouteSearch::Answer::lives) {
    const HostPort& place = link.search->place();
    log::debug("ucx: rank {} is reached at {}", link.rank, place_text(place.ip, place.port));
    link.network = link.routes[link.search->found()].own;
    link.their_network = link.routes[link.search->found()].theirs;
    link.reached = true;
    return begin_connection(link);
  }
  const bool near = shared_.network != 0 && shared_.network == peer(link).host.network;
  if (answer == RouteSearch::Answer::dead && near)
    return fail(link, OMPL_ERR_PEER, in_words([&link] {
                  return fmt::format("its process ended ({})", link.search->verdicts());
                }));
  fail(link, OMPL_ERR_LINK, in_words([&] { return never_connected(*link.search, answer, kHint); }));
}

void Connections::begin_connection(UcpLink& link) {
  link.search.reset();
  link.state = UcpLink::State::connecting;
  connect(link);
  if (link.endpoint == nullptr) return;
  const ucs_status_t status =
      shared_.library->ep_rkey_unpack(link.endpoint, their_network(link).key.data(), &link.key);
  if (status != UCS_OK) lost(link, status);
}

// Begins a connection. It stands once its first message is sent; others posted before would go out only with
// progress that this rank need not make any more.
void Connections::connect(UcpLink& link) {
  const std::vector<std::string>& slots = their_network(link).slots;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(slots[slot_ % slots.size()].data());
  params.err_mode = shared_.error_mode;
  params.err_handler = {.cb = on_error, .arg = &link};
  link.error = UCS_OK;
  const ucs_status_t status =
      shared_.library->ep_create(workers_[link.network], &params, &link.endpoint);
  if (status != UCS_OK) {
    link.endpoint = nullptr;
    return lost(link, status);
  }
  const ucs_status_ptr_t sent = send_hello(link, 0);
  if (sent == nullptr) connected(link);
  if (UCS_PTR_IS_ERR(sent)) lost(link, UCS_PTR_STATUS(sent));
}

void Connections::on_hello_sent(void* request, ucs_status_t status, void* argument) {
  UcpLink& link = *static_cast<UcpLink*>(argument);
  link.owner.shared_.library->request_free(request);
  if (status == UCS_OK &&
      (link.state == UcpLink::State::connecting || link.state == UcpLink::State::probing))
    link.owner.connected(link);
}

void Connections::connected(UcpLink& link) {
  link.state = link.state == UcpLink::State::probing ? UcpLink::State::alive : UcpLink::State::testing;
  troubled_ = true;
}

// Some transports take such messages only by another way; a full queue is no proof of that.
void Connections::test_short(UcpLink& link) {
  const ucs_status_ptr_t sent = send_hello(link, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);
  link.short_works = sent == nullptr;
  if (!link.short_works && ++link.short_tests < kShortTests) return;
  link.state = UcpLink::State::up;
  link.was_up = true;
  up_.fetch_add(1, std::memory_order_relaxed);
  log::debug("ucx: endpoint {} connected to rank {}{}", slot_, link.rank,
             link.short_works ? "" : ", without short messages");
}

ucs_status_ptr_t Connections::send_hello(UcpLink& link, uint32_t flags) {
  ucp_request_param_t request = with_callback(on_hello_sent, link);
  request.op_attr_mask |= flags;
  return shared_.library->am_send_nbx(link.endpoint, kMessageId, &link.hello, sizeof link.hello,
                                      nullptr, 0, &request);
}

// Aborts what is outstanding, if UCX can.
void Connections::disconnect(UcpLink& link) {
  if (link.endpoint == nullptr) return;
  ucp_request_param_t params = with_callback(on_closed, link);
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = shared_.error_mode == UCP_ERR_HANDLING_MODE_PEER ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  ucp_ep_h endpoint = std::exchange(link.endpoint, nullptr);
  link.close_pending = UCS_PTR_IS_PTR(shared_.library->ep_close_nbx(endpoint, &params));
}

void Connections::on_closed(void* request, ucs_status_t /*status*/, void* argument) {
  UcpLink& link = *static_cast<UcpLink*>(argument);
  link.close_pending = false;
  link.owner.shared_.library->request_free(request);
}

void Connections::on_error(void* argument, ucp_ep_h /*endpoint*/, ucs_status_t status) {
  UcpLink& link = *static_cast<UcpLink*>(argument);
  link.owner.lost(link, status);
}

void Connections::lost(UcpLink& link, ucs_status_t status) {
  if (link.error == UCS_OK) link.error = status;
  troubled_ = true;
}

// It takes nothing in any more. What is outstanding uses the memory of callers: first that has to end, with the other side or
// with its connection.
void Connections::said_goodbye(uint32_t rank) noexcept {
  UcpLink* known = find(rank);
  try {
    if (known == nullptr) known = &add(rank);
  } catch (const std::bad_alloc&) {
    return;
  }
  UcpLink& link = *known;
  link.departed = true;
  if (link.failure == OMPL_OK) link.note_why("it left the job");
  link.part_by = arch::now_ms() + kPartMs;
  troubled_ = true;
  part_if_idle(link);
}

// The connection stays, for the goodbye of this end.
void Connections::part_if_idle(UcpLink& link) {
  if (!link.departed || link.window.outstanding() > 0) return;
  link.failure.store(OMPL_ERR_LINK, std::memory_order_release);
  link.window.close();
}

bool Connections::flushed(UcpLink& link) {
  if (link.flushed == link.puts) return true;
  if (link.flushing != 0) return false;
  const ucp_request_param_t request = with_callback(on_flushed, link);
  const ucs_status_ptr_t asked = shared_.library->ep_flush_nbx(link.endpoint, &request);
  if (UCS_PTR_IS_ERR(asked)) {
    lost(link, UCS_PTR_STATUS(asked));
  } else {
    (asked == nullptr ? link.flushed : link.flushing) = link.puts;
  }
  return asked == nullptr;
}

void Connections::on_flushed(void* request, ucs_status_t status, void* argument) {
  UcpLink& link = *static_cast<UcpLink*>(argument);
  link.owner.shared_.library->request_free(request);
  if (status == UCS_OK) link.flushed = std::exchange(link.flushing, 0);
}

int Connections::progress() {
  if (!troubled()) return 0;
  try {
    for (; !met_.empty(); met_.pop_back()) use(met_.back());
  } catch (const std::bad_alloc&) {  // the next progress sees to them
  }
  troubled_ = false;
  for (const auto& link : all()) advance_if_possible(*link);
  return 1;
}

// Without memory the step is taken again.
void Connections::advance_if_possible(UcpLink& link) noexcept {
  try {
    advance(link);
  } catch (const std::bad_alloc&) {
    troubled_ = true;
  }
}

// One step of a link that broke.
void Connections::advance(UcpLink& link) {
  using State = UcpLink::State;
  if (link.put_off_until != 0 && link.failure == OMPL_OK) begin_if_possible(link);
  const bool parting = link.departed && link.failure == OMPL_OK;
  if (parting && link.state <= State::up && arch::now_ms() > link.part_by) {
    if (shared_.error_mode == UCP_ERR_HANDLING_MODE_NONE) return fail(link, OMPL_ERR_LINK, link.why);
    lost(link, UCS_ERR_TIMED_OUT);  // which makes UCX give back what is outstanding
  }
  if (link.state == State::seeking && link.search) look_for_route(link);
  if (link.state == State::testing && link.error == UCS_OK && flushed(link)) test_short(link);
  if (link.state <= State::up && link.error != UCS_OK) {
    if (link.state == State::up) up_.fetch_sub(1, std::memory_order_relaxed);
    if (!link.departed) link.note_why(shared_.library->text(link.error));
    link.state = State::closing;
    disconnect(link);
  } else if (link.state == State::closing && !link.close_pending) {
    if (link.departed) return fail(link, OMPL_ERR_LINK, link.why);
    probe(link);
  } else if (link.state == State::probing || link.state == State::alive) {
    look_at_probe(link);
  }
  const bool steady = (link.state == State::connecting && link.put_off_until == 0) ||
                      (link.state == State::up && !parting) || link.state == State::failed;
  troubled_ = troubled_ || !steady;
}

HostPort Connections::place_of(const UcpLink& link) const {
  const WorkerAddresses& there = their_network(link);
  return {there.ip, there.ports[slot_ % there.ports.size()]};
}

void Connections::probe(UcpLink& link) {
  const HostPort place = place_of(link);
  std::unique_ptr<RouteSearch> search;
  if (!place.ip.empty() && place.port != 0) {
    search = std::make_unique<RouteSearch>();
    search->begin({place}, kProbeMs);
  }
  link.state = UcpLink::State::probing;
  link.probe_until = arch::now_ms() + kProbeMs;
  link.probe_again = 0;
  link.probed_again = false;
  link.search = std::move(search);
  if (!link.search) connect(link);
}

void Connections::look_at_probe(UcpLink& link) {
  const int64_t now = arch::now_ms();
  const auto answer = link.search ? link.search->look() : RouteSearch::Answer::none;
  if (answer == RouteSearch::Answer::lives && !link.probed_again) return probe_again(link, now);
  const bool unreachable_by_ucx = !link.search && link.error != UCS_OK;
  if (answer == RouteSearch::Answer::dead ||
      (unreachable_by_ucx && now < link.probe_until - kProbeMs + kRefusalMs))
    return turned_away(link);
  // Without an answer the network is gone, and whether the rank lives cannot be known.
  if (answer != RouteSearch::Answer::none || link.state == UcpLink::State::alive ||
      now > link.probe_until)
    fail(link, OMPL_ERR_LINK, link.why);
}

// Whether it still answers a moment after its connection broke.
void Connections::probe_again(UcpLink& link, int64_t now) {
  if (link.probe_again == 0) link.probe_again = now + kDyingMs;
  if (now < link.probe_again) return;
  auto search = std::make_unique<RouteSearch>();
  search->begin({place_of(link)}, kProbeMs);
  link.search = std::move(search);
  link.probed_again = true;
  link.probe_until = now + kProbeMs;
}

// A rank listens from before others know its address until it ends. But what rejects a first connection may be a firewall.
void Connections::turned_away(UcpLink& link) {
  const bool near = shared_.network != 0 && shared_.network == peer(link).host.network;
  if (link.was_up || link.reached || near)
    return fail(link, OMPL_ERR_PEER,
                in_words([&link] { return fmt::format("its process ended ({})", link.why); }));
  fail(link, OMPL_ERR_LINK, in_words([&link] {
         return fmt::format("{}: a firewall is between, or its process has ended; {}", link.why, kHint);
       }));
}

// Everything outstanding on the link counts as complete.
void Connections::fail(UcpLink& link, int code, std::string_view why) noexcept {
  disconnect(link);
  link.state = UcpLink::State::failed;
  link.search.reset();
  link.note_why(why);
  link.failure.store(code, std::memory_order_release);
  link.window.close();
  log::info("ucx: connection of endpoint {} to rank {}: {}", slot_, link.rank, link.why);
}

int Connections::close() {
  int pending = 0;
  for (const auto& link : all()) {
    disconnect(*link);
    pending += link->close_pending ? 1 : 0;
  }
  return pending;
}

void Connections::drop_keys() {
  for (const auto& link : all()) {
    if (link->key != nullptr) shared_.library->rkey_destroy(link->key);
  }
}

std::string Connections::describe() const {
  return fmt::format("{} connections", up_.load(std::memory_order_relaxed));
}

}  // namespace ompl::conduit::ucx
