// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/remote_calls.hpp"

#include <algorithm>

namespace ompl::model {

using trace::Kind;

RemoteCalls::RemoteCalls(std::span<const trace::RankTrace* const> ranks) {
  for (const trace::RankTrace* const trace : ranks) {
    for (std::size_t thread = 0; thread < trace->threads().size(); ++thread) {
      Recent recent;
      trace->for_each_call(trace->threads()[thread], [&](const trace::CallView& view) {
        add(*trace, thread, *view.call, recent);
      });
    }
  }
  for (auto& [key, pair] : pairs_) {
    std::ranges::stable_sort(pair.calls, {}, &Call::time);
    std::ranges::stable_sort(pair.runs, {}, &Run::time);
    const std::size_t count = std::min(pair.calls.size(), pair.runs.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Run& run = pair.runs[i];
      runs_[{std::get<1>(key), run.thread}][run.number].answers = pair.calls[i].awaits_reply;
    }
  }
  pairs_.clear();
}

void RemoteCalls::add(const trace::RankTrace& trace, std::size_t thread, const trace::Record& call,
                      Recent& recent) {
  const uint32_t rank = trace.header().rank;
  const auto peer = static_cast<uint32_t>(call.peer);
  if (call.kind == Kind::kOmplFunction) {
    std::vector<FunctionRun>& runs = runs_[{rank, thread}];
    pairs_[{peer, rank, call.tag}].runs.push_back({trace.reference_ns(call.end), thread, runs.size()});
    runs.emplace_back();
    recent.in_function = true;
  } else if (call.kind == Kind::kOmplReply) {
    recent.in_function = false;
  } else if (!recent.in_function) {
    const auto found = runs_.find({rank, thread});
    if (found != runs_.end()) {
      std::vector<FunctionRun>& runs = found->second;
      for (; recent.first < runs.size(); ++recent.first)
        runs[recent.first].within = (call.flags & trace::kInterrupted) != 0;
    }
  }
  if ((call.flags & (trace::kFailed | trace::kRetried)) != 0) return;
  if (call.kind == Kind::kOmplCall || call.kind == Kind::kOmplCallNb)
    pairs_[{rank, peer, call.tag}].calls.push_back({trace.reference_ns(call.begin), call.request != 0});
}

std::span<const FunctionRun> RemoteCalls::of(uint32_t rank, std::size_t thread) const {
  const auto found = runs_.find({rank, thread});
  return found == runs_.end() ? std::span<const FunctionRun>{} : found->second;
}

}  // namespace ompl::model
