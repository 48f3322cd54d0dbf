// SPDX-License-Identifier: BSD-3-Clause
#include "pmi_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace omplrun {
namespace pmi1 = ompl::bootstrap::pmi1;
namespace {

// The limits that every PMI-1 launcher announces; they count a terminating zero.
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxKey = 64;
constexpr std::size_t kMaxValue = 1024;

PmiServer::Result reply(uint32_t rank, std::string line) { return {{{rank, std::move(line)}}, {}, {}}; }

PmiServer::Result violation(std::string text) { return {{}, std::move(text), {}}; }

PmiServer::Result refuse(uint32_t rank, std::string_view command, std::string_view why) {
  return reply(rank, pmi1::line(command, {{"rc", "-1"}, {"msg", why}}));
}

// 0 only where a rank ends the job in order (ompl_job_exit): an abort without a code is no success.
int exit_code_of(const pmi1::Pmi1Message& request) {
  const auto code = pmi1::to_number(request.field("exitcode").value_or(""));
  const uint32_t least = request.field("orderly") ? 0 : 1;
  return code && *code >= least && *code < 256 ? static_cast<int>(*code) : 1;
}

}  // namespace

PmiServer::PmiServer(std::string job, const std::vector<uint32_t>& nodes)
    : job_(std::move(job)), ranks_(nodes.size()) {
  std::string mapping = pmi1::format_mapping(nodes);
  // A layout too long for a value is left out, as Hydra does: it is a hint.
  if (mapping.size() < kMaxValue) values_.emplace("PMI_process_mapping", std::move(mapping));
}

PmiServer::Result PmiServer::handle(uint32_t rank, std::string_view line) {
  const auto message = Pmi1Message::parse(line);
  if (!message)
    return violation(fmt::format("sent \"{}\", which is no PMI-1 command", line.substr(0, 80)));
  const auto command = message->command();
  if (command == "init") return init(rank, *message);
  if (command == "abort") return {{}, {}, exit_code_of(*message)};
  if (session(rank) != Session::open) {
    return violation(fmt::format("sent cmd={} outside a PMI session", command));
  }
  if (ranks_[rank].in_barrier)
    return violation(fmt::format("sent cmd={} inside a PMI barrier", command));
  if (command == "get_maxes") {
    return reply(rank, pmi1::line("maxes", {{"rc", "0"},
                                            {"kvsname_max", std::to_string(kMaxName)},
                                            {"keylen_max", std::to_string(kMaxKey)},
                                            {"vallen_max", std::to_string(kMaxValue)}}));
  }
  if (command == "get_my_kvsname") {
    return reply(rank, pmi1::line("my_kvsname", {{"rc", "0"}, {"kvsname", job_}}));
  }
  if (command == "get_universe_size") {
    return reply(rank,
                 pmi1::line("universe_size", {{"rc", "0"}, {"size", std::to_string(ranks_.size())}}));
  }
  if (command == "get_appnum") return reply(rank, pmi1::line("appnum", {{"rc", "0"}, {"appnum", "0"}}));
  if (command == "put") return put(rank, *message);
  if (command == "get") return get(rank, *message);
  if (command == "barrier_in") return barrier(rank);
  if (command == "finalize") return finalize(rank);
  return violation(fmt::format("sent cmd={}, which omplrun does not offer", command));
}

// A second init in an open session is allowed: two libraries of one process (ours and an MPI) may each
// have their own client. Hydra does the same.
PmiServer::Result PmiServer::init(uint32_t rank, const Pmi1Message& message) {
  if (session(rank) == Session::finalized)
    return violation("began a PMI session after its last one ended");
  if (message.field("pmi_version") != "1") {
    return refuse(rank, "response_to_init", "only_PMI_version_1_is_offered");
  }
  ranks_[rank].session = Session::open;
  return reply(rank, pmi1::line("response_to_init",
                                {{"pmi_version", "1"}, {"pmi_subversion", "1"}, {"rc", "0"}}));
}

PmiServer::Result PmiServer::put(uint32_t rank, const Pmi1Message& message) {
  const auto key = message.field("key").value_or("");
  const auto value = message.field("value").value_or("");
  if (message.field("kvsname") != job_) return refuse(rank, "put_result", "no_such_kvsname");
  if (key.empty() || key.size() >= kMaxKey) return refuse(rank, "put_result", "key_empty_or_too_long");
  if (value.size() >= kMaxValue) return refuse(rank, "put_result", "value_too_long");
  values_.insert_or_assign(std::string(key), value);
  return reply(rank, pmi1::line("put_result", {{"rc", "0"}, {"msg", "success"}}));
}

PmiServer::Result PmiServer::get(uint32_t rank, const Pmi1Message& message) {
  const auto found = values_.find(message.field("key").value_or(""));
  if (message.field("kvsname") != job_) return refuse(rank, "get_result", "no_such_kvsname");
  if (found == values_.end()) return refuse(rank, "get_result", "key_not_found");
  return reply(rank,
               pmi1::line("get_result", {{"rc", "0"}, {"msg", "success"}, {"value", found->second}}));
}

PmiServer::Result PmiServer::barrier(uint32_t rank) {
  ranks_[rank].in_barrier = true;
  if (++waiting_ < ranks_.size()) return {};
  waiting_ = 0;
  Result result;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].in_barrier = false;
    result.replies.push_back({i, pmi1::line("barrier_out", {{"rc", "0"}})});
  }
  return result;
}

PmiServer::Result PmiServer::finalize(uint32_t rank) {
  ranks_[rank].session = Session::finalized;
  return reply(rank, pmi1::line("finalize_ack", {{"rc", "0"}}));
}

void PmiServer::rank_ended(uint32_t rank) {
  ranks_[rank].ended = true;
  if (std::exchange(ranks_[rank].in_barrier, false)) --waiting_;
}

std::optional<uint32_t> PmiServer::missing_from_barrier() const {
  if (waiting_ == 0) return std::nullopt;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].ended || session(i) == Session::finalized) return i;
  }
  return std::nullopt;
}

}  // namespace omplrun
