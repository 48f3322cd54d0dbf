// SPDX-License-Identifier: BSD-3-Clause
// Connections over XRC and DC, whose links share the queue pairs that they send by.
//
// DC: nothing is made but a path to the other side's target. The first message of a link says who it is, so that the
// other side says goodbye to it.
//
// XRC: a link goes one way. A request names the initiator, and its target at that node if one is made already; the
// other rank makes the target, or opens it, and replies with its number; it asks for a link of its own the other way.
// One link asks for a target to be made, and the others a little later, for its rank may be long away. The first reply
// wins; who made another target gives it up when it is told of that one. Request and reply are sent again like those of
// RC.
#include <cerrno>
#include <new>

#include "conduit/verbs/connections.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

XrcInitiator& initiator_of(const QueuePairLink& link) {
  return static_cast<XrcInitiator&>(*link.initiator);
}

}  // namespace

void Connections::begin_shared(QueuePairLink& link) {
  if (const int error = link.path ? 0 : prepare_path(link); error != 0)
    return fail(link, OMPL_ERR_LINK, in_words([error] {
                  return fmt::format("cannot make a path to it: {}", error_text(error));
                }));
  if (shared_.transport == Transport::dc) {
    link.partner = peer(link).slots[link.slot];
    return go_up(link);
  }
  link.queue = peer(link).queues[link.slot];
  link.initiator = resources_.xrc.initiator(shared_, resources_, peer(link).node);
  if (link.initiator == nullptr)
    return fail(link, OMPL_ERR_LINK, in_words([error = errno] {
                  return fmt::format("cannot make a queue pair: {}", error_text(error));
                }));
  enter(link, QueuePairLink::State::requested);
  send(link, HandshakeStep::request);
}

// --- XRC -----------------------------------------------------------------------------------------------

// What differs from RC; false if the datagram is not to be sent now.
bool Connections::fill_xrc(QueuePairLink& link, Datagram* datagram) const {
  if (datagram->step != HandshakeStep::request) {
    datagram->queue_pair = link.target ? link.target->qp_num : 0;
    return true;
  }
  XrcInitiator& initiator = initiator_of(link);
  datagram->queue_pair = initiator.pair->qp_num;
  datagram->first_packet = initiator.first_packet;
  datagram->target = initiator.target;
  if (initiator.target != 0) return true;
  const bool another = initiator.asking != nullptr && initiator.asking != &link &&
                       initiator.asking->state == QueuePairLink::State::requested;
  if (!another) initiator.asking = &link;
  return !another || link.interval > kFirstAgainMs;
}

void Connections::requested_xrc(QueuePairLink& link, const Datagram& datagram) {
  if (!link.path && prepare_path(link) != 0) return;  // it will ask again
  const bool another = datagram.target != 0 && link.target && link.target->qp_num != datagram.target;
  if ((!link.target || another) && link.failure == OMPL_OK) {
    link.target = datagram.target == 0 ? make_xrc_target(shared_, route_of(link, datagram))
                                       : open_xrc_target(shared_, datagram.target);
    link.partner = datagram.queue_pair;
  }
  const bool good = link.target && link.partner == datagram.queue_pair && link.failure == OMPL_OK;
  send(link, good ? HandshakeStep::reply : HandshakeStep::refuse);
  if (good && link.state == QueuePairLink::State::idle) begin(link);
}

void Connections::replied_xrc(QueuePairLink& link, const Datagram& datagram) {
  if (link.state != QueuePairLink::State::requested) return;
  XrcInitiator& initiator = initiator_of(link);
  if (initiator.target == 0) {
    ibv_qp* const pair = initiator.pair.get();
    int error = to_receive(shared_, pair, route_of(link, datagram));
    if (error == 0) error = to_send(shared_, pair, initiator.first_packet);
    if (error != 0)
      return fail(link, OMPL_ERR_LINK, in_words([error] {
                    return fmt::format("its queue pair cannot send: {}", error_text(error));
                  }));
    initiator.target = datagram.queue_pair;
    for (const auto& other : links_.all()) {  // those that wait for it
      if (other.get() != &link && other->initiator == &initiator &&
          other->state == QueuePairLink::State::requested)
        send(*other, HandshakeStep::request);
    }
  }
  if (datagram.queue_pair == initiator.target) go_up(link);  // else it has not heard of that one yet
}

// --- What is shared ------------------------------------------------------------------------------------

// Without memory for a link this rank makes its own when it next sends there; of a goodbye it then does not know.
void Connections::greeted(uint32_t rank, uint32_t slot) noexcept {
  if (!knows(rank, slot) || links_.find(rank, slot) != nullptr) return;
  try {
    QueuePairLink& link = add_from(rank, slot);
    link.introduced = true;
    begin(link);
  } catch (const std::bad_alloc&) {
  }
}

void Connections::parted(uint32_t rank, uint32_t slot) {
  QueuePairLink* const link = knows(rank, slot) ? links_.find(rank, slot) : nullptr;
  if (link != nullptr) said_goodbye(*link);
}

bool Connections::borrows(QueuePairLink& link, uint64_t requests) {
  if (!link.sends()) return false;
  if (const int error = shared_.transport == Transport::dc ? resources_.dc.lend(link) : 0; error != 0) {
    fail(link, OMPL_ERR_LINK, in_words([error] {
           return fmt::format("a broken initiator cannot be used again: {}", error_text(error));
         }));
    return false;
  }
  if (link.initiator == nullptr) return false;
  if (link.initiator->broken) {
    broke(link, "the queue pair to all ranks of its node broke");
    return false;
  }
  return link.initiator->outstanding + requests <= kSends;
}

}  // namespace ompl::conduit::verbs
