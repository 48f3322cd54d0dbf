// SPDX-License-Identifier: BSD-3-Clause
#include "model/replay/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/input_error.hpp"

namespace ompl::model {

namespace {

constexpr std::array<std::string_view, 5> kModels{"loggps", "loggp-1", "loggp-2", "loggops-mpi",
                                                  "curve"};
// In parameter files; its old name, too. The parameters are those of LogGOPS, the replay is not (docs/explanation/model.md).
constexpr std::string_view kLogGopsParameters = "loggops";
constexpr std::array<std::string_view, 3> kMachines{"cenju4", "myrinet", "fast-ethernet"};

using Names = std::array<const char*, term_count>;
// In the order of Term.
constexpr Names kLogGps{"L", "o", "", "Oss", "Ors", "Gs", "Osl", "Orl", "Gl", "", "compute"};
constexpr Names kLogGp1{"L", "o_scale", "", "", "", "G_scale", "", "", "", "", "compute"};
constexpr Names kLogGp2{"L", "o_short", "o_long", "", "", "G_short", "", "", "G_long", "", "compute"};
constexpr Names kLogGops{"L", "o", "", "O", "", "G", "", "", "", "g", "compute"};
constexpr std::array<Names, 5> kNames{kLogGps, kLogGp1, kLogGp2, kLogGops, kLogGp1};

// Table 5. Of the Cenju-4 the paper gives Orl + Gl = 0.28 alone, since s = S hides each: Gl = Gs is taken, with
// which a long message costs exactly 0.28 a byte there.
constexpr double kCenjuSum = 0.28, kCenjuGap = 0.04;
constexpr std::array<std::array<double, term_count>, 3> kTable5{{
    {510, 4260, 0, 19.61, 1.98, kCenjuGap, 7.02, kCenjuSum - kCenjuGap, kCenjuGap, 0, 1},
    {850, 6730, 0, 5.02, 4.72, 15.17, 4.80, 3.86, 0.04, 0, 1},
    {24580, 22340, 0, 12.37, 11.53, 188.77, 9.73, 9.89, 65.09, 0, 1},
}};
constexpr std::array<uint64_t, 3> kPackets{1028, 8191, 1023}, kEagers{1028, 16383, 16383};
// Table 9, LogGP-2 on Myrinet; S as in table 5.
constexpr std::array<double, term_count> kTable9{7000, 3830, 72880, 0, 0, 24.98, 0, 0, 8.85, 0, 1};

Parameters of_paper(std::size_t machine, Model model) {
  Parameters out{.machine = std::string(kMachines[machine]),
                 .model = model,
                 .value = kTable5[machine],
                 .longest_packet = kPackets[machine],
                 .longest_eager = kEagers[machine],
                 .rows = {}};
  if (model == Model::loggp2 && out.machine == "myrinet")
    out.value = kTable9;
  else if (model != Model::loggps)
    refuse("{}: the paper gives no {} parameters of it as numbers; give a file", out.machine,
           name_of(model));
  return out;
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 4> kTimes{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<Unit, 3> kRates{{{"ns/byte", 1}, {"us/byte", 1e3}, {"s/byte", 1e9}}};
constexpr std::array<Unit, 2> kLengths{{{"bytes", 1}, {"KiB", 1024}}};

double quantity(const nlohmann::json& object, const char* key, std::span<const Unit> units) {
  const auto found = object.find(key);
  if (found == object.end()) refuse("parameter {} is missing", key);
  const nlohmann::json& entry = *found;
  if (!entry.is_object() || !entry.contains("value") || !entry["value"].is_number() ||
      !entry.contains("unit") || !entry["unit"].is_string())
    refuse("parameter {} must be {{\"value\": number, \"unit\": \"{}\"}}", key, units[0].name);
  const std::string unit = entry["unit"];
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    const double value = entry["value"].get<double>() * known.factor;
    if (!std::isfinite(value) || value < 0) refuse("parameter {} must be a number from 0 on", key);
    return value;
  }
  refuse("parameter {} has the unit {}; known here: {}", key, unit, units[0].name);
}

uint64_t length(const nlohmann::json& object, const char* key) {
  constexpr double kMost = 1e18;
  const double value = quantity(object, key, kLengths);
  if (value > kMost || value != std::floor(value))
    refuse("parameter {} must be a whole number of bytes, at most 1e18", key);
  return static_cast<uint64_t>(value);
}

// Of loggp-1 "lengths" with G per byte, of the curve "knots" with times on the wire.
std::vector<LengthRow> length_rows(const nlohmann::json& object, Model model) {
  const bool is_curve = model == Model::curve;
  const char* const key = is_curve ? "knots" : "lengths";
  const char* const gap = is_curve ? "wire" : "G";
  if (!object.contains(key) || !object[key].is_array() || object[key].empty())
    refuse("{} needs \"{}\": [{{\"bytes\", \"o_send\", \"o_recv\", \"{}\"}}, ...]", name_of(model), key,
           gap);
  std::vector<LengthRow> rows;
  for (const nlohmann::json& row : object[key]) {
    rows.push_back({length(row, "bytes"), quantity(row, "o_send", kTimes),
                    quantity(row, "o_recv", kTimes),
                    is_curve ? quantity(row, gap, kTimes) : quantity(row, gap, kRates)});
    if (rows.size() > 1 && rows.back().bytes <= rows[rows.size() - 2].bytes)
      refuse("the lengths of {} must rise", name_of(model));
  }
  return rows;
}

bool is_time(Term term) {
  return term == latency || term == overhead || term == overhead_long || term == message_gap;
}

}  // namespace

std::string_view name_of(Model model) { return kModels[static_cast<std::size_t>(model)]; }

Model model_named(std::string_view name) {
  if (name == kLogGopsParameters) return Model::loggops;
  const auto* const found = std::ranges::find(kModels, name);
  if (found == kModels.end()) refuse("no model {}; there are {}", name, fmt::join(kModels, ", "));
  return static_cast<Model>(found - kModels.begin());
}

const char* Parameters::name_of(Term term) const {
  const char* const name = kNames[static_cast<std::size_t>(model)][term];
  return *name == '\0' ? nullptr : name;
}

std::span<const std::string_view> machine_names() { return kMachines; }

Parameters parse_parameters(const nlohmann::json& file, Model model) {
  const std::string wanted{model == Model::loggops ? kLogGopsParameters : name_of(model)};
  if (!file.is_object() || !file.contains("models") || !file["models"].is_object())
    refuse("no object \"models\" in the parameter file");
  if (!file["models"].contains(wanted)) refuse("the parameter file has no parameters of {}", wanted);
  const nlohmann::json& object = file["models"][wanted];
  if (!object.is_object()) refuse("{} must be an object", wanted);
  Parameters out;
  if (file.contains("machine") && file["machine"].is_string()) out.machine = file["machine"];
  out.model = model;
  out.value[compute] = 1;
  if (out.has_rows()) {
    out.value = {quantity(object, "L", kTimes), 1, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    out.rows = length_rows(object, model);
    if (model == Model::curve) out.longest_eager = length(object, "S");
    return out;
  }
  for (uint8_t i = 0; i < compute; ++i) {
    const auto term = static_cast<Term>(i);
    const char* const name = out.name_of(term);
    if (name == nullptr) continue;
    out.value[i] = is_time(term) ? quantity(object, name, kTimes) : quantity(object, name, kRates);
  }
  out.longest_eager = length(object, "S");
  if (model != Model::loggops) out.longest_packet = length(object, "s");
  return out;
}

Parameters find_parameters(const std::string& name_or_file, Model model) {
  const auto* const known = std::ranges::find(kMachines, name_or_file);
  if (known != kMachines.end())
    return of_paper(static_cast<std::size_t>(known - kMachines.begin()), model);
  std::ifstream in(name_or_file);
  if (!in || std::filesystem::is_directory(name_or_file))
    refuse(
        "{}: no such file, and no machine of that name; omni model fit writes such a file, machines "
        "are {}",
        name_or_file, fmt::join(kMachines, ", "));
  const auto file = nlohmann::json::parse(in, nullptr, false);
  if (file.is_discarded()) refuse("{}: not a JSON file", name_or_file);
  try {
    Parameters out = parse_parameters(file, model);
    if (out.machine.empty()) out.machine = name_or_file;
    return out;
  } catch (const InputError& error) {
    refuse("{}: {}", name_or_file, error.what());
  }
}

}  // namespace ompl::model
