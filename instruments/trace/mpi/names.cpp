// SPDX-License-Identifier: BSD-3-Clause
#include "names.hpp"

#include <algorithm>
#include <mutex>

#include "writer/handles.hpp"
#include "writer/tracer.hpp"

namespace ompl::trace {

HandleTable<uint32_t, 256> own_types;

namespace {

constexpr std::size_t kMostComms = 1 << 16;
constexpr std::size_t kMostWindows = 1 << 14;
constexpr uint64_t kWorld = 1;  // its global id

struct SameBase {
  uint64_t base;
  uint64_t count;
};

// Those that most programs use.
bool learn_types() {
  if (!own_types.create()) return false;
  const MPI_Datatype types[] = {
      MPI_CHAR,    MPI_SIGNED_CHAR,      MPI_UNSIGNED_CHAR, MPI_BYTE,    MPI_SHORT,
      MPI_INT,     MPI_UNSIGNED,         MPI_LONG,          MPI_FLOAT,   MPI_UNSIGNED_LONG,
      MPI_DOUBLE,  MPI_LONG_LONG,        MPI_PACKED,        MPI_INT32_T, MPI_UNSIGNED_LONG_LONG,
      MPI_INT64_T, MPI_UINT32_T,         MPI_UINT64_T,      MPI_UINT8_T, MPI_C_FLOAT_COMPLEX,
      MPI_AINT,    MPI_C_DOUBLE_COMPLEX, MPI_INTEGER,       MPI_REAL,    MPI_DOUBLE_PRECISION,
      MPI_LOGICAL, MPI_DOUBLE_INT};
  for (MPI_Datatype type : types) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || own_types.find(key_of(type)) != nullptr) continue;
    OMPL_REAL(PMPI_Type_size)(type, &size);
    if (size > 0) own_types.insert(key_of(type), static_cast<uint32_t>(size));
  }
  return true;
}

HandleTable<CommInfo, kMostComms> comms;
HandleTable<uint32_t, kMostWindows> windows;
SameBase* same_bases = nullptr;
MPI_Group world_group;
uint32_t next_comm = 1;
uint32_t next_window = 1;

constexpr uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t value = (a ^ (b + 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
  return value ^ (value >> 31);
}

// How many communicators of this base this rank has made. Its members make them in one order, so they count alike.
uint64_t ordinal(uint64_t base) {
  for (std::size_t i = 0; i < kMostComms; ++i) {
    SameBase& entry = same_bases[(base + i) % kMostComms];
    if (entry.count != 0 && entry.base != base) continue;
    entry.base = base;
    return entry.count++;
  }
  return 0;
}

// A group's ranks in MPI_COMM_WORLD; freed at the end.
class Members {
 public:
  explicit Members(MPI_Group group) {
    if (group == MPI_GROUP_NULL) return;
    OMPL_REAL(PMPI_Group_size)(group, &size_);
    ranks_ = map_zeroed<int>(2 * static_cast<std::size_t>(size_) + 1);
    if (ranks_ == nullptr) size_ = 0;
    for (int i = 0; i < size_; ++i) ranks_[size_ + i] = i;
    if (size_ > 0)
      OMPL_REAL(PMPI_Group_translate_ranks)(group, size_, ranks_ + size_, world_group, ranks_);
    mapped_ = 2 * static_cast<std::size_t>(size_) + 1;
    OMPL_REAL(PMPI_Group_free)(&group);
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() { unmap(ranks_, mapped_); }

  int size() const { return size_; }
  int first() const { return size_ > 0 ? ranks_[0] : -1; }
  uint64_t hash() const {
    uint64_t value = static_cast<uint64_t>(size_);
    for (int i = 0; i < size_; ++i) value = mix(value, static_cast<uint64_t>(ranks_[i]));
    return value;
  }
  bool is_world(int world_size) const {
    bool same = size_ == world_size;
    for (int i = 0; i < size_; ++i) same = same && ranks_[i] == i;
    return same;
  }
  uint32_t records() const { return (static_cast<uint32_t>(size_) + Ids::kMost - 1) / Ids::kMost; }
  const int* ranks() const { return ranks_; }

 private:
  int size_ = 0;
  int* ranks_ = nullptr;
  std::size_t mapped_ = 0;
};

void append_numbers(const int* numbers, int n) {
  in_parts<Ids>(
      static_cast<std::size_t>(n), [&](std::size_t i) { return static_cast<uint32_t>(numbers[i]); },
      [](const Ids& part) { tracer.definitions.append(part); });
}

void append_topology(uint32_t comm, Kind made_by, int first_n, const int* first, int second_n,
                     const int* second) {
  TopologyDefinition topology{};
  topology.comm = comm;
  topology.first = static_cast<uint32_t>(first_n);
  topology.second = static_cast<uint32_t>(second_n);
  topology.kind = Kind::kTopology;
  topology.made_by = made_by;
  tracer.definitions.append(topology);
  append_numbers(first, first_n);
  append_numbers(second, second_n);
}

struct Pieces {  // two lists of one length at most each, in mapped memory
  explicit Pieces(int n)
      : mapped(2 * static_cast<std::size_t>(n) + 1),
        first(map_zeroed<int>(mapped)),
        second(first + n) {}
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;
  ~Pieces() { unmap(first, mapped); }
  std::size_t mapped;
  int* first;
  int* second;
};

void define_topology(MPI_Comm comm, CommInfo& info, Kind made_by) {
  int kind = MPI_UNDEFINED;
  OMPL_REAL(PMPI_Topo_test)(comm, &kind);
  if (kind == MPI_CART) {
    int dimensions = 0;
    OMPL_REAL(PMPI_Cartdim_get)(comm, &dimensions);
    const Pieces pieces(2 * dimensions);
    if (pieces.first == nullptr) return;
    OMPL_REAL(PMPI_Cart_get)(comm, dimensions, pieces.first, pieces.second, pieces.second + dimensions);
    append_topology(info.id, made_by, dimensions, pieces.first, dimensions, pieces.second);
    info.sources = info.destinations = 2 * dimensions;
  } else if (kind == MPI_GRAPH) {
    OMPL_REAL(PMPI_Graph_neighbors_count)(comm, info.rank, &info.sources);
    info.destinations = info.sources;
    const Pieces pieces(info.sources);
    if (pieces.first == nullptr) return;
    OMPL_REAL(PMPI_Graph_neighbors)(comm, info.rank, info.sources, pieces.first);
    append_topology(info.id, made_by, info.sources, pieces.first, info.sources, pieces.first);
  } else if (kind == MPI_DIST_GRAPH) {
    int weighted = 0;
    OMPL_REAL(PMPI_Dist_graph_neighbors_count)(comm, &info.sources, &info.destinations, &weighted);
    const Pieces ranks(std::max(info.sources, info.destinations));
    const Pieces weights(std::max(info.sources, info.destinations));
    if (ranks.first == nullptr || weights.first == nullptr) return;
    OMPL_REAL(PMPI_Dist_graph_neighbors)
    (comm, info.sources, ranks.first, weights.first, info.destinations, ranks.second, weights.second);
    append_topology(info.id, made_by, info.sources, ranks.first, info.destinations, ranks.second);
  }
}

// `shape` is the communicator that may be asked: the same, or the parent that it is like.
const CommInfo* define(MPI_Comm comm, MPI_Comm shape, const CommInfo* parent, Kind made_by, int tag) {
  int inter = 0;
  CommInfo info{};
  MPI_Group group;
  OMPL_REAL(PMPI_Comm_test_inter)(shape, &inter);
  OMPL_REAL(PMPI_Comm_rank)(shape, &info.rank);
  OMPL_REAL(PMPI_Comm_group)(shape, &group);
  const Members local(group);
  group = MPI_GROUP_NULL;
  if (inter != 0) OMPL_REAL(PMPI_Comm_remote_group)(shape, &group);
  const Members remote(group);
  info.size = inter != 0 ? remote.size() : local.size();

  const std::lock_guard lock(tracer.mutex);
  info.id = next_comm++;
  if (info.id == 1) {
    info.global = kWorld;
  } else {  // both sides of an intercommunicator hash alike
    const bool swapped = inter != 0 && remote.first() < local.first();
    const uint64_t members =
        swapped ? mix(remote.hash(), local.hash()) : mix(local.hash(), remote.hash());
    const uint64_t base =
        mix(mix(members, parent != nullptr ? parent->global : 0), static_cast<uint64_t>(tag));
    info.global = mix(base, ordinal(base)) | (uint64_t{1} << 63);
  }
  const bool is_world =
      info.id == 1 || (inter == 0 && local.is_world(static_cast<int>(tracer.file.header().ranks)));
  CommunicatorDefinition definition{};
  definition.global = info.global;
  definition.id = info.id;
  definition.size = static_cast<uint32_t>(local.size());
  definition.rank = static_cast<uint32_t>(info.rank);
  definition.remote = static_cast<uint32_t>(inter != 0 ? remote.size() : 0);
  definition.parent = parent != nullptr ? parent->id : 0;
  definition.members = is_world ? 0 : local.records() + (inter != 0 ? remote.records() : 0);
  definition.kind = Kind::kCommunicator;
  definition.made_by = made_by;
  tracer.definitions.append(definition);
  if (!is_world) {
    append_numbers(local.ranks(), local.size());
    if (inter != 0) append_numbers(remote.ranks(), remote.size());
  }
  if (inter == 0) define_topology(shape, info, made_by);
  return comms.insert(key_of(comm), info);
}

uint32_t id_of(const CommInfo* info) { return info != nullptr ? info->id : 0; }

}  // namespace

bool define_first_comms() {
  same_bases = map_zeroed<SameBase>(kMostComms);
  if (same_bases == nullptr || !comms.create() || !windows.create() || !learn_types()) return false;
  OMPL_REAL(PMPI_Comm_group)(MPI_COMM_WORLD, &world_group);
  define(MPI_COMM_WORLD, MPI_COMM_WORLD, nullptr, Kind::kInit, 0);
  define(MPI_COMM_SELF, MPI_COMM_SELF, nullptr, Kind::kInit, 0);
  return true;
}

const CommInfo& comm_info(MPI_Comm comm) {
  static constexpr CommInfo kUnknown{};
  if (const CommInfo* const info = comms.find(key_of(comm))) return *info;
  if (comm == MPI_COMM_NULL) return kUnknown;
  const CommInfo* const info = define(comm, comm, nullptr, Kind::kOpaque, 0);
  return info != nullptr ? *info : kUnknown;
}

uint32_t define_comm(MPI_Comm comm, const CommInfo* parent, Kind made_by, int tag) {
  return id_of(define(comm, comm, parent, made_by, tag));
}

uint32_t define_comm_like(MPI_Comm parent, MPI_Comm comm, Kind made_by) {
  return id_of(define(comm, parent, &comm_info(parent), made_by, 0));
}

void forget_comm(MPI_Comm comm) {
  const std::lock_guard lock(tracer.mutex);
  if (const CommInfo* const info = comms.find(key_of(comm))) comms.erase(info);
}

uint32_t define_window(MPI_Win window, uint32_t comm, uint64_t bytes, Kind made_by) {
  const std::lock_guard lock(tracer.mutex);
  WindowDefinition definition{};
  definition.bytes = bytes;
  definition.id = next_window++;
  definition.comm = comm;
  definition.kind = Kind::kWindow;
  definition.made_by = made_by;
  tracer.definitions.append(definition);
  const uint32_t* const id = windows.insert(key_of(window), definition.id);
  return id != nullptr ? *id : 0;
}

uint32_t window_id(MPI_Win window) {
  const uint32_t* const id = windows.find(key_of(window));
  return id != nullptr ? *id : 0;
}

void forget_window(MPI_Win window) {
  const std::lock_guard lock(tracer.mutex);
  if (const uint32_t* const id = windows.find(key_of(window))) windows.erase(id);
}

}  // namespace ompl::trace
