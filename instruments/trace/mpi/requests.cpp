// SPDX-License-Identifier: BSD-3-Clause
// Requests and their completion.

#include <algorithm>

#include "call.hpp"
#include "writer/handles.hpp"

namespace ompl::trace {

namespace {

// Matched messages (MPI_Mprobe) are remembered beside requests, whose handles have no such bit.
constexpr uint64_t kMessage = uint64_t{1} << 63;

bool receives(const Posted& posted) {
  return (posted.flags & (Posted::kReceives | Posted::kSendsToo)) == Posted::kReceives;
}
// Its status is known before: from MPI_PROC_NULL nothing comes.
bool tells_nothing(const Posted& posted) {
  return (!receives(posted) || posted.peer == kProcNull) && (posted.flags & Posted::kToCancel) == 0;
}

}  // namespace

void Call::posted(MPI_Request* request, int flags) {
  if (*request == MPI_REQUEST_NULL) return;
  Posted posted{};
  posted.bytes = record_.bytes;
  posted.where = request;
  posted.thread = &thread_.shared_sends;
  posted.id = record_.request = thread_.request_id();
  posted.peer = record_.peer;
  posted.tag = record_.tag;
  posted.flags = static_cast<uint16_t>(record_.flags | flags);
  if (!tracer.requests.add(key_of(*request), posted, thread_.shared_sends)) tracer.file.count_lost();
}

void Call::started(int n, const MPI_Request* requests) {
  if (n == 1) {
    record_.request = tracer.requests.mark(key_of(requests[0]), Posted::kStarted);
    return;
  }
  auto* const ids =
      static_cast<uint32_t*>(thread_.scratch_of(static_cast<std::size_t>(n) * sizeof(uint32_t)));
  record_.flags |= kSeveral;
  record_.bytes = static_cast<uint64_t>(n);
  if (ids == nullptr) return;
  for (int i = 0; i < n; ++i) ids[i] = tracer.requests.mark(key_of(requests[i]), Posted::kStarted);
  append_ids(ids, static_cast<std::size_t>(n));
}

void Call::to_cancel(const MPI_Request* request) {
  record_.request = tracer.requests.mark(key_of(*request), Posted::kToCancel);
}

void Call::to_free(const MPI_Request* request) {
  Posted posted{};
  if (tracer.requests.remove(key_of(*request), request, thread_.shared_sends, posted))
    record_.request = posted.id;
}

void Call::message_found(const MPI_Message* message, MPI_Comm comm) {
  if ((record_.flags & kCompleted) == 0 && record_.kind == Kind::kImprobe) return;
  if (*message == MPI_MESSAGE_NO_PROC) return;
  Posted posted{};
  posted.id = comm_info(comm).id;
  posted.flags = record_.flags & (kAskedAnySource | kAskedAnyTag);
  posted.peer = record_.peer;
  posted.tag = record_.tag;
  tracer.requests.add(key_of(*message) | kMessage, posted, thread_.shared_sends);
}

void Call::message_taken(const MPI_Message* message) {
  Posted posted{};
  const uint64_t handle = key_of(*message) | kMessage;
  if (!tracer.requests.remove(handle, nullptr, thread_.shared_sends, posted)) {
    record_.peer = kProcNull;
    return;
  }
  record_.comm = posted.id;
  record_.peer = posted.peer;
  record_.tag = posted.tag;
  record_.flags |= posted.flags;
}

void Call::made_like(MPI_Comm parent, MPI_Comm made) {
  if (made != MPI_COMM_NULL)
    record_.tag = static_cast<int32_t>(define_comm_like(parent, made, record_.kind));
}

void Call::hold(int n, MPI_Request* requests) {
  requests_ = requests;
  held_ = &one_held_;
  held_statuses_ = &own_status_;
  if (n > 1) {
    const auto count = static_cast<std::size_t>(n);
    auto* const at = static_cast<std::byte*>(
        thread_.scratch_of(count * (sizeof(Held) + sizeof(MPI_Status) + sizeof(uint32_t))));
    if (at == nullptr) {
      held_statuses_ = MPI_STATUSES_IGNORE;
      return;
    }
    held_ = reinterpret_cast<Held*>(at);
    held_statuses_ = reinterpret_cast<MPI_Status*>(held_ + count);
    ids_ = reinterpret_cast<uint32_t*>(held_statuses_ + count);
  }
  held_count_ = n;
  for (int i = 0; i < n; ++i) {
    held_[i].handle = requests[i] == MPI_REQUEST_NULL ? kNoHandle : key_of(requests[i]);
    held_[i].posted.id = 0;
  }
  // Once MPI has completed a request another thread may get its handle: what is known of it is taken before.
  if (tracer.file.header().thread_level == 3) take_all();
}

bool Call::holds_nothing() const {
  return std::all_of(held_, held_ + held_count_,
                     [](const Held& held) { return held.handle == kNoHandle; });
}

void Call::take(int i) {
  Held& held = held_[i];
  const bool known =
      held.handle != kNoHandle &&
      tracer.requests.take(held.handle, requests_ + i, thread_.shared_sends, held.posted);
  if (!known) held.posted.id = 0;
}

void Call::take_all() {
  if (taken_) return;
  taken_ = true;
  for (int i = 0; i < held_count_; ++i) take(i);
}

// After completed() of those that are complete, whose ids it has set to 0.
void Call::put_back() {
  if (!taken_) return;
  for (int i = 0; i < held_count_; ++i) {
    const Held& held = held_[i];
    if (held.posted.id == 0) continue;
    if ((held.posted.flags & Posted::kPersistent) != 0) {
      tracer.requests.mark(held.handle, Posted::kStarted);
    } else {
      tracer.requests.add(held.handle, held.posted, thread_.shared_sends);
    }
  }
}

void Call::completed(int i, const MPI_Status& status, Record& record) {
  const Posted& posted = held_[i].posted;
  record.request = posted.id;
  if (posted.id == 0) return;
  if (receives(posted)) {
    fill(record, status);
    record.flags |= posted.flags & (kAskedAnySource | kAskedAnyTag);
  }
  if ((posted.flags & Posted::kToCancel) != 0) {
    int cancelled = 0;
    OMPL_REAL(PMPI_Test_cancelled)(&status, &cancelled);
    if (cancelled != 0) record.flags |= kCancelled;
  }
  held_[i].posted.id = 0;
}

void Call::completed_any(int index, const MPI_Status* status) {
  if (index != MPI_UNDEFINED && index < held_count_) {
    if (!taken_) take(index);
    completed(index, *status, record_);
    record_.flags |= kCompleted;
  }
  put_back();
}

void Call::completed_all(const MPI_Status* statuses) {
  completed_several(held_count_, nullptr, statuses);
}

void Call::completed_some(int n, const int* indices, const MPI_Status* statuses) {
  if (n != MPI_UNDEFINED) completed_several(n, indices, statuses);
  put_back();
}

void Call::completed_several(int n, const int* indices, const MPI_Status* statuses) {
  if (n <= 0 || held_count_ == 0) return;
  if (is_test(record_.kind) && holds_nothing())
    return;  // of null requests: they say yes again and again
  record_.flags |= kCompleted;
  if (!taken_) {
    for (int i = 0; i < n; ++i) take(indices != nullptr ? indices[i] : i);
  }
  if (n == 1) return completed(indices != nullptr ? indices[0] : 0, statuses[0], record_);
  record_.flags |= kSeveral;
  record_.bytes = static_cast<uint64_t>(n);
  std::size_t plain = 0;
  for (int i = 0; i < n; ++i) {
    const int at = indices != nullptr ? indices[i] : i;
    const Posted posted = held_[at].posted;
    if (posted.id == 0 || tells_nothing(posted)) {
      ids_[plain++] = posted.id;
      held_[at].posted.id = 0;
      continue;
    }
    Record match = side(Kind::kMatch);
    completed(at, statuses[i], match);
    const bool as_asked =
        match.bytes == posted.bytes && match.peer == posted.peer && match.tag == posted.tag;
    if ((receives(posted) && !as_asked) || (match.flags & kCancelled) != 0) {
      append(match);
    } else {
      ids_[plain++] = posted.id;
    }
  }
  append_ids(ids_, plain);
}

void Call::append_ids(const uint32_t* ids, std::size_t n) {
  in_parts<Ids>(
      n, [&](std::size_t i) { return ids[i]; }, [this](const Ids& part) { append(part); });
}

void Call::group_ranks(MPI_Group group, MPI_Win window) {
  int size = 0;
  OMPL_REAL(PMPI_Group_size)(group, &size);
  MPI_Group of_window = MPI_GROUP_NULL;
  const auto count = static_cast<std::size_t>(size);
  auto* const ranks = static_cast<int*>(thread_.scratch_of(2 * count * sizeof(int)));
  if (size == 0 || ranks == nullptr) return;
  OMPL_REAL(PMPI_Win_get_group)(window, &of_window);
  for (int i = 0; i < size; ++i) ranks[i] = i;
  OMPL_REAL(PMPI_Group_translate_ranks)(group, size, ranks, of_window, ranks + count);
  OMPL_REAL(PMPI_Group_free)(&of_window);
  append_ids(reinterpret_cast<uint32_t*>(ranks + count), count);
}

}  // namespace ompl::trace
