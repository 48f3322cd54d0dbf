// SPDX-License-Identifier: BSD-3-Clause
#include "model/whatif/whatif.hpp"

#include <atomic>
#include <cmath>
#include <thread>

#include "common/input_error.hpp"
#include "model/whatif/fragmenting.hpp"
#include "model/writers/report.hpp"

namespace ompl::model {

namespace {

using nlohmann::json;

uint64_t length(const std::string& name, double value) {
  constexpr double kMost = 1e18;
  if (value < 0 || value > kMost || value != std::floor(value))
    refuse("{} must be a whole number of bytes, at most 1e18", name);
  return static_cast<uint64_t>(value);
}

// Gives a parameter the value that `change` makes of its present one.
template <class F>
void alter(Parameters& p, const std::string& name, const F& change) {
  const bool has_both = p.model != Model::loggp1 && p.model != Model::curve;
  if ((name == "S" && p.model != Model::loggp1) || (name == "s" && has_both)) {
    uint64_t& its = name == "S" ? p.longest_eager : p.longest_packet;
    its = length(name, change(static_cast<double>(its)));
    return;
  }
  std::string known = has_both ? "s, S, compute" : p.model == Model::curve ? "S, compute" : "compute";
  for (uint8_t i = 0; i < term_count; ++i) {
    const char* const its = p.name_of(static_cast<Term>(i));
    if (its == nullptr) continue;
    if (i != compute) known += fmt::format(", {}", its);
    if (name != its) continue;
    p.value[i] = change(p.value[i]);
    if (!std::isfinite(p.value[i]) || p.value[i] < 0) refuse("{} must be a number from 0 on", name);
    return;
  }
  refuse("{} has no parameter {}; there are {}", name_of(p.model), name, known);
}

const json& member(const json& object, const char* name) {
  static const json kNone = json::object();
  const auto found = object.find(name);
  if (found == object.end()) return kNone;
  if (!found->is_object()) refuse("\"{}\" of a change must be an object", name);
  return *found;
}

double number(const json& value, const std::string& name) {
  if (!value.is_number()) refuse("{} of a change must be a number", name);
  return value.get<double>();
}

uint64_t bytes_of_fragments(const json& value, const Parameters& parameters) {
  if (value.is_boolean() && !value.get<bool>()) return 0;
  const uint64_t bytes =
      value.is_boolean() ? parameters.longest_eager : length("fragment", number(value, "fragment"));
  if (bytes == 0) refuse("messages cannot be cut to 0 bytes");
  return bytes;
}

json outcome(const Result& result) {
  if (result.blocked_count > 0) return {{"error", describe_deadlock(result)}};
  Breakdown sum;
  for (const Breakdown& b : result.per_rank) sum += b;
  const double mean = 1 / kSecond_ns / static_cast<double>(result.per_rank.size());
  json out{{"predicted_seconds", result.predicted_ns / kSecond_ns},
           {"messages", result.messages},
           {"rendezvous", result.rendezvous},
           {"per_rank_mean",
            {{"compute", sum.compute * mean},
             {"overhead", sum.overhead * mean},
             {"send_wait", sum.send_wait * mean},
             {"recv_wait", sum.recv_wait * mean}}}};
  if (result.region_ns >= 0) out["region_seconds"] = result.region_ns / kSecond_ns;
  return out;
}

// The trace with its collectives by other algorithms.
class Rearranged : public Remade {
 public:
  Rearranged(const Trace& trace, const Algorithms& algorithms)
      : Remade(trace), algorithms_(algorithms) {}
  [[nodiscard]] std::unique_ptr<Stream> open() const override { return trace_.open_with(algorithms_); }

 private:
  Algorithms algorithms_;
};

json replay_change(const Trace& trace, const Change& change, const Options& options) try {
  const std::unique_ptr<Trace> cut =
      change.fragment > 0 ? std::make_unique<Fragmented>(trace, change.fragment) : nullptr;
  const Rearranged changed(cut ? *cut : trace, change.algorithms);
  json out = outcome(replay(changed, change.parameters, options));
  out["name"] = change.name;
  return out;
} catch (const std::exception& error) {
  return {{"name", change.name}, {"error", error.what()}};
}

json to_json(const Survey& survey, const Parameters& parameters) {
  json lengths = json::array();
  for (const auto& [bytes, count] : survey.lengths) lengths.push_back({bytes, count});
  json algorithms = json::object();
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto kind = static_cast<Collective>(i);
    if (survey.collectives.contains(std::string(name_of(kind))))
      algorithms[std::string(name_of(kind))] = algorithms_of(kind);
  }
  json out{{"lengths", lengths}, {"collectives", survey.collectives}, {"algorithms", algorithms}};
  out["parameters"] = json::object();
  for (uint8_t i = 0; i < term_count; ++i)
    if (const char* const name = parameters.name_of(static_cast<Term>(i)); name != nullptr)
      out["parameters"][name] = parameters.value[i];
  if (parameters.model == Model::loggp1) return out;
  out["parameters"]["S"] = parameters.longest_eager;
  if (parameters.longest_eager == 0) return out;
  json per_rank = json::array();
  for (std::size_t rank = 0; rank < survey.long_bytes.size(); ++rank) {
    const FragmentingCost cost = fragmenting_cost(parameters, survey.long_bytes[rank]);
    per_rank.push_back({{"messages", survey.long_messages[rank]},
                        {"bytes", survey.long_bytes[rank]},
                        {"pieces", cost.messages},
                        {"seconds", cost.ns / kSecond_ns}});
  }
  out["fragmenting"] = {{"S", parameters.longest_eager},
                        {"piece_seconds", eager_ns(parameters, parameters.longest_eager) / kSecond_ns},
                        {"per_rank", per_rank}};
  return out;
}

}  // namespace

Survey survey(const Trace& trace, uint64_t longest_eager) {
  Survey out;
  out.long_messages.resize(trace.ranks());
  out.long_bytes.resize(trace.ranks());
  const auto stream = trace.open();
  Op op;
  for (uint32_t thread = 0; thread < trace.threads(); ++thread) {
    const uint32_t rank = trace.rank_of(thread);
    while (stream->next(thread, op)) {
      if ((op.kind != OpKind::send && op.kind != OpKind::isend) || op.synchronous || op.buffered)
        continue;
      ++out.lengths[op.bytes];
      if (op.bytes <= longest_eager || op.collective) continue;
      ++out.long_messages[rank];
      out.long_bytes[rank] += op.bytes;
    }
  }
  out.collectives = stream->collectives();
  return out;
}

Change read_change(const json& object, const Parameters& base) {
  constexpr std::array<std::string_view, 6> kKnown{"name",  "machine",     "set",
                                                   "scale", "collectives", "fragment"};
  if (!object.is_object()) refuse("a change must be an object");
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(kKnown, key) == kKnown.end())
      refuse("a change has no member {}; there are {}", key, fmt::join(kKnown, ", "));
  Change out{.name = {}, .parameters = base, .algorithms = {}};
  if (object.contains("name") && object["name"].is_string()) out.name = object["name"];
  if (object.contains("machine")) {
    if (!object["machine"].is_string()) refuse("\"machine\" of a change must be a name or a file");
    out.parameters = find_parameters(object["machine"], base.model);
  }
  for (const auto& [name, value] : member(object, "set").items())
    alter(out.parameters, name, [now = number(value, name)](double) { return now; });
  for (const auto& [name, value] : member(object, "scale").items())
    alter(out.parameters, name, [by = number(value, name)](double now) { return now * by; });
  for (const auto& [name, value] : member(object, "collectives").items()) {
    if (!value.is_string()) refuse("the algorithm of {} must be a name", name);
    out.algorithms.choose(name, value.get<std::string>());
  }
  if (object.contains("fragment"))
    out.fragment = bytes_of_fragments(object["fragment"], out.parameters);
  return out;
}

json what_if(const Trace& trace, const Parameters& base, const Options& options,
             const std::vector<Change>& changes, unsigned jobs) {
  std::vector<json> outcomes(changes.size() + 1);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < outcomes.size(); i = next++)
      outcomes[i] = replay_change(trace, i == 0 ? Change{"base", base, {}} : changes[i - 1], options);
  };
  json looked;
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < std::min<std::size_t>(jobs, outcomes.size() + 1); ++i)
      others.emplace_back(work);
    looked = to_json(survey(trace, base.longest_eager), base);  // throws what cannot be read
    work();
  }
  json out{{"schema", "omnipgas-whatif-1"}, {"machine", base.machine},
           {"model", name_of(base.model)},  {"ranks", trace.ranks()},
           {"survey", std::move(looked)},   {"base", outcomes.front()}};
  outcomes.erase(outcomes.begin());
  out["changes"] = outcomes;
  return out;
}

}  // namespace ompl::model
