// SPDX-License-Identifier: BSD-3-Clause
// The rest of the endpoint: notices of what was posted, and the records of others.
#include <algorithm>
#include <cstring>

#include "conduit/utofu/endpoint.hpp"
#include "util/status.hpp"

namespace ompl::conduit::utofu {

int UtofuEndpoint::progress(Sink& sink, int budget) {
  int taken = 0;
  if (operations_.outstanding() > 0 || operations_.unnoticed() > 0) {
    if (awaited_.load(std::memory_order_relaxed)) {
      awaited_.store(false, std::memory_order_relaxed);
      connections_.settle();
    }
    taken = take_notices(budget);
    if (taken < 0) return taken;
    take_reports();
  } else if (connections_.refused()) {
    take_reports();
  }
  taken += take_records(sink, budget - taken);
  return taken + connections_.progress();
}

// Of the message receive queue: what has reached the other side, or could not.
int UtofuEndpoint::take_notices(int budget) {
  int taken = 0;
  for (; taken < budget; ++taken) {
    utofu_mrq_notice notice;
    const int code = library_.poll_mrq(handle_, 0, &notice);
    if (code == UTOFU_ERR_NOT_FOUND) break;
    VcqOperation& operation = operations_.at(notice.edata);
    VcqLink* const link = operation.link;
    const bool matches = link != nullptr && link->vcq == notice.vcq_id;
    if (code == UTOFU_SUCCESS && matches && !operation.holds && operation.ticket != 0) [[likely]] {
      link->window.complete(operation.first, operation.ticket);
      operations_.give_back(operation);
      if (link->departed) [[unlikely]]
        connections_.part_if_idle(*link);
      continue;
    }
    if (code != UTOFU_SUCCESS && (code > UTOFU_ERR_MRQ_OTHER || code < UTOFU_ERR_MRQ_RMT_LENGTH))
      return fail(OMPL_ERR_LINK, "uTofu's message receive queue is broken: {} ({})", text_of(code),
                  code);
    // An error may also be of a command without an operation, whose notice names operation 0.
    if (code != UTOFU_SUCCESS) connections_.lost(notice.vcq_id, code);
    if (!matches) continue;
    if (code == UTOFU_SUCCESS) {
      const bool is_awaited = link->failure == OMPL_OK;  // else its memory is the caller's again
      if (operation.bounce != VcqOperation::kNoBounce && operation.target != nullptr && is_awaited)
        std::memcpy(operation.target, bounce_pages_.data() + operation.bounce * kBounce,
                    operation.length);
      if (operation.ticket == 0) connections_.placed(*link, notice.rmt_value);
      link->window.complete(operation.first, operation.ticket);
    }
    release(operation);
    connections_.part_if_idle(*link);
  }
  return taken;
}

// Of the transmit completion queue: nothing is asked to be reported there but errors of this side. Taking them gives the
// queue's room back.
void UtofuEndpoint::take_reports() {
  void* of = nullptr;
  int code = UTOFU_SUCCESS;
  while ((code = library_.poll_tcq(handle_, 0, &of)) != UTOFU_ERR_NOT_FOUND) {
    if (code == UTOFU_SUCCESS || of == nullptr) continue;
    const auto value = reinterpret_cast<uintptr_t>(of);
    if ((value & 1) != 0) {
      connections_.lost(*reinterpret_cast<VcqLink*>(value - 1), code);
      continue;
    }
    auto& operation = *static_cast<VcqOperation*>(of);
    if (operation.link == nullptr) continue;
    connections_.lost(*operation.link, code);
    release(operation);
  }
}

int UtofuEndpoint::take_records(Sink& sink, int budget) {
  int taken = 0;
  const auto& all = connections_.incoming();
  const std::size_t count = all.size();
  if (count == 0) return 0;
  if (next_incoming_ >= count) next_incoming_ = 0;
  const std::size_t first = next_incoming_++;  // no ring goes short when the budget ends
  for (std::size_t i = 0; i < count; ++i) {
    Incoming& from = *all[first + i < count ? first + i : first + i - count];
    for (; taken < budget; ++taken) {
      Record& next = from.ring[from.taken % kRing];
      const uint64_t tail = std::atomic_ref(next.tail).load(std::memory_order_acquire);
      if (!Record::is_numbered(tail, from.taken + 1)) break;
      const Record record = next;
      ++from.taken;
      if (!deliver(sink, from, record)) break;
    }
    if (from.taken - from.told >= kRing / 2) connections_.tell(from);
  }
  return taken;
}

// False: it was the last one.
bool UtofuEndpoint::deliver(Sink& sink, Incoming& from, const Record& record) {
  if (record.op() == kGoodbye) {
    connections_.said_goodbye(from.rank);
    return false;
  }
  if (record.op() == kCompare) {
    from.compare = record.value;
    return true;
  }
  sink.signal(from.rank, {.offset = record.offset,
                          .value = record.value,
                          .compare = record.compares() ? from.compare : 0,
                          .token = record.token,
                          .op = static_cast<SignalOp>(record.op()),
                          .function = record.function()});
  return true;
}

}  // namespace ompl::conduit::utofu
