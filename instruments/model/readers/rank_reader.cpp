// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/rank_reader.hpp"

#include <algorithm>
#include <queue>

namespace ompl::model {

namespace {

using trace::CallView;
using trace::Flag;
using trace::Group;
using trace::Kind;
using trace::Record;

bool is_side(const Record& record) { return trace::group_of(record.kind) == Group::kSide; }

// Partitioned ones are not modelled.
bool is_persistent(const Record& call) {
  const Group group = trace::group_of(call.kind);
  return (group == Group::kMakeSend || group == Group::kMakeReceive) && call.kind != Kind::kPsendInit &&
         call.kind != Kind::kPrecvInit;
}

bool asks_any(const Record& record) {
  return (record.flags & (Flag::kAskedAnySource | Flag::kAskedAnyTag)) != 0 ||
         record.peer == trace::kAnySource || record.tag == trace::kAnyTag;
}

Halo halo_of(const CallView& view) {
  Halo out{view.ids, view.sent, view.received};
  if (out.sent.size() != out.ranks.size() || out.received.size() != out.ranks.size())
    refuse("a halo of {} neighbours has {} and {} lengths", out.ranks.size(), out.sent.size(),
           out.received.size());
  return out;
}

// What completions tell of the requests posted before them. Sees calls in the order of time.
class Learner {
 public:
  explicit Learner(RankFile& file) : file_(file), several_(file.trace.threads().size() > 1) {}

  void learn(const CallView& view, std::size_t thread) {
    const Record& call = *view.call;
    if (call.site < file_.kinds.size()) file_.kinds[call.site] = call.kind;
    if (call.kind == Kind::kOmplTaskBegin) file_.task_names[call.request] = 0;
    const Group group = trace::group_of(call.kind);
    if ((group == Group::kPostReceive || group == Group::kMakeReceive) && asks_any(call))
      any_.insert(call.request);
    if (is_persistent(call)) file_.made[call.request] = call;
    if (!view.words.empty()) file_.names_words = true;
    if (call.kind == Kind::kOmplCall || call.kind == Kind::kOmplCallNb) file_.calls_functions = true;
    if (call.kind == Kind::kOmplHaloCreate) file_.halos[call.request] = halo_of(view);
    if (group == Group::kComplete) {
      if (call.request != 0) complete(call.request, call, thread);
      for (const Record& match : view.matches) complete(match.request, match, thread);
    }
    if (several_ && (call.flags & Flag::kFailed) == 0) learn_of_several(view, group, thread);
  }

 private:
  void complete(uint32_t request, const Record& record, std::size_t thread) {
    const auto poster = open_.find(request);
    const uint64_t key = key_of(poster == open_.end() ? thread : poster->second, request);
    const uint64_t before = file_.made.contains(request) ? completed_[key]++ : 0;
    if ((record.flags & Flag::kCancelled) != 0) file_.cancelled[key].insert(before);
    if (any_.contains(request) && record.peer >= 0)
      file_.partners[key].push_back({record.peer, record.tag});
  }

  void learn_of_several(const CallView& view, Group group, std::size_t thread) {
    const Record& call = *view.call;
    if (call.kind == Kind::kOmplFlagThen && call.request != 0) open_[call.request] = thread;
    if (call.kind == Kind::kOmplTaskBegin)
      for (const uint32_t wait : view.ids) end(wait, thread);
    switch (group) {
      case Group::kPostSend:
        if (!view.matches.empty()) return;  // Isendrecv
        [[fallthrough]];
      case Group::kPostReceive:
        open_[call.request] = thread;
        return;
      case Group::kPostCollective:
        open_[call.request] = thread;
        file_.collectives_before[call.request] = collectives_[call.comm]++;
        return;
      case Group::kStart:
        for (const uint32_t request : view.requests()) open_[request] = thread;
        return;
      case Group::kComplete:
        for (const uint32_t request : view.requests()) end(request, thread);
        return;
      default:
        return;
    }
  }

  void end(uint32_t request, std::size_t thread) {
    const auto found = open_.find(request);
    if (found == open_.end()) return;
    const std::size_t poster = found->second;
    open_.erase(found);
    if (poster == thread && !file_.made.contains(request)) return;
    const uint32_t number = poster == thread ? 0 : ++numbers_;
    file_.given[key_of(poster, request)].push_back(number);
    file_.taken[key_of(thread, request)].push_back(number);
  }

  RankFile& file_;
  bool several_;
  std::unordered_set<uint32_t> any_;
  std::unordered_map<uint64_t, uint64_t> completed_;    // persistent ones, how often so far
  std::unordered_map<uint32_t, std::size_t> open_;      // of several threads: who posted a request
  std::unordered_map<uint32_t, uint64_t> collectives_;  // nonblocking ones so far, by communicator
  uint32_t numbers_ = 0;
};

// When a call has the effect that calls of other threads may know of.
uint64_t moment_of(const Record& call) {
  return trace::group_of(call.kind) == Group::kComplete ? call.end : call.begin;
}

// The calls of all threads, each as it takes effect.
void learn_in_turn(RankFile& file, Learner& learner) {
  struct Next {
    CallCursor calls;
    CallView view;
  };
  using Moment = std::pair<uint64_t, std::size_t>;
  std::vector<Next> threads;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> queue;
  for (const auto& thread : file.trace.threads()) {
    threads.push_back({CallCursor(file.trace, thread), {}});
    if (threads.back().calls.next(threads.back().view))
      queue.emplace(moment_of(*threads.back().view.call), threads.size() - 1);
  }
  while (!queue.empty()) {
    const std::size_t thread = queue.top().second;
    queue.pop();
    Next& next = threads[thread];
    learner.learn(next.view, thread);
    if (next.calls.next(next.view)) queue.emplace(moment_of(*next.view.call), thread);
  }
}

// Of what happens several times to a request of this thread, the entry of this time; null if there are no more.
template <class Entry>
const Entry* next_entry(const std::unordered_map<uint64_t, std::vector<Entry>>& all, std::size_t thread,
                        uint32_t request, std::unordered_map<uint32_t, std::size_t>& used) {
  const auto found = all.find(key_of(thread, request));
  if (found == all.end()) return nullptr;
  std::size_t& at = used[request];
  return at < found->second.size() ? &found->second[at++] : nullptr;
}

std::optional<uint32_t> number_of(const uint32_t* entry) {
  return entry == nullptr || *entry == 0 ? std::nullopt : std::optional(*entry);
}

}  // namespace

RankFile::RankFile(const std::filesystem::path& path) : map(path), trace(path.string(), map.bytes()) {
  Learner learner(*this);
  const auto& threads = trace.threads();
  if (threads.size() == 1)
    trace.for_each_call(threads[0], [&](const CallView& view) { learner.learn(view, 0); });
  else
    learn_in_turn(*this, learner);
}

void RankFile::place(const std::string& folder, uint32_t rank, uint32_t ranks,
                     std::map<uint64_t, uint32_t>& numbers) {
  if (trace.header().rank != rank || trace.header().ranks != ranks)
    refuse("{}: the file of rank {} is of rank {} of {}", folder, rank, trace.header().rank,
           trace.header().ranks);
  for (const auto& [id, info] : trace.communicators()) {
    const auto& definition = info.definition;
    if (definition.rank >= definition.size)
      refuse("{}: rank {} of a communicator of {}", folder, definition.rank, definition.size);
    const auto number = numbers.emplace(definition.global, static_cast<uint32_t>(numbers.size())).first;
    const auto outside = [ranks](const std::vector<uint32_t>& members) {
      return std::ranges::any_of(members, [ranks](uint32_t one) { return one >= ranks; });
    };
    groups[id] = {number->second, definition.rank, definition.size, &info,
                  outside(info.ranks) || outside(info.remote_ranks)};
  }
}

std::string place_of(const trace::RankTrace& trace, const trace::SiteDefinition& site) {
  const std::string module = std::filesystem::path(trace.text(site.module)).filename().string();
  std::string place = fmt::format("{}+{:#x}", module, site.offset);
  if (site.symbol == 0) return place;
  return fmt::format("{}+{:#x} ({})", trace.text(site.symbol), site.inside, place);
}

const Record* CallCursor::next_record() {
  while (block_ < thread_->blocks.size() && record_ == thread_->blocks[block_].size()) {
    ++block_;
    record_ = 0;
  }
  return block_ == thread_->blocks.size() ? nullptr : &thread_->blocks[block_][record_];
}

bool CallCursor::next(CallView& view) {
  if (next_record() == nullptr) return false;
  piece_.blocks.clear();
  do {
    const auto& block = thread_->blocks[block_];
    const std::size_t first = record_++;
    while (record_ < block.size() && is_side(block[record_])) ++record_;
    piece_.blocks.push_back(block.subspan(first, record_ - first));
  } while (next_record() != nullptr && is_side(*next_record()));
  trace_->for_each_call(piece_, [&view](const CallView& one) { view = one; });
  return true;
}

const Record* CallCursor::next_of_program() const {
  std::size_t at = record_;
  for (std::size_t block = block_; block < thread_->blocks.size(); ++block, at = 0)
    for (; at < thread_->blocks[block].size(); ++at)
      if (const Record& record = thread_->blocks[block][at]; record.kind != Kind::kTracer)
        return &record;
  return nullptr;
}

RankReader::RankReader(const RankFile& file, uint32_t rank, std::size_t thread,
                       const Algorithms& algorithms)
    : CallReader(rank, algorithms), file_(file), thread_(thread) {
  const auto& threads = file.trace.threads();
  if (thread >= threads.size()) return;
  calls_.emplace(file.trace, threads[thread]);
  // The first thread begins with MPI_Init, whose end is the program's beginning.
  CallView first{};
  if (CallCursor(file.trace, threads[0]).next(first))
    be_thread(thread, threads.size(), first.call->end);
}

const Members& RankReader::group(uint32_t communicator) {
  const auto found = file_.groups.find(communicator);
  if (found == file_.groups.end())
    refuse("rank {}: a call names communicator {}, which is none", rank(), communicator);
  return found->second;
}

uint32_t RankReader::site(const Record& call) const {
  if (call.kind == Kind::kOmplTaskBegin || call.kind == Kind::kOmplTaskEnd) {
    const auto task = file_.task_names.find(call.request);
    return task == file_.task_names.end() ? 0 : task->second;
  }
  const auto found = file_.sites.find(call.site);
  return found == file_.sites.end() ? 0 : found->second;
}

std::optional<CallReader::Window> RankReader::window(uint32_t id) {
  const auto& all = file_.trace.windows();
  const auto found = all.find(id);
  if (found == all.end()) return std::nullopt;
  const Members& of = group(found->second.comm);
  if (of.outside) return std::nullopt;
  Window out{&of, 0};
  for (auto earlier = all.begin(); earlier != found; ++earlier) {
    const auto other = file_.groups.find(earlier->second.comm);
    if (other != file_.groups.end() && other->second.number == of.number) ++out.ordinal;
  }
  return out;
}

std::optional<Neighbours> RankReader::neighbours_in(uint32_t communicator) {
  return neighbours_of(file_.trace, communicator);
}

bool RankReader::complete_post(Record& call) {
  if (file_.is_cancelled(thread_, call.request, posts_of_cancelled_)) return false;
  if (const Partner* got = next_entry(file_.partners, thread_, call.request, partners_used_)) {
    call.peer = got->peer;
    call.tag = got->tag;
  }
  return true;
}

std::optional<uint32_t> RankReader::given(uint32_t request) {
  return number_of(next_entry(file_.given, thread_, request, given_used_));
}

std::optional<uint32_t> RankReader::taken(uint32_t request) {
  return number_of(next_entry(file_.taken, thread_, request, taken_used_));
}

const Record* RankReader::made_elsewhere(uint32_t request) {
  const auto found = file_.made.find(request);
  return found == file_.made.end() ? nullptr : &found->second;
}

std::optional<uint64_t> RankReader::collective_before(uint32_t request) {
  const auto found = file_.collectives_before.find(request);
  return found == file_.collectives_before.end() ? std::nullopt : std::optional(found->second);
}

uint32_t RankReader::signals_of(uint32_t word) {
  if (file_.signals == nullptr) return 1;
  const auto taken = file_.signals->taken_by(rank(), thread_, word);
  std::size_t& at = waits_used_[word];
  return at < taken.size() ? taken[at++] : 0;
}

FunctionRun RankReader::next_run() {
  if (file_.remote_calls == nullptr) return {};
  const auto runs = file_.remote_calls->of(rank(), thread_);
  return functions_run_ < runs.size() ? runs[functions_run_++] : FunctionRun{};
}

const Halo* RankReader::halo(uint32_t number) const {
  const auto found = file_.halos.find(number);
  return found == file_.halos.end() ? nullptr : &found->second;
}

}  // namespace ompl::model
