// SPDX-License-Identifier: BSD-3-Clause
#include "model/writers/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace ompl::model {

namespace {

nlohmann::json times(const Breakdown& b) {
  return {{"compute", b.compute / kSecond_ns},
          {"overhead", b.overhead / kSecond_ns},
          {"send_wait", b.send_wait / kSecond_ns},
          {"recv_wait", b.recv_wait / kSecond_ns}};
}

nlohmann::json number_or_any(int64_t value) {
  return value == Op::kAny ? nlohmann::json("any") : nlohmann::json(value);
}

bool is_factor(Term term, std::string_view name) { return term == compute || name.ends_with("_scale"); }

// In seconds, seconds a byte, bytes; factors have no unit.
nlohmann::json values(const Parameters& parameters) {
  nlohmann::json out = nlohmann::json::object();
  for (uint8_t i = 0; i < term_count; ++i) {
    const auto term = static_cast<Term>(i);
    const char* const name = parameters.name_of(term);
    if (name != nullptr) out[name] = parameters.value[i] / (is_factor(term, name) ? 1 : kSecond_ns);
  }
  if (parameters.model == Model::loggps || parameters.model == Model::loggp2)
    out["s"] = parameters.longest_packet;
  if (parameters.model != Model::loggp1) out["S"] = parameters.longest_eager;
  return out;
}

nlohmann::json unmatched(const Result& result, const Trace& trace) {
  nlohmann::json out = nlohmann::json::array();
  for (const Unmatched& one : result.unmatched) {
    nlohmann::json row{{"kind", one.is_send ? "send" : "receive"},
                       {"rank", trace.rank_of(one.thread)},
                       {"peer", number_or_any(one.peer)},
                       {"tag", number_or_any(one.tag)},
                       {"where", trace.where(trace.rank_of(one.thread), one.site)}};
    if (!trace.further_threads().empty()) row["thread"] = trace.number_in_rank(one.thread);
    if (one.is_send) row["bytes"] = one.bytes;
    out.push_back(std::move(row));
  }
  return out;
}

// Ranks in their order, the threads of each in theirs.
nlohmann::json per_thread(const Result& result, const Trace& trace) {
  nlohmann::json out = nlohmann::json::array();
  for (const uint32_t thread : trace.threads_by_rank()) {
    nlohmann::json row = times(result.per_thread[thread]);
    row["rank"] = trace.rank_of(thread);
    row["thread"] = trace.number_in_rank(thread);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

nlohmann::json to_json(const Prediction& prediction, const Trace& trace, const Parameters& parameters) {
  const Result& result = prediction.result;
  nlohmann::json out{{"schema", "omnipgas-prediction-1"},
                     {"input", prediction.input},
                     {"machine", parameters.machine},
                     {"model", name_of(parameters.model)},
                     {"parameters", values(parameters)},
                     {"predicted_seconds", result.predicted_ns / kSecond_ns},
                     {"ranks", result.per_rank.size()},
                     {"messages", result.messages},
                     {"rendezvous", result.rendezvous},
                     {"read_seconds", prediction.read_seconds},
                     {"replay_seconds", prediction.replay_seconds},
                     {"threads", result.threads},
                     {"unmatched", unmatched(result, trace)},
                     {"unmatched_count", result.unmatched_count},
                     {"not_modelled", result.not_modelled}};
  if (result.region_ns >= 0) out["region_seconds"] = result.region_ns / kSecond_ns;
  out["per_rank"] = nlohmann::json::array();
  for (const Breakdown& b : result.per_rank) out["per_rank"].push_back(times(b));
  if (!trace.further_threads().empty()) out["per_thread"] = per_thread(result, trace);
  out["per_site"] = nlohmann::json::array();
  for (uint32_t site = 0; site < result.per_site.size(); ++site) {
    nlohmann::json row = times(result.per_site[site]);
    row["where"] = trace.where(0, site);
    if (const Address* const address = trace.address(site)) {
      row["module"] = address->module;
      row["offset"] = address->offset;
    }
    out["per_site"].push_back(std::move(row));
  }
  return out;
}

nlohmann::json to_json(const Sensitivity& sensitivity, const Result& result, const Trace& trace,
                       const Parameters& parameters, double with_longer_limit) {
  nlohmann::json out = nlohmann::json::object();
  // Counts are seconds a second, or seconds of a second a byte; a factor of 1 stands before nanoseconds.
  for (uint8_t i = 0; i < term_count; ++i) {
    const auto term = static_cast<Term>(i);
    const char* const name = parameters.name_of(term);
    if (name != nullptr) out[name] = sensitivity.count[i] / (is_factor(term, name) ? kSecond_ns : 1);
  }
  if (!std::isnan(with_longer_limit)) {
    const double change = (with_longer_limit - result.predicted_ns) / kSecond_ns;
    const uint64_t bytes = result.shortest_rendezvous;
    out["S"] = change / static_cast<double>(bytes - parameters.longest_eager);
    out["S_step"] = {{"S", bytes}, {"seconds", change}};
  }
  nlohmann::json path = nlohmann::json::array();
  for (const PathStep& step : sensitivity.path)
    path.push_back(
        {{"rank", step.rank},
         {"from", step.from_ns / kSecond_ns},
         {"to", step.to_ns / kSecond_ns},
         {"next_call", &step == &sensitivity.path.back() ? "" : trace.where(step.rank, step.site)}});
  out["critical_path"] = {{"steps", sensitivity.steps}, {"last", path}};
  return out;
}

std::string describe_deadlock(const Result& result) {
  const std::size_t threads = result.per_thread.size();
  std::string out = fmt::format("{} of {} {} stand still for ever", result.blocked_count, threads,
                                threads == result.per_rank.size() ? "ranks" : "threads of ranks");
  for (const std::string& line : result.blocked) out += "\n  " + line;
  if (result.blocked_count > result.blocked.size()) out += "\n  ...";
  return out;
}

}  // namespace ompl::model
