// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/otf2/definitions.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "model/readers/otf2/names.hpp"

namespace ompl::model::otf2 {

namespace {

struct RawRegion {
  uint32_t self, name, file, line;
  OTF2_RegionRole role;
  OTF2_Paradigm paradigm;
};
struct RawGroup {
  OTF2_GroupType type;
  std::vector<uint64_t> members;
};
struct RawCommunicator {
  uint32_t self, group, other;  // `other` of an intercommunicator
};

// The definitions as they come: a name may be defined behind what bears it.
struct Raw {
  uint64_t resolution = 0;
  std::unordered_map<uint32_t, std::string> strings;
  std::unordered_map<uint64_t, uint64_t> threads;  // events of each location that is a thread
  std::unordered_map<uint32_t, RawGroup> groups;
  std::unordered_set<uint32_t> other_groups;  // of no MPI, such as Score-P's of all threads
  std::vector<uint64_t> mpi_locations;
  std::vector<RawRegion> regions;
  std::vector<RawCommunicator> communicators;
  std::unordered_map<uint32_t, uint32_t> parameters;  // their names
  Caught caught;

  // The library's callbacks, with the arguments after `data`.
  template <auto Method, class... Arguments>
  static OTF2_CallbackCode on(void* data, Arguments... arguments) {
    auto& raw = *static_cast<Raw*>(data);
    return raw.caught.during([&] { (raw.*Method)(arguments...); });
  }
  void on_clock(uint64_t ticks, uint64_t /*offset*/, uint64_t /*length*/, uint64_t /*realtime*/) {
    resolution = ticks;
  }
  void on_string(uint32_t self, const char* string) { strings[self] = string; }
  void on_location(uint64_t self, uint32_t /*name*/, OTF2_LocationType type, uint64_t events,
                   uint32_t /*group*/) {
    if (type == OTF2_LOCATION_TYPE_CPU_THREAD) threads[self] = events;
  }
  void on_region(uint32_t self, uint32_t name, uint32_t /*canonical*/, uint32_t /*description*/,
                 OTF2_RegionRole role, OTF2_Paradigm paradigm, OTF2_RegionFlag /*flags*/, uint32_t file,
                 uint32_t line, uint32_t /*end*/) {
    regions.push_back({self, name, file, line, role, paradigm});
  }
  void on_group(uint32_t self, uint32_t /*name*/, OTF2_GroupType type, OTF2_Paradigm paradigm,
                OTF2_GroupFlag /*flags*/, uint32_t count, const uint64_t* members) {
    if (paradigm != OTF2_PARADIGM_MPI) {
      other_groups.insert(self);
      return;
    }
    groups[self] = {type, {members, members + count}};
    if (type == OTF2_GROUP_TYPE_COMM_LOCATIONS) mpi_locations.assign(members, members + count);
  }
  void on_communicator(uint32_t self, uint32_t /*name*/, uint32_t group, uint32_t /*parent*/,
                       OTF2_CommFlag /*flags*/) {
    communicators.push_back({self, group, OTF2_UNDEFINED_GROUP});
  }
  void on_intercommunicator(uint32_t self, uint32_t /*name*/, uint32_t group, uint32_t other,
                            uint32_t /*common*/, OTF2_CommFlag /*flags*/) {
    communicators.push_back({self, group, other});
  }
  void on_parameter(uint32_t self, uint32_t name, OTF2_ParameterType /*type*/) {
    parameters[self] = name;
  }

  [[nodiscard]] const std::string& text(uint32_t string) const {
    static const std::string kNone;
    const auto found = strings.find(string);
    return found == strings.end() ? kNone : found->second;
  }
};

void read(Archive& archive, Raw& raw) {
  const std::unique_ptr<OTF2_GlobalDefReaderCallbacks, void (*)(OTF2_GlobalDefReaderCallbacks*)>
      callbacks(OTF2_GlobalDefReaderCallbacks_New(), OTF2_GlobalDefReaderCallbacks_Delete);
  auto* const to = callbacks.get();
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(to, Raw::on<&Raw::on_clock>);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(to, Raw::on<&Raw::on_string>);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(to, Raw::on<&Raw::on_location>);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(to, Raw::on<&Raw::on_region>);
  OTF2_GlobalDefReaderCallbacks_SetGroupCallback(to, Raw::on<&Raw::on_group>);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(to, Raw::on<&Raw::on_communicator>);
  OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(to, Raw::on<&Raw::on_intercommunicator>);
  OTF2_GlobalDefReaderCallbacks_SetParameterCallback(to, Raw::on<&Raw::on_parameter>);
  archive.read_definitions(*to, &raw, raw.caught);
}

Region region_of(const Raw& raw, const RawRegion& region) {
  const std::string& name = raw.text(region.name);
  const bool mpi = region.paradigm == OTF2_PARADIGM_MPI || is_mpi_name(name);
  const trace::Kind kind = mpi ? kind_named(name) : trace::Kind::kOpaque;
  // Score-P marks what only asks or translates, such as MPI_Comm_rank, as an ordinary function.
  const bool is_call =
      mpi && (kind != trace::Kind::kOpaque || region.role != OTF2_REGION_ROLE_FUNCTION);
  std::string place = raw.text(region.file);
  if (place == "MPI") place.clear();  // as Score-P says of MPI's own functions
  if (!place.empty() && region.line != 0) place += fmt::format(":{}", region.line);
  return {name, place, kind, is_call};
}

// Makes a communicator, and checks its members.
class Maker {
 public:
  Maker(const Raw& raw, const std::string& name, std::size_t ranks)
      : raw_(raw), name_(name), ranks_(ranks) {}

  Communicator make(const RawCommunicator& from, uint32_t number) const {
    Communicator out{.number = number, .near = {}, .far = {}};
    out.self = group(from, from.group).type == OTF2_GROUP_TYPE_COMM_SELF;
    if (out.self) return out;
    set(out.near, members(from, from.group), {});
    if (from.other == OTF2_UNDEFINED_GROUP) return out;
    set(out.far, members(from, from.other), out.near.ranks);
    set(out.near, out.near.ranks, out.far.ranks);
    return out;
  }

 private:
  static void set(trace::CommunicatorInfo& info, std::vector<uint32_t> ranks,
                  const std::vector<uint32_t>& remote) {
    info.ranks = std::move(ranks);
    info.remote_ranks = remote;
    info.definition.size = static_cast<uint32_t>(info.ranks.size());
    info.definition.remote = static_cast<uint32_t>(remote.size());
  }

  [[nodiscard]] const RawGroup& group(const RawCommunicator& of, uint32_t group) const {
    const auto found = raw_.groups.find(group);
    if (found == raw_.groups.end())
      refuse("{}: communicator {} is of group {}, which is no group of MPI ranks", name_, of.self,
             group);
    return found->second;
  }

  [[nodiscard]] std::vector<uint32_t> members(const RawCommunicator& of, uint32_t number) const {
    const RawGroup& from = group(of, number);
    std::vector<uint32_t> out;
    for (std::size_t i = 0; i < from.members.size(); ++i) {
      // The group of all ranks' locations may stand for that of all ranks.
      const uint64_t rank = from.type == OTF2_GROUP_TYPE_COMM_LOCATIONS ? i : from.members[i];
      if (rank >= ranks_)
        refuse("{}: communicator {} has rank {} of {} as a member", name_, of.self, rank, ranks_);
      out.push_back(static_cast<uint32_t>(rank));
    }
    return out;
  }

  const Raw& raw_;
  const std::string& name_;
  std::size_t ranks_;
};

Parameter parameter_named(const std::string& name) {
  if (name == kLevel) return Parameter::level;
  if (name == kFound) return Parameter::found;
  if (name == kBytesTo) return Parameter::bytes_to;
  return name == kBytesFrom ? Parameter::bytes_from : Parameter::none;
}

}  // namespace

Definitions::Definitions(Archive& archive, const std::string& name) {
  Raw raw;
  read(archive, raw);
  if (raw.resolution == 0) refuse("{}: it does not say how long a tick of its clock is", name);
  ns_per_tick = 1e9 / static_cast<double>(raw.resolution);
  ranks = std::move(raw.mpi_locations);
  if (ranks.empty()) refuse("{}: it has no ranks of MPI", name);
  if (ranks.size() > std::numeric_limits<int32_t>::max()) refuse("{}: {} ranks", name, ranks.size());
  std::unordered_set<uint64_t> seen;
  for (const uint64_t location : ranks)
    if (!seen.insert(location).second || !raw.threads.contains(location))
      refuse("{}: location {} is to be a rank, but is no thread, or another rank already", name,
             location);
  for (const auto& [location, count] : raw.threads)
    if (count > 0 && !seen.contains(location)) threads.push_back(location);
  std::ranges::sort(threads);
  events = std::move(raw.threads);
  for (const RawRegion& region : raw.regions) regions.emplace(region.self, region_of(raw, region));
  for (const RawCommunicator& communicator : raw.communicators) {
    if (raw.other_groups.contains(communicator.group)) continue;
    communicators.emplace(
        communicator.self,
        Maker(raw, name, ranks.size()).make(communicator, static_cast<uint32_t>(communicators.size())));
  }
  for (const auto& [parameter, string] : raw.parameters)
    parameters.emplace(parameter, parameter_named(raw.text(string)));
}

Members Definitions::members(uint32_t communicator, uint32_t rank,
                             const trace::CommunicatorInfo& self) const {
  const auto found = communicators.find(communicator);
  if (found == communicators.end())
    refuse("rank {}: a call names communicator {}, which is none", rank, communicator);
  const Communicator& one = found->second;
  if (one.self) return {one.number, 0, 1, &self};
  for (const trace::CommunicatorInfo* info : {&one.near, &one.far}) {
    const auto at = std::ranges::find(info->ranks, rank);
    if (at != info->ranks.end())
      return {one.number, static_cast<uint32_t>(at - info->ranks.begin()), info->definition.size, info};
  }
  refuse("rank {}: a call names communicator {}, of which it is no member", rank, communicator);
}

}  // namespace ompl::model::otf2
