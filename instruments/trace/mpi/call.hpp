// SPDX-License-Identifier: BSD-3-Clause
// One call of MPI while it is recorded. What calls.table says of a function are calls of these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format.hpp"
#include "mpi.hpp"
#include "names.hpp"
#include "writer/tracer.hpp"

namespace ompl::trace {

inline int32_t peer_of(int rank) {
  if (rank >= 0) return rank;
  if (rank == MPI_ANY_SOURCE) return kAnySource;
  if (rank == MPI_PROC_NULL) return kProcNull;
  return rank == MPI_ROOT ? kIntercommRoot : kNoPeer;
}
inline int32_t tag_of(int tag) { return tag == MPI_ANY_TAG ? kAnyTag : tag; }

template <typename Count>
uint64_t bytes_of(Count n, MPI_Datatype type) {
  if (n <= 0 || type == MPI_DATATYPE_NULL) return 0;
  if (const uint32_t* const known = own_types.find(key_of(type)))
    return static_cast<uint64_t>(n) * *known;
  if constexpr (sizeof(Count) > sizeof(int)) {
    MPI_Count size = 0;
    OMPL_REAL(PMPI_Type_size_x)(type, &size);
    return static_cast<uint64_t>(n) * static_cast<uint64_t>(size);
  } else {
    int size = 0;
    OMPL_REAL(PMPI_Type_size)(type, &size);
    return static_cast<uint64_t>(n) * static_cast<uint64_t>(size);
  }
}

class Call {
 public:
  Call(Thread& thread, Kind kind, void* caller) : thread_(thread) {
    Local& local = ompl_trace_local;
    record_.kind = kind;
    record_.peer = kNoPeer;
    if (local.fortran_site != 0) {
      record_.flags = kFortran;
      caller = reinterpret_cast<void*>(local.fortran_site);
      local.fortran_site = 0;
    }
    record_.site = thread.site_id(reinterpret_cast<uintptr_t>(caller));
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Around MPI's own function.
  void begin() { begin_ = tracer.clock.ticks(); }
  void end(int code) {
    end_ = tracer.clock.ticks();
    if (code != MPI_SUCCESS) record_.flags |= kFailed;
  }
  // Last of all.
  void finish() {
    write();
    if (took_long_) thread_.stream.record_tracer(end_);
    thread_.stream.settle();
    ompl_trace_local.depth = 0;
  }

  // Messages.
  template <typename Count>
  void message(int peer, int tag, MPI_Comm comm, Count n, MPI_Datatype type) {
    record_.peer = peer_of(peer);
    record_.tag = tag_of(tag);
    record_.comm = comm_info(comm).id;
    record_.bytes = bytes_of(n, type);
  }
  template <typename Count>
  void receive(int peer, int tag, MPI_Comm comm, Count n, MPI_Datatype type) {
    message(peer, tag, comm, n, type);
    record_.flags |= wildcards(peer, tag);
  }
  void matched(const MPI_Status* status) { fill(record_, *status); }
  void matched_if(bool found, const MPI_Status* status) {
    if (!found) return;
    record_.flags |= kCompleted;
    matched(status);
  }
  void also_received(int peer, int tag, const MPI_Status* status) {
    Record match = side(Kind::kMatch);
    match.comm = record_.comm;
    match.flags = wildcards(peer, tag);
    fill(match, *status);
    append(match);
  }
  void message_found(const MPI_Message* message, MPI_Comm comm);
  void message_taken(const MPI_Message* message);
  template <typename Count>
  void most(Count n, MPI_Datatype type) {
    record_.bytes = bytes_of(n, type);
  }

  // Requests.
  void posted(MPI_Request* request, int flags = 0);
  template <typename Count>
  void posted_both(MPI_Request* request, int peer, int tag, Count n, MPI_Datatype type) {
    posted(request, Posted::kReceives | Posted::kSendsToo);
    Record match = side(Kind::kMatch);
    match.comm = record_.comm;
    match.peer = peer_of(peer);
    match.tag = tag_of(tag);
    match.flags = wildcards(peer, tag);
    match.bytes = bytes_of(n, type);
    append(match);
  }
  void started(int n, const MPI_Request* requests);
  void of_request(MPI_Request request) { record_.request = tracer.requests.mark(key_of(request), 0); }
  void to_cancel(const MPI_Request* request);
  void to_free(const MPI_Request* request);

  // Completions: before the call hold_all() if it completes all, else hold(); then statuses as MPI shall fill them;
  // completed_... after it.
  void hold_all(int n, MPI_Request* requests) {
    hold(n, requests);
    take_all();
  }
  void hold(int n, MPI_Request* requests);
  MPI_Status* status(MPI_Status* asked) { return asked == MPI_STATUS_IGNORE ? &own_status_ : asked; }
  MPI_Status* statuses(MPI_Status* asked) {
    return asked == MPI_STATUSES_IGNORE ? held_statuses_ : asked;
  }
  void completed_all(const MPI_Status* statuses);
  void completed_all_if(bool flag, const MPI_Status* statuses) {
    flag ? completed_all(statuses) : put_back();
  }
  void completed_any(int index, const MPI_Status* status);
  void completed_any_if(bool flag, int index, const MPI_Status* status) {
    flag ? completed_any(index, status) : put_back();
  }
  void completed_some(int n, const int* indices, const MPI_Status* statuses);
  void found(bool flag) { record_.flags |= flag ? kCompleted : 0; }

  // Collectives. What is sent is `bytes`; an MPI_IN_PLACE sender's is described by the receiving arguments.
  void collective(MPI_Comm comm) {
    comm_ = &comm_info(comm);
    record_.comm = comm_->id;
    peers_to_ = peers_from_ = comm_->size;
  }
  void collective(MPI_Comm comm, int root) {
    collective(comm);
    record_.peer = peer_of(root);
    root_ = root == comm_->rank || root == MPI_ROOT;
  }
  void neighbours(MPI_Comm comm) {
    collective(comm);
    peers_from_ = comm_->sources;
    peers_to_ = comm_->destinations;
  }
  void in_place(const void* buffer) {
    if (buffer == MPI_IN_PLACE) record_.flags |= kInPlace;
  }
  template <typename Count>
  void vector(Count n, MPI_Datatype type) {
    if (record_.peer != kProcNull) record_.bytes = bytes_of(n, type);
  }
  template <typename Count>
  void vector_unless_in_place(Count n, MPI_Datatype type) {
    if (!is_in_place()) vector(n, type);
  }
  template <typename Count>
  void block(Count n, MPI_Datatype type, Count rn, MPI_Datatype rtype) {
    is_in_place() ? vector(rn, rtype) : vector(n, type);
  }
  // The first pair counts at the root, the second elsewhere.
  template <typename Count>
  void block_at_root(Count n, MPI_Datatype type, Count other_n, MPI_Datatype other_type) {
    root_ ? vector(n, type) : vector(other_n, other_type);
  }
  template <typename Count>
  void own_part(Count n, MPI_Datatype type, const Count* rns, MPI_Datatype rtype) {
    is_in_place() ? vector(rns[comm_->rank], rtype) : vector(n, type);
  }
  template <typename Count, typename Types>
  void total(const Count* ns, Types types, const Count* rns, Types rtypes) {
    if (is_in_place()) {
      for (int i = 0; i < peers_to_; ++i) record_.bytes += bytes_of(rns[i], type_at(rtypes, i));
    } else {
      for (int i = 0; i < peers_to_; ++i) record_.bytes += bytes_of(ns[i], type_at(types, i));
    }
  }
  template <typename Count>
  void total_at_root(const Count* ns, MPI_Datatype type) {
    if (root_) total(ns, type, ns, type);
  }
  template <typename Count, typename Types>
  void counts(bool received, const Count* ns, Types types) {
    const int peers = received ? peers_from_ : peers_to_;
    in_parts<Counts>(
        static_cast<std::size_t>(peers),
        [&](std::size_t i) { return bytes_of(ns[i], type_at(types, static_cast<int>(i))); },
        [&](Counts& part) {
          part.received = received ? 1 : 0;
          append(part);
        });
  }
  template <typename Count, typename Types>
  void counts_unless_in_place(const Count* ns, Types types) {
    if (!is_in_place()) counts(false, ns, types);
  }
  template <typename Count>
  void counts_at_root(bool received, const Count* ns, MPI_Datatype type) {
    if (root_) counts(received, ns, type);
  }

  // Communicators.
  void made_from(MPI_Comm parent, MPI_Comm made, int tag = 0) {
    if (made == MPI_COMM_NULL) return;
    took_long_ = true;
    record_.request = define_comm(made, &comm_info(parent), record_.kind, tag);
  }
  void made_between(MPI_Comm made, int tag) {
    took_long_ = true;
    record_.request = define_comm(made, nullptr, record_.kind, tag);
  }
  void made_like(MPI_Comm parent, MPI_Comm made);
  void unmade(MPI_Comm comm) { forget_comm(comm); }

  // One-sided.
  template <typename Count>
  void access(int target, MPI_Win window, Count n, MPI_Datatype type) {
    epoch(window, target);
    record_.bytes = bytes_of(n, type);
  }
  void epoch(MPI_Win window) { record_.comm = window_id(window); }
  void epoch(MPI_Win window, int target) {
    epoch(window);
    record_.peer = peer_of(target);
  }
  template <typename Size>
  void window(MPI_Comm, MPI_Win made, Size bytes) {
    record_.bytes = static_cast<uint64_t>(bytes);
    record_.request = define_window(made, record_.comm, record_.bytes, record_.kind);
  }
  void window_freed(MPI_Win window) { forget_window(window); }
  void group_ranks(MPI_Group group, MPI_Win window);

  // A function that is not in the table.
  void unknown(const char* name) { record_.request = tracer.define_text(name); }

  Record& record() { return record_; }

 private:
  static uint16_t wildcards(int peer, int tag) {
    return static_cast<uint16_t>((peer == MPI_ANY_SOURCE ? kAskedAnySource : 0) |
                                 (tag == MPI_ANY_TAG ? kAskedAnyTag : 0));
  }
  static MPI_Datatype type_at(MPI_Datatype type, int) { return type; }
  static MPI_Datatype type_at(const MPI_Datatype* types, int i) { return types[i]; }
  bool is_in_place() const { return (record_.flags & kInPlace) != 0; }

  static void fill(Record& record, const MPI_Status& status) {
    int count =
        0;  // MPI_UNDEFINED, which is negative, if it is more than an int holds; quicker than the others
    OMPL_REAL(PMPI_Get_count)(&status, MPI_BYTE, &count);
    MPI_Count bytes = count;
    if (count < 0) OMPL_REAL(PMPI_Get_elements_x)(&status, MPI_BYTE, &bytes);
    record.bytes = bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
    record.peer = peer_of(status.MPI_SOURCE);
    record.tag = tag_of(status.MPI_TAG);
  }

  Record side(Kind kind) {
    Record record{};
    record.kind = kind;
    record.peer = kNoPeer;
    return record;
  }
  void write() {
    if (written_) return;
    written_ = true;
    record_.begin = tracer.clock.ns(begin_);
    record_.end = tracer.clock.ns(end_);
    is_idle() ? thread_.stream.append_idle(record_) : thread_.stream.append(record_);
  }
  static bool is_test(Kind kind) {
    return kind == Kind::kTest || kind == Kind::kTestany || kind == Kind::kTestsome ||
           kind == Kind::kTestall;
  }
  // A test or a probe that found nothing.
  bool is_idle() const {
    const bool looks =
        record_.kind == Kind::kIprobe || record_.kind == Kind::kImprobe || is_test(record_.kind);
    return looks && (record_.flags & (kCompleted | kFailed)) == 0;
  }
  template <typename Side>
  void append(const Side& record) {
    write();
    thread_.stream.append(record);
  }
  void append_ids(const uint32_t* ids, std::size_t n);

  // What is held of one request.
  struct Held {
    uint64_t handle;  // MPI overwrites its own
    Posted posted;    // id 0: not taken, or not known
  };
  bool holds_nothing() const;  // whether no request is there
  void take(int i);
  void take_all();
  void put_back();
  void completed(int i, const MPI_Status& status, Record& record);
  void completed_several(int n, const int* indices, const MPI_Status* statuses);

  Thread& thread_;
  Record record_{};
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  bool written_ = false;
  bool took_long_ = false;  // so that the time after the call is recorded
  bool root_ = false;
  int peers_to_ = 0;
  int peers_from_ = 0;
  const CommInfo* comm_ = nullptr;
  MPI_Status own_status_;
  // Of hold().
  int held_count_ = 0;
  bool taken_ = false;
  MPI_Request* requests_ = nullptr;
  Held one_held_;
  Held* held_ = nullptr;
  uint32_t* ids_ = nullptr;
  MPI_Status* held_statuses_ = nullptr;
};

}  // namespace ompl::trace
