// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "omnipgas tuner table";

// The number that `name_of` names so, or -1.
int32_t number_of(const char* (*name_of)(int32_t), const std::string& name) {
  for (int32_t number = 0; name_of(number) != nullptr; ++number)
    if (name == name_of(number)) return number;
  return -1;
}

json json_of(const Kind& kind, const Table::Entry& entry) {
  json microseconds = json::object();
  for (const auto& [algorithm, seconds] : entry.seconds)
    microseconds[ompl_algorithm_name(algorithm)] = seconds * 1e6;
  return {{"collective", ompl_coll_name(kind.collective)},
          {"members", kind.members},
          {"nodes", kind.nodes},
          {"clustered", kind.clustered},
          {"commutative", kind.commutative},
          {"bytes", smallest_of_class(kind.size_class)},
          {"calls", entry.calls},
          {"microseconds", std::move(microseconds)}};
}

// What is missing, or of another type, is an exception of the library's.
std::string read_entry(const json& row, Kind* kind, Table::Entry* entry) {
  const std::string collective = row.at("collective");
  const uint64_t bytes = row.at("bytes");
  *kind = {.collective = number_of(ompl_coll_name, collective),
           .members = row.at("members"),
           .nodes = row.at("nodes"),
           .clustered = row.at("clustered"),
           .size_class = size_class(bytes),
           .commutative = row.at("commutative")};
  entry->calls = row.at("calls");
  if (kind->collective < 0) return fmt::format("there is no collective {}", collective);
  for (const auto& [name, microseconds] : row.at("microseconds").items()) {
    const int32_t algorithm = number_of(ompl_algorithm_name, name);
    const double seconds = microseconds.get<double>() * 1e-6;
    if (algorithm < 0) return fmt::format("there is no algorithm {}", name);
    if (!std::isfinite(seconds) || seconds <= 0)
      return fmt::format("{} of {} takes no such time", name, collective);
    entry->seconds[algorithm] = seconds;
  }
  return {};
}

}  // namespace

std::string Table::parse(std::string_view text, Table* table) {
  try {
    const json all = json::parse(text);
    if (all.at("format") != kFormat) return "it is another kind of file";
    if (const int version = all.at("version"); version != kVersion)
      return fmt::format("it is of version {}, and this library's is {}", version, kVersion);
    Table read;
    for (const json& row : all.at("entries")) {
      Kind kind;
      Entry entry;
      const std::string wrong = read_entry(row, &kind, &entry);
      if (!wrong.empty()) return wrong;
      read.entries_[kind] = std::move(entry);
    }
    *table = std::move(read);
    return {};
  } catch (const json::exception& error) {
    return error.what();
  }
}

std::string Table::text() const {
  json rows = json::array();
  for (const auto& [kind, entry] : entries_) rows.push_back(json_of(kind, entry));
  const json all = {{"format", kFormat}, {"version", kVersion}, {"entries", std::move(rows)}};
  return all.dump(1) + "\n";
}

std::vector<double> Table::known(const Kind& kind, std::span<const int32_t> algorithms) const {
  std::vector<double> seconds(algorithms.size());
  const auto found = entries_.find(kind);
  if (found == entries_.end()) return seconds;
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    const auto known = found->second.seconds.find(algorithms[i]);
    if (known != found->second.seconds.end()) seconds[i] = known->second;
  }
  return seconds;
}

void Table::add(const Tuning& tuning) {
  const Tuner& tuner = tuning.tuner();
  if (!tuning.decided() || tuner.calls() == 0) return;
  Entry& entry = entries_[tuning.kind()];
  if (entry.calls >= tuner.calls()) return;
  entry = {.calls = tuner.calls(), .seconds = {}};
  for (uint32_t c = 0; c < tuning.algorithms().size(); ++c)
    if (tuner.compared(c)) entry.seconds[tuning.algorithms()[c]] = tuner.estimate(c);
}

void Table::overwrite(const Table& newer) {
  for (const auto& [kind, entry] : newer.entries_) entries_[kind] = entry;
}

}  // namespace ompl::coll
