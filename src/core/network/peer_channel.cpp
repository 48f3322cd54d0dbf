// SPDX-License-Identifier: BSD-3-Clause
// What the fast paths of a channel leave to be done out of line.
#include "core/network/peer_channel.hpp"

#include "core/job/context.hpp"
#include "core/network/endpoint_pool.hpp"

namespace ompl {

constinit PeerChannel Context::nobody(nullptr, UINT64_MAX, 0);

// Of a channel that had nothing outstanding, or no data.
void PeerChannel::note_first(Context& c, bool data) {
  has_data_ = has_data_ || data;
  c.channels.touch(*this);
}

// What could not be posted as one request. Data may have gone out: the slow path goes on, on the same slot [14].
bool PeerChannel::leave(Context& c, const conduit::Post& refused) {
  if (refused.state == conduit::Post::State::pending) {
    note_data(refused);
    c.channels.touch(*this);
  }
  pool_->release(*slot_);
  return false;
}

}  // namespace ompl
