// SPDX-License-Identifier: BSD-3-Clause
// Collectives over coll.h. What is in symmetric memory is given to the layer by the addresses that it knows, so that long data
// go straight there.
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/state.hpp"

namespace shmem_core {
namespace {

// The address by which the segment knows static data.
template <class T>
T* in_segment(T* address) {
  const uint64_t offset = offset_of(address);
  return offset == 0 ? address : static_cast<T*>(own_memory(offset));
}

int32_t long_double_operations[4];  // OMPL_SUM ... OMPL_MAX

template <int kOp>
int combine(const void* in, void* inout, std::size_t count, void* /*unused*/) {
  const auto* const from = static_cast<const long double*>(in);
  auto* const to = static_cast<long double*>(inout);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (kOp == OMPL_SUM) to[i] = from[i] + to[i];
    if constexpr (kOp == OMPL_PROD) to[i] = from[i] * to[i];
    if constexpr (kOp == OMPL_MIN) to[i] = from[i] < to[i] || std::isnan(from[i]) ? from[i] : to[i];
    if constexpr (kOp == OMPL_MAX) to[i] = from[i] > to[i] || std::isnan(from[i]) ? from[i] : to[i];
  }
  return 0;
}

void map_type(int* type, int* op) {
  if (*type != kLongDouble) return;
  *op = long_double_operations[*op];
  *type = OMPL_ELEMENT;
}

// --- The collectives of a team, by codes of the layer

int broadcast(const Team& team, void* dest, const void* source, std::size_t length, int root,
              bool to_root) {
  if (root < 0 || root >= team.size())
    return refuse(OMPL_ERR_RANK, "there is no PE %d in a team of %d", root, team.size());
  if (length == 0) return OMPL_OK;
  const bool mine = root == team.me;
  if (mine && to_root && dest != source) std::memcpy(dest, source, length);
  void* const buffer = mine ? const_cast<void*>(in_segment(source)) : in_segment(dest);
  return ompl_broadcast(team.team, buffer, length, static_cast<uint32_t>(root), nullptr, nullptr);
}

int collect(const Team& team, void* dest, const void* source, std::size_t length) {
  std::vector<std::size_t> lengths(team.members.size());
  const int code = ompl_allgather(team.team, &length, lengths.data(), sizeof length, nullptr, nullptr);
  if (code != OMPL_OK) return code;
  if (std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}) == 0) return OMPL_OK;
  return ompl_allgatherv(team.team, in_segment(source), in_segment(dest), lengths.data(), nullptr,
                         nullptr, nullptr);
}

int fcollect(const Team& team, void* dest, const void* source, std::size_t length) {
  if (length == 0) return OMPL_OK;
  return ompl_allgather(team.team, in_segment(source), in_segment(dest), length, nullptr, nullptr);
}

int alltoall(const Team& team, void* dest, const void* source, std::size_t length) {
  if (length == 0) return OMPL_OK;
  return ompl_alltoall(team.team, in_segment(source), in_segment(dest), length, nullptr, nullptr);
}

// Copies `count` elements between places that are a stride of elements apart.
void copy_strided(char* to, ptrdiff_t to_stride, const char* from, ptrdiff_t from_stride,
                  std::size_t element, std::size_t count) {
  const auto bytes = static_cast<ptrdiff_t>(element);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to, from, element);
    to += to_stride * bytes;
    from += from_stride * bytes;
  }
}

int alltoalls(const Team& team, void* dest, const void* source, const Blocks& shape) {
  if (shape.blocks == 0) return OMPL_OK;
  if (shape.dest_stride == 1 && shape.source_stride == 1)
    return alltoall(team, dest, source, shape.element * shape.blocks);
  const std::size_t elements = shape.blocks * team.members.size();
  const std::unique_ptr<char[]> packed(new char[2 * elements * shape.element]);
  char* const received = packed.get() + elements * shape.element;
  copy_strided(packed.get(), 1, static_cast<const char*>(source), shape.source_stride, shape.element,
               elements);
  const int code =
      ompl_alltoall(team.team, packed.get(), received, shape.element * shape.blocks, nullptr, nullptr);
  if (code != OMPL_OK) return code;
  copy_strided(static_cast<char*>(dest), shape.dest_stride, received, 1, shape.element, elements);
  return OMPL_OK;
}

int reduce(const Team& team, void* dest, const void* source, std::size_t count, int type, int op) {
  if (count == 0) return OMPL_OK;
  map_type(&type, &op);
  const void* const send = source == dest ? OMPL_IN_PLACE : in_segment(source);
  return ompl_allreduce(team.team, send, in_segment(dest), count, type, op, nullptr, nullptr);
}

int scan(const Team& team, void* dest, const void* source, std::size_t count, int type,
         std::size_t element, bool inclusive) {
  if (count == 0) return OMPL_OK;
  int op = OMPL_SUM;
  map_type(&type, &op);
  const void* const send = source == dest ? OMPL_IN_PLACE : in_segment(source);
  void* const receive = in_segment(dest);
  if (inclusive) return ompl_scan(team.team, send, receive, count, type, op, nullptr, nullptr);
  const int code = ompl_exscan(team.team, send, receive, count, type, op, nullptr, nullptr);
  if (code == OMPL_OK && team.me == 0) std::memset(dest, 0, count * element);
  return code;
}

// Calls `collective(team, arguments...)` for a handle.
template <class Collective>
int by_team(shmem_team_t handle, const char* function, Collective collective) {
  const Team* const team = team_of(handle);
  if (team == nullptr) return -1;
  expect(collective(*team), function);
  return 0;
}

template <class Collective>
int by_set(const ActiveSet& set, Collective collective) {
  Team* team = nullptr;
  if (const int code = team_of_set(set, &team); code != OMPL_OK) return code;
  return collective(*team);
}

}  // namespace

int make_operations() {
  const std::array<ompl_op_fn, 4> functions = {&combine<OMPL_SUM>, &combine<OMPL_PROD>,
                                               &combine<OMPL_MIN>, &combine<OMPL_MAX>};
  static_assert(OMPL_SUM == 0 && OMPL_PROD == 1 && OMPL_MIN == 2 && OMPL_MAX == 3);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    ompl_op_config config = OMPL_OP_CONFIG_INIT;
    config.function = functions[i];
    config.element = sizeof(long double);
    if (const int code = ompl_op_create(&config, &long_double_operations[i]); code != OMPL_OK)
      return code;
  }
  return OMPL_OK;
}

int sync_all() { return ompl_barrier(); }

int barrier_all() {
  if (const int code = quiet(SHMEM_CTX_DEFAULT); code != OMPL_OK) return code;
  return ompl_barrier();
}

int team_sync(shmem_team_t handle) {
  return by_team(handle, "shmem_team_sync",
                 [](const Team& team) { return ompl_team_barrier(team.team, nullptr, nullptr); });
}

int broadcast(shmem_team_t handle, void* dest, const void* source, std::size_t length, int root) {
  return by_team(handle, "shmem_broadcast",
                 [=](const Team& team) { return broadcast(team, dest, source, length, root, true); });
}

int collect(shmem_team_t handle, void* dest, const void* source, std::size_t length) {
  return by_team(handle, "shmem_collect",
                 [=](const Team& team) { return collect(team, dest, source, length); });
}

int fcollect(shmem_team_t handle, void* dest, const void* source, std::size_t length) {
  return by_team(handle, "shmem_fcollect",
                 [=](const Team& team) { return fcollect(team, dest, source, length); });
}

int alltoall(shmem_team_t handle, void* dest, const void* source, std::size_t length) {
  return by_team(handle, "shmem_alltoall",
                 [=](const Team& team) { return alltoall(team, dest, source, length); });
}

int alltoalls(shmem_team_t handle, void* dest, const void* source, const Blocks& shape) {
  return by_team(handle, "shmem_alltoalls",
                 [=](const Team& team) { return alltoalls(team, dest, source, shape); });
}

int reduce(shmem_team_t handle, void* dest, const void* source, std::size_t count, int type, int op) {
  return by_team(handle, "a reduction",
                 [=](const Team& team) { return reduce(team, dest, source, count, type, op); });
}

int scan(shmem_team_t handle, void* dest, const void* source, std::size_t count, int type,
         std::size_t element, bool inclusive) {
  return by_team(handle, "a scan", [=](const Team& team) {
    return scan(team, dest, source, count, type, element, inclusive);
  });
}

int active_sync(const ActiveSet& set) {
  return by_set(set, [](const Team& team) { return ompl_team_barrier(team.team, nullptr, nullptr); });
}

int active_barrier(const ActiveSet& set) {
  if (const int code = quiet(SHMEM_CTX_DEFAULT); code != OMPL_OK) return code;
  return active_sync(set);
}

int active_broadcast(const ActiveSet& set, void* dest, const void* source, std::size_t length,
                     int root) {
  return by_set(set,
                [=](const Team& team) { return broadcast(team, dest, source, length, root, false); });
}

int active_collect(const ActiveSet& set, void* dest, const void* source, std::size_t length) {
  return by_set(set, [=](const Team& team) { return collect(team, dest, source, length); });
}

int active_fcollect(const ActiveSet& set, void* dest, const void* source, std::size_t length) {
  return by_set(set, [=](const Team& team) { return fcollect(team, dest, source, length); });
}

int active_alltoall(const ActiveSet& set, void* dest, const void* source, std::size_t length) {
  return by_set(set, [=](const Team& team) { return alltoall(team, dest, source, length); });
}

int active_alltoalls(const ActiveSet& set, void* dest, const void* source, const Blocks& shape) {
  return by_set(set, [=](const Team& team) { return alltoalls(team, dest, source, shape); });
}

int active_reduce(const ActiveSet& set, void* dest, const void* source, int count, int type, int op) {
  if (count < 0) return refuse(OMPL_ERR_ARG, "%d elements", count);
  return by_set(set, [=](const Team& team) {
    return reduce(team, dest, source, static_cast<std::size_t>(count), type, op);
  });
}

}  // namespace shmem_core
