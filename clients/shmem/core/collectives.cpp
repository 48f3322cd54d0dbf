// SPDX-License-Identifier: BSD-3-Clause
// Collectives over coll.h. What is in symmetric memory is given to the layer by the addresses that it knows, so that long data
// go straight there.
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/checks.hpp"

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

// Whether memory can have so many blocks of each member's.
int check_length(const Team& team, std::size_t length) {
  if (bytes_of(length, team.members.size()) < kMostBytes) return OMPL_OK;
  return refuse(OMPL_ERR_ARG, "%zu bytes or more of each of %d PEs are more than memory can have",
                length, team.size());
}

// --- The collectives of a team, by codes of the layer

int broadcast(const Team& team, void* dest, const void* source, std::size_t length, int root,
              bool to_root) {
  if (root < 0 || root >= team.size())
    return refuse(OMPL_ERR_RANK, "there is no PE %d in a team of %d", root, team.size());
  if (length == 0) return OMPL_OK;
  if (const int code = check_length(team, length); code != OMPL_OK) return code;
  const bool mine = root == team.me;
  if (mine && to_root && dest != source) std::memcpy(dest, source, length);
  void* const buffer = mine ? const_cast<void*>(in_segment(source)) : in_segment(dest);
  return ompl_broadcast(team.team, buffer, length, static_cast<uint32_t>(root), nullptr, nullptr);
}

int collect(const Team& team, void* dest, const void* source, std::size_t length) {
  if (const int code = check_length(team, length); code != OMPL_OK) return code;
  std::vector<std::size_t> lengths(team.members.size());
  const int code = ompl_allgather(team.team, &length, lengths.data(), sizeof length, nullptr, nullptr);
  if (code != OMPL_OK) return code;
  if (std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}) == 0) return OMPL_OK;
  return ompl_allgatherv(team.team, in_segment(source), in_segment(dest), lengths.data(), nullptr,
                         nullptr, nullptr);
}

int fcollect(const Team& team, void* dest, const void* source, std::size_t length) {
  if (length == 0) return OMPL_OK;
  if (const int code = check_length(team, length); code != OMPL_OK) return code;
  return ompl_allgather(team.team, in_segment(source), in_segment(dest), length, nullptr, nullptr);
}

int alltoall(const Team& team, void* dest, const void* source, std::size_t length) {
  if (length == 0) return OMPL_OK;
  if (const int code = check_length(team, length); code != OMPL_OK) return code;
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
    return alltoall(team, dest, source, bytes_of(shape.blocks, shape.element));
  if (const int code = check_length(team, bytes_of(shape.blocks, shape.element)); code != OMPL_OK)
    return code;
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

// What all members of a team have to pass alike, but for the team.
CollectiveCall whole(const char* name, void* dest, std::size_t dest_length, const void* source,
                     std::size_t source_length, std::array<uint64_t, 3> numbers) {
  return {name, dest, dest_length, source, source_length, numbers};
}
// `times`: blocks in dest for each in source.
CollectiveCall blocks(const char* name, void* dest, const void* source, std::size_t length,
                      std::size_t dest_times, std::size_t source_times) {
  return whole(name, dest, length * dest_times, source, length * source_times, {length});
}

int checked(const Team& team, const CollectiveCall& call) {
  if (!state().debug) return OMPL_OK;
  if (!team_is_known(&team)) return refuse(OMPL_ERR_ARG, "the team was destroyed before");
  return check_call_of_all(team, call);
}

// Calls `collective(team)` for a handle; `describe(team)` says what the call is.
template <class Describe, class Collective>
int by_team(shmem_team_t handle, Describe describe, Collective collective) {
  const Team* const team = team_of(handle);
  if (team == nullptr) return -1;
  const CollectiveCall call = describe(*team);
  expect(checked(*team, call), call.name);
  expect(collective(*team), call.name);
  return 0;
}

template <class Describe, class Collective>
int by_set(const ActiveSet& set, Describe describe, Collective collective) {
  Team* team = nullptr;
  if (const int code = team_of_set(set, &team); code != OMPL_OK) return code;
  if (const int code = check_all(*team, describe(*team)); code != OMPL_OK) return code;
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

int sync_all() {
  if (const int code = check_all(*state().world, {.name = "shmem_sync_all"}); code != OMPL_OK)
    return code;
  return ompl_barrier();
}

int barrier_all() {
  if (const int code = quiet(SHMEM_CTX_DEFAULT); code != OMPL_OK) return code;
  if (const int code = check_all(*state().world, {.name = "shmem_barrier_all"}); code != OMPL_OK)
    return code;
  return ompl_barrier();
}

namespace {

// What the call of each collective is, for a team.
struct Call {
  void* dest;
  const void* source;
  std::size_t length;  // bytes of a block

  [[nodiscard]] auto broadcast(int root) const {
    return [*this, root](const Team&) {
      return whole("shmem_broadcast", dest, length, source, length,
                   {length, static_cast<uint64_t>(root)});
    };
  }
  [[nodiscard]] auto collect() const {  // lengths may differ
    return [*this](const Team&) { return whole("shmem_collect", dest, length, source, length, {}); };
  }
  [[nodiscard]] auto fcollect() const {
    return [*this](const Team& team) {
      return blocks("shmem_fcollect", dest, source, length, team.members.size(), 1);
    };
  }
  [[nodiscard]] auto alltoall() const {
    return [*this](const Team& team) {
      return blocks("shmem_alltoall", dest, source, length, team.members.size(), team.members.size());
    };
  }
};

auto call_of(void* dest, const void* source, const Blocks& shape) {
  return [=](const Team& team) {
    const std::size_t steps = shape.blocks * team.members.size();
    const auto reach = [&](ptrdiff_t stride) {
      return steps == 0 ? 0 : ((steps - 1) * static_cast<std::size_t>(stride) + 1) * shape.element;
    };
    const std::array<uint64_t, 3> numbers = {shape.element * shape.blocks,
                                             static_cast<uint64_t>(shape.dest_stride),
                                             static_cast<uint64_t>(shape.source_stride)};
    return whole("shmem_alltoalls", dest, reach(shape.dest_stride), source, reach(shape.source_stride),
                 numbers);
  };
}

std::size_t size_of(int type) {
  switch (type) {
    case OMPL_INT8:
    case OMPL_UINT8:
      return 1;
    case OMPL_INT16:
    case OMPL_UINT16:
      return 2;
    case OMPL_INT32:
    case OMPL_UINT32:
    case OMPL_FLOAT:
      return 4;
    case OMPL_DOUBLE_COMPLEX:
    case kLongDouble:
      return 16;
    default:
      return 8;
  }
}

auto reduction(const char* name, void* dest, const void* source, std::size_t count, int type, int op) {
  return [=](const Team&) {
    const std::size_t length = count * size_of(type);
    return whole(name, dest, length, source, length,
                 {count, static_cast<uint64_t>(type), static_cast<uint64_t>(op)});
  };
}

auto without_data(const char* name) {
  return [name](const Team&) { return CollectiveCall{.name = name}; };
}

}  // namespace

int team_sync(shmem_team_t handle) {
  return by_team(handle, without_data("shmem_team_sync"),
                 [](const Team& team) { return ompl_team_barrier(team.team, nullptr, nullptr); });
}

int broadcast(shmem_team_t handle, void* dest, const void* source, std::size_t length, int root) {
  return by_team(handle, Call{dest, source, length}.broadcast(root),
                 [=](const Team& team) { return broadcast(team, dest, source, length, root, true); });
}

int collect(shmem_team_t handle, void* dest, const void* source, std::size_t length) {
  return by_team(handle, Call{dest, source, length}.collect(),
                 [=](const Team& team) { return collect(team, dest, source, length); });
}

int fcollect(shmem_team_t handle, void* dest, const void* source, std::size_t length) {
  return by_team(handle, Call{dest, source, length}.fcollect(),
                 [=](const Team& team) { return fcollect(team, dest, source, length); });
}

int alltoall(shmem_team_t handle, void* dest, const void* source, std::size_t length) {
  return by_team(handle, Call{dest, source, length}.alltoall(),
                 [=](const Team& team) { return alltoall(team, dest, source, length); });
}

int alltoalls(shmem_team_t handle, void* dest, const void* source, const Blocks& shape) {
  return by_team(handle, call_of(dest, source, shape),
                 [=](const Team& team) { return alltoalls(team, dest, source, shape); });
}

int reduce(shmem_team_t handle, void* dest, const void* source, std::size_t count, int type, int op) {
  return by_team(handle, reduction("a reduction", dest, source, count, type, op),
                 [=](const Team& team) { return reduce(team, dest, source, count, type, op); });
}

int scan(shmem_team_t handle, void* dest, const void* source, std::size_t count, int type,
         std::size_t element, bool inclusive) {
  const char* const name = inclusive ? "an inclusive scan" : "an exclusive scan";
  return by_team(handle, reduction(name, dest, source, count, type, OMPL_SUM), [=](const Team& team) {
    return scan(team, dest, source, count, type, element, inclusive);
  });
}

int active_sync(const ActiveSet& set) {
  return by_set(set, without_data("shmem_sync"),
                [](const Team& team) { return ompl_team_barrier(team.team, nullptr, nullptr); });
}

int active_barrier(const ActiveSet& set) {
  if (const int code = quiet(SHMEM_CTX_DEFAULT); code != OMPL_OK) return code;
  return by_set(set, without_data("shmem_barrier"),
                [](const Team& team) { return ompl_team_barrier(team.team, nullptr, nullptr); });
}

int active_broadcast(const ActiveSet& set, void* dest, const void* source, std::size_t length,
                     int root) {
  return by_set(set, Call{dest, source, length}.broadcast(root),
                [=](const Team& team) { return broadcast(team, dest, source, length, root, false); });
}

int active_collect(const ActiveSet& set, void* dest, const void* source, std::size_t length) {
  return by_set(set, Call{dest, source, length}.collect(),
                [=](const Team& team) { return collect(team, dest, source, length); });
}

int active_fcollect(const ActiveSet& set, void* dest, const void* source, std::size_t length) {
  return by_set(set, Call{dest, source, length}.fcollect(),
                [=](const Team& team) { return fcollect(team, dest, source, length); });
}

int active_alltoall(const ActiveSet& set, void* dest, const void* source, std::size_t length) {
  return by_set(set, Call{dest, source, length}.alltoall(),
                [=](const Team& team) { return alltoall(team, dest, source, length); });
}

int active_alltoalls(const ActiveSet& set, void* dest, const void* source, const Blocks& shape) {
  return by_set(set, call_of(dest, source, shape),
                [=](const Team& team) { return alltoalls(team, dest, source, shape); });
}

int active_reduce(const ActiveSet& set, void* dest, const void* source, int count, int type, int op) {
  if (count < 0) return refuse(OMPL_ERR_ARG, "%d elements", count);
  const auto elements = static_cast<std::size_t>(count);
  return by_set(set, reduction("a reduction", dest, source, elements, type, op),
                [=](const Team& team) { return reduce(team, dest, source, elements, type, op); });
}

}  // namespace shmem_core
