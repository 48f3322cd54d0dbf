// SPDX-License-Identifier: BSD-3-Clause
// Links that are connections of their own (FI_EP_MSG). When both sides ask for one at once the lower rank's
// request wins [12]. A request proves that it comes from a rank of the job, and so does its answer: a listener
// refuses strangers, and who asks believes nobody who has got hold of a rank's port.
//
// If a connection ends without a goodbye the other side is probed by a request: it answers, then the
// connection broke; no rank of the job listens there, then the rank is dead. A request that ends without an answer, as
// where the other side has no descriptor left for it, is made again for a while. So is one whose connection the other side's
// Doorkeeper ended, since this side was outside the layer before it had said anything.
//
// Before each request a TCP connection that is reset at once shows which of the other side's addresses leads to it
// (common/route_search.hpp): libfabric would wait for minutes where packets vanish.
#pragma once

#include "conduit/ofi/links.hpp"

namespace ompl::conduit::ofi {

class MsgPeers final : public FabricLinks {
 public:
  MsgPeers(const SharedState& shared, const Resources& resources, uint32_t slot)
      : FabricLinks(shared, resources, slot, sizeof(Greeting)) {}

  int progress() override;

  void lost(FabricLink& link, std::string_view why) override;

 private:
  void begin(FabricLink& link) override { request(link); }
  void end_outstanding(FabricLink& link) override { fail(link, OMPL_ERR_LINK, link.why); }
  int take_events();
  void request(FabricLink& link);
  void make_request(FabricLink& link);
  void seek(FabricLink& link);
  void check(FabricLink& link);
  void look_for_route(FabricLink& link);
  void look_at_check(FabricLink& link, RouteSearch::Answer answer);
  void find_no_route(FabricLink& link, RouteSearch::Answer answer);
  void learn_route(FabricLink& link, const std::string& ip) const;
  void learn_route(FabricLink& link, const sockaddr* place) const noexcept;
  [[nodiscard]] HostPort place_of(const FabricLink& link) const;
  [[nodiscard]] std::string place_text_of(const FabricLink& link) const;
  bool is_put_off(FabricLink& link);
  template <class Step>
  void step(FabricLink& link, Step take) noexcept;
  void look_at_clock_of(FabricLink& link, int64_t now);
  [[nodiscard]] bool is_proven(const FabricLink& link, const Answer& answer) const;
  FabricLink* admissible(const Greeting& greeting, Refusal* refusal);
  void answer_no(fi_info* request, const Greeting& greeting, Refusal refusal);
  void requested(fi_info* request, std::string_view data) noexcept;
  void answer(fi_info* request, std::string_view data);
  bool accept(FabricLink& link, fi_info* request, const Greeting& greeting);
  void connected(fid* endpoint, std::string_view data);
  void ended(fid* endpoint, int error, const Answer* answer);
  void refused(FabricLink& link, const Answer& answer);
  void look_at_clock();
  void look_at_connections();
  [[nodiscard]] bool is_of_a_link(const sockaddr_storage& peer) const;
  void recount(FabricLink& link);

  int64_t connections_looked_at_ = 0;  // ms
};

}  // namespace ompl::conduit::ofi
