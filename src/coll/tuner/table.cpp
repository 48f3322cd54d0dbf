// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "omnipgas tuner table";

// What a text may say wrongly is an exception, of the library or std::invalid_argument.

// The number that `name_of` names so.
int32_t number_of(const char* (*name_of)(int32_t), const std::string& name) {
  for (int32_t number = 0; name_of(number) != nullptr; ++number)
    if (name == name_of(number)) return number;
  throw std::invalid_argument(fmt::format("there is no {}", json(name).dump()));
}

TunerChoice read_choice(const std::string& name) {
  const auto slash = name.find('/');
  TunerChoice choice{.algorithm = number_of(ompl_algorithm_name, name.substr(0, slash))};
  if (slash != std::string::npos) choice.mode = number_of(progress_name, name.substr(slash + 1));
  return choice;
}

template <class Number>
Number whole(const json& row, const char* name) {
  const json& value = row.at(name);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<Number>::max())
    throw std::invalid_argument(fmt::format("{} cannot be {}", name, value.dump()));
  return value.get<Number>();
}

CallKind read_kind(const json& row) {
  return {.collective = number_of(ompl_coll_name, row.at("collective")),
          .members = whole<uint32_t>(row, "members"),
          .nodes = whole<uint32_t>(row, "nodes"),
          .clustered = row.at("clustered"),
          .size_class = size_class(whole<uint64_t>(row, "bytes")),
          .commutative = row.at("commutative"),
          .modes = row.at("modes"),
          .algorithm = number_of(ompl_algorithm_name, row.at("algorithm"))};
}

Table::Entry read_entry(const json& row) {
  Table::Entry entry{.calls = whole<uint64_t>(row, "calls"), .microseconds = {}};
  for (const auto& [name, value] : row.at("microseconds").items()) {
    const double microseconds = value.get<double>();
    if (!std::isfinite(microseconds) || microseconds <= 0)
      throw std::invalid_argument(fmt::format("no call takes {} us", value.dump()));
    entry.microseconds[read_choice(name)] = microseconds;
  }
  return entry;
}

json json_of(const CallKind& kind, const Table::Entry& entry) {
  json microseconds = json::object();
  for (const auto& [choice, time] : entry.microseconds) microseconds[name_of(choice)] = time;
  return {{"collective", ompl_coll_name(kind.collective)},
          {"members", kind.members},
          {"nodes", kind.nodes},
          {"clustered", kind.clustered},
          {"commutative", kind.commutative},
          {"modes", kind.modes},
          {"algorithm", ompl_algorithm_name(kind.algorithm)},
          {"bytes", smallest_of_class(kind.size_class)},
          {"calls", entry.calls},
          {"microseconds", std::move(microseconds)}};
}

// Of `omni tune model`; what combining takes is nowhere measured.
std::optional<LogGp> read_terms(const json& terms, const char* where) {
  if (!terms.contains(where)) return std::nullopt;
  const json& row = terms.at(where);
  const auto term = [&](const char* name) {
    const double value = row.at(name).get<double>();
    if (!std::isfinite(value) || value < 0)
      throw std::invalid_argument(fmt::format("{} cannot be {}", name, row.at(name).dump()));
    return value;
  };
  const LogGp read{
      .latency = term("L"), .overhead = term("o"), .gap = term("g"), .per_byte = term("G")};
  if (read.latency + read.overhead <= 0) throw std::invalid_argument("no message takes no time");
  return read;
}

json json_of(const LogGp& terms) {
  return {{"L", terms.latency}, {"o", terms.overhead}, {"g", terms.gap}, {"G", terms.per_byte}};
}

json json_of(const Machine& machine) {
  json terms = json::object();
  if (machine.node) terms["node"] = json_of(*machine.node);
  if (machine.network) terms["network"] = json_of(*machine.network);
  return terms;
}

}  // namespace

std::string Table::parse(std::string_view text, Table* table) {
  try {
    const json all = json::parse(text);
    if (all.at("format") != kFormat) return "it is another kind of file";
    if (const json& version = all.at("version"); version != kVersion)
      return fmt::format("it is of version {}, and this library's is {}", version.dump(), kVersion);
    Table read;
    for (const json& row : all.at("entries")) read.entries_[read_kind(row)] = read_entry(row);
    if (const auto terms = all.find("loggp_ns"); terms != all.end())
      read.machine_ = {.node = read_terms(*terms, "node"), .network = read_terms(*terms, "network")};
    *table = std::move(read);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string Table::text() const {
  json rows = json::array();
  for (const auto& [kind, entry] : entries_) rows.push_back(json_of(kind, entry));
  const json all = {{"format", kFormat},
                    {"version", kVersion},
                    {"loggp_ns", json_of(machine_)},
                    {"entries", std::move(rows)}};
  return all.dump(1) + "\n";
}

std::vector<double> Table::known(const CallKind& kind, std::span<const TunerChoice> choices) const {
  std::vector<double> seconds(choices.size());
  const auto found = entries_.find(kind);
  if (found == entries_.end()) return seconds;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto known = found->second.microseconds.find(choices[i]);
    if (known != found->second.microseconds.end()) seconds[i] = known->second * 1e-6;
  }
  return seconds;
}

void Table::add(const CallKind& kind, Entry entry) {
  Entry& here = entries_[kind];
  if (entry.calls > here.calls) here = std::move(entry);
}

void Table::overwrite(const Table& newer) {
  for (const auto& [kind, entry] : newer.entries_) entries_[kind] = entry;
}

}  // namespace ompl::coll
