// SPDX-License-Identifier: BSD-3-Clause
// In place of xrc.cpp and connections_shared.cpp where OMPL_WITH_VERBS_SHARED_TRANSPORT is off: XRC and DC cannot be
// opened, so that nothing else here is ever called.
#include "conduit/verbs/connections.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {

int XrcDomain::open(const Device& /*device*/, const std::string& /*name*/) {
  return fail(OMPL_ERR_UNSUPPORTED,
              "this build has no XRC: OMPL_WITH_VERBS_SHARED_TRANSPORT was off when it was made; "
              "OMPL_VERBS_TRANSPORT=rc does without");
}
void XrcDomain::remove_file() {}
Owned<ibv_srq> make_xrc_queue(const SharedState& /*shared*/, ibv_cq* /*completions*/) {
  return {nullptr, nullptr};
}

void Connections::begin_shared(QueuePairLink& /*link*/) {}
bool Connections::fill_xrc(QueuePairLink& /*link*/, Datagram* /*datagram*/) const { return false; }
void Connections::requested_xrc(QueuePairLink& /*link*/, const Datagram& /*datagram*/) {}
void Connections::replied_xrc(QueuePairLink& /*link*/, const Datagram& /*datagram*/) {}
void Connections::greeted(uint32_t /*rank*/, uint32_t /*slot*/) {}
void Connections::parted(uint32_t /*rank*/, uint32_t /*slot*/) {}
bool Connections::borrows(QueuePairLink& /*link*/, uint64_t /*requests*/) { return false; }

}  // namespace ompl::conduit::verbs
