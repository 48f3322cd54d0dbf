// SPDX-License-Identifier: BSD-3-Clause
// MPI's collectives, blocking and nonblocking: by the layer where the communicator has a team and the reduction is one of the
// layer's, else by MPI. Each of these conditions holds at all members or at none.
#include <algorithm>
#include <utility>

#include "requests.hpp"
#include "teams.hpp"

namespace ompl::mpi_collectives {
namespace {

constexpr int kPassOn = -1;  // no code of MPI's

ompl_team* team(const Call& call) { return team_of(call.comm); }

uint32_t rank_in(const Call& call) { return static_cast<uint32_t>(ompl_team_rank(team(call))); }
int64_t size_of(const Call& call) { return ompl_team_size(team(call)); }
bool is_member(const Call& call, int root) { return root >= 0 && root < size_of(call); }

void* in_place_or(const void* send, const void* bytes) {
  return send == MPI_IN_PLACE ? OMPL_IN_PLACE : memory(bytes);
}

// `start(&request)` begins the collective.
template <class Start>
int serve(const Call& call, Staging staging, Start start) {
  ompl_request* request = nullptr;
  if (const int code = start(&request); code != OMPL_OK)
    return fail(call.comm, name_of(call.function), code);
  return complete(call, request, std::move(staging));
}

int barrier(const Call& call) {
  return serve(call, Staging(call.comm),
               [&](ompl_request** r) { return ompl_team_barrier(team(call), nullptr, r); });
}

int bcast(const Call& call, void* buffer, int count, MPI_Datatype type, int root) {
  if (count < 0 || !is_member(call, root)) return kPassOn;
  Staging staging(call.comm);
  const auto from = static_cast<uint32_t>(root);
  void* const data = rank_in(call) == from ? const_cast<void*>(staging.read(buffer, count, type))
                                           : staging.write(buffer, count, type);
  const std::size_t length = Staging::bytes(count, type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_broadcast(team(call), data, length, from, nullptr, r);
  });
}

int reduce(const Call& call, const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
           int root) {
  const auto how = reduction(type, op);
  if (count < 0 || !how || !is_member(call, root)) return kPassOn;
  return serve(call, Staging(call.comm), [&](ompl_request** r) {
    return ompl_reduce(team(call), in_place_or(send, send), memory(receive),
                       static_cast<std::size_t>(count), how->type, how->op, static_cast<uint32_t>(root),
                       nullptr, r);
  });
}

using ForAll = int (*)(ompl_team*, const void*, void*, std::size_t, int32_t, int32_t,
                       const ompl_coll_options*, ompl_request**);

// Reductions of whose results every member gets some.
int reduce_for_all(const Call& call, ForAll collective, const void* send, void* receive, int count,
                   MPI_Datatype type, MPI_Op op) {
  const auto how = reduction(type, op);
  if (count < 0 || !how) return kPassOn;
  return serve(call, Staging(call.comm), [&](ompl_request** r) {
    return collective(team(call), in_place_or(send, send), memory(receive),
                      static_cast<std::size_t>(count), how->type, how->op, nullptr, r);
  });
}

int allreduce(const Call& call, const void* send, void* receive, int count, MPI_Datatype type,
              MPI_Op op) {
  return reduce_for_all(call, ompl_allreduce, send, receive, count, type, op);
}

int scan(const Call& call, const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op) {
  return reduce_for_all(call, ompl_scan, send, receive, count, type, op);
}

int exscan(const Call& call, const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op) {
  return reduce_for_all(call, ompl_exscan, send, receive, count, type, op);
}

int reduce_scatter_block(const Call& call, const void* send, void* receive, int count,
                         MPI_Datatype type, MPI_Op op) {
  return reduce_for_all(call, ompl_reduce_scatter, send, receive, count, type, op);
}

int reduce_scatter(const Call& call, const void* send, void* receive, const int counts[],
                   MPI_Datatype type, MPI_Op op) {
  if (std::any_of(counts, counts + size_of(call), [=](int count) { return count != counts[0]; }))
    return kPassOn;
  return reduce_for_all(call, ompl_reduce_scatter, send, receive, counts[0], type, op);
}

int gather(const Call& call, const void* send, int send_count, MPI_Datatype send_type, void* receive,
           int count, MPI_Datatype type, int root) {
  if (!is_member(call, root)) return kPassOn;
  Staging staging(call.comm);
  const auto to = static_cast<uint32_t>(root);
  const bool in_place = send == MPI_IN_PLACE;
  void* data = nullptr;
  if (rank_in(call) == to) data = staging.write(receive, count * size_of(call), type, in_place);
  const void* const mine = in_place ? send : staging.read(send, send_count, send_type);
  const std::size_t length =
      in_place ? Staging::bytes(count, type) : Staging::bytes(send_count, send_type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_gather(team(call), in_place_or(send, mine), data, length, to, nullptr, r);
  });
}

int gatherv(const Call& call, const void* send, int send_count, MPI_Datatype send_type, void* receive,
            const int counts[], const int displacements[], MPI_Datatype type, int root) {
  if (!is_member(call, root)) return kPassOn;
  Staging staging(call.comm);
  const auto to = static_cast<uint32_t>(root);
  const bool in_place = send == MPI_IN_PLACE;
  Staging::Pieces all;
  if (rank_in(call) == to) all = staging.write(receive, counts, displacements, type, in_place);
  const void* const mine = in_place ? send : staging.read(send, send_count, send_type);
  const std::size_t length = in_place ? all.lengths[to] : Staging::bytes(send_count, send_type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_gatherv(team(call), in_place_or(send, mine), length, all.data, all.lengths.data(),
                        all.offsets.data(), to, nullptr, r);
  });
}

int scatter(const Call& call, const void* send, int count, MPI_Datatype type, void* receive,
            int receive_count, MPI_Datatype receive_type, int root) {
  if (!is_member(call, root)) return kPassOn;
  Staging staging(call.comm);
  const auto from = static_cast<uint32_t>(root);
  const bool in_place = receive == MPI_IN_PLACE;
  const void* data = nullptr;
  if (rank_in(call) == from) data = staging.read(send, count * size_of(call), type);
  void* const mine = in_place ? receive : staging.write(receive, receive_count, receive_type);
  const std::size_t length =
      in_place ? Staging::bytes(count, type) : Staging::bytes(receive_count, receive_type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_scatter(team(call), data, in_place_or(receive, mine), length, from, nullptr, r);
  });
}

int scatterv(const Call& call, const void* send, const int counts[], const int displacements[],
             MPI_Datatype type, void* receive, int receive_count, MPI_Datatype receive_type, int root) {
  if (!is_member(call, root)) return kPassOn;
  Staging staging(call.comm);
  const auto from = static_cast<uint32_t>(root);
  const bool in_place = receive == MPI_IN_PLACE;
  Staging::Pieces all;
  if (rank_in(call) == from) all = staging.read(send, counts, displacements, type);
  void* const mine = in_place ? receive : staging.write(receive, receive_count, receive_type);
  const std::size_t length = in_place ? all.lengths[from] : Staging::bytes(receive_count, receive_type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_scatterv(team(call), all.data, all.lengths.data(), all.offsets.data(),
                         in_place_or(receive, mine), length, from, nullptr, r);
  });
}

int allgather(const Call& call, const void* send, int send_count, MPI_Datatype send_type, void* receive,
              int count, MPI_Datatype type) {
  Staging staging(call.comm);
  const bool in_place = send == MPI_IN_PLACE;
  void* const data = staging.write(receive, count * size_of(call), type, in_place);
  const void* const mine = in_place ? send : staging.read(send, send_count, send_type);
  const std::size_t length = Staging::bytes(count, type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_allgather(team(call), in_place_or(send, mine), data, length, nullptr, r);
  });
}

int allgatherv(const Call& call, const void* send, int send_count, MPI_Datatype send_type,
               void* receive, const int counts[], const int displacements[], MPI_Datatype type) {
  Staging staging(call.comm);
  const bool in_place = send == MPI_IN_PLACE;
  const Staging::Pieces all = staging.write(receive, counts, displacements, type, in_place);
  const void* const mine = in_place ? send : staging.read(send, send_count, send_type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_allgatherv(team(call), in_place_or(send, mine), all.data, all.lengths.data(),
                           all.offsets.data(), nullptr, r);
  });
}

int alltoall(const Call& call, const void* send, int send_count, MPI_Datatype send_type, void* receive,
             int count, MPI_Datatype type) {
  Staging staging(call.comm);
  const int64_t size = size_of(call);
  const bool in_place = send == MPI_IN_PLACE;
  void* const data = staging.write(receive, count * size, type, in_place);
  const void* const mine = in_place ? send : staging.read(send, send_count * size, send_type);
  const std::size_t length = Staging::bytes(count, type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_alltoall(team(call), in_place_or(send, mine), data, length, nullptr, r);
  });
}

int alltoallv(const Call& call, const void* send, const int send_counts[],
              const int send_displacements[], MPI_Datatype send_type, void* receive, const int counts[],
              const int displacements[], MPI_Datatype type) {
  Staging staging(call.comm);
  const bool in_place = send == MPI_IN_PLACE;
  const Staging::Pieces all = staging.write(receive, counts, displacements, type, in_place);
  const Staging::Pieces mine =
      in_place ? all : staging.read(send, send_counts, send_displacements, send_type);
  return serve(call, std::move(staging), [&](ompl_request** r) {
    return ompl_alltoallv(team(call), in_place_or(send, mine.data), mine.lengths.data(),
                          mine.offsets.data(), all.data, all.lengths.data(), all.offsets.data(),
                          nullptr, r);
  });
}

// By the layer, if the communicator has a team and `served` can; else nothing happens, and MPI is to.
template <class... Types, class... Arguments>
int try_to_serve(Function function, MPI_Comm comm, MPI_Request* request,
                 int (*served)(const Call&, Types...), Arguments... arguments) {
  const Call call{comm, function, request};
  const int code = team(call) != nullptr ? served(call, arguments...) : kPassOn;
  statistics().count(function, code != kPassOn);
  return code;
}

}  // namespace
}  // namespace ompl::mpi_collectives

using namespace ompl::
    mpi_collectives;  // NOLINT(google-build-using-namespace): the functions below are MPI's

#define LIST(...) __VA_ARGS__

// MPI_NAME and MPI_INAME, whose parameters differ by the request alone.
#define COLLECTIVE(Name, Iname, name, parameters, arguments)                             \
  int MPI_##Name(LIST parameters, MPI_Comm comm) {                                       \
    const int code = try_to_serve(Function::name, comm, nullptr, &name, LIST arguments); \
    return code != kPassOn ? code : PMPI_##Name(LIST arguments, comm);                   \
  }                                                                                      \
  int MPI_##Iname(LIST parameters, MPI_Comm comm, MPI_Request* request) {                \
    const int code = try_to_serve(Function::name, comm, request, &name, LIST arguments); \
    return code != kPassOn ? code : PMPI_##Iname(LIST arguments, comm, request);         \
  }

extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  const int code = try_to_serve(Function::barrier, comm, nullptr, &barrier);
  return code != kPassOn ? code : PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  const int code = try_to_serve(Function::barrier, comm, request, &barrier);
  return code != kPassOn ? code : PMPI_Ibarrier(comm, request);
}

COLLECTIVE(Bcast, Ibcast, bcast, (void* buffer, int count, MPI_Datatype type, int root),
           (buffer, count, type, root))

COLLECTIVE(Reduce, Ireduce, reduce,
           (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root),
           (send, receive, count, type, op, root))

// Those of whose results every member gets some.
#define REDUCTION(Name, Iname, name)                                                     \
  COLLECTIVE(Name, Iname, name,                                                          \
             (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op), \
             (send, receive, count, type, op))
REDUCTION(Allreduce, Iallreduce, allreduce)
REDUCTION(Scan, Iscan, scan)
REDUCTION(Exscan, Iexscan, exscan)
REDUCTION(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block)

COLLECTIVE(Reduce_scatter, Ireduce_scatter, reduce_scatter,
           (const void* send, void* receive, const int counts[], MPI_Datatype type, MPI_Op op),
           (send, receive, counts, type, op))

COLLECTIVE(Gather, Igather, gather,
           (const void* send, int send_count, MPI_Datatype send_type, void* receive, int count,
            MPI_Datatype type, int root),
           (send, send_count, send_type, receive, count, type, root))

COLLECTIVE(Gatherv, Igatherv, gatherv,
           (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int counts[],
            const int displacements[], MPI_Datatype type, int root),
           (send, send_count, send_type, receive, counts, displacements, type, root))

COLLECTIVE(Scatter, Iscatter, scatter,
           (const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
            MPI_Datatype receive_type, int root),
           (send, count, type, receive, receive_count, receive_type, root))

COLLECTIVE(Scatterv, Iscatterv, scatterv,
           (const void* send, const int counts[], const int displacements[], MPI_Datatype type,
            void* receive, int receive_count, MPI_Datatype receive_type, int root),
           (send, counts, displacements, type, receive, receive_count, receive_type, root))

COLLECTIVE(Allgather, Iallgather, allgather,
           (const void* send, int send_count, MPI_Datatype send_type, void* receive, int count,
            MPI_Datatype type),
           (send, send_count, send_type, receive, count, type))

COLLECTIVE(Allgatherv, Iallgatherv, allgatherv,
           (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int counts[],
            const int displacements[], MPI_Datatype type),
           (send, send_count, send_type, receive, counts, displacements, type))

COLLECTIVE(Alltoall, Ialltoall, alltoall,
           (const void* send, int send_count, MPI_Datatype send_type, void* receive, int count,
            MPI_Datatype type),
           (send, send_count, send_type, receive, count, type))

COLLECTIVE(Alltoallv, Ialltoallv, alltoallv,
           (const void* send, const int send_counts[], const int send_displacements[],
            MPI_Datatype send_type, void* receive, const int counts[], const int displacements[],
            MPI_Datatype type),
           (send, send_counts, send_displacements, send_type, receive, counts, displacements, type))

}  // extern "C"
