// SPDX-License-Identifier: BSD-3-Clause
// Links that are connections of their own (FI_EP_MSG). When both sides ask for one at once the lower rank's
// request wins [12]. A request carries the job's secret; without it the listener refuses.
//
// If a connection ends without a goodbye the other side is probed by a request: it refuses, then the
// connection broke; nobody listens, then the rank is dead.
#pragma once

#include "conduit/ofi/links.hpp"

namespace ompl::conduit::ofi {

class MsgPeers final : public FabricLinks {
 public:
  using FabricLinks::FabricLinks;

  int progress() override;
  void lost(FabricLink& link, std::string_view why) override;

 private:
  void begin(FabricLink& link) override { request(link); }
  void request(FabricLink& link);
  FabricLink* admissible(std::string_view data, Refusal* refusal);
  void requested(fi_info* request, std::string_view data);
  bool accept(FabricLink& link, fi_info* request);
  void connected(fid* endpoint);
  void ended(fid* endpoint, int error, Refusal refusal);
  void end_probes();
  void recount(FabricLink& link);
};

}  // namespace ompl::conduit::ofi
