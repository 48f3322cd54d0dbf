// SPDX-License-Identifier: BSD-3-Clause
// One rank of a recorded trace: its file, and the calls of its threads.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/readers/call_reader.hpp"
#include "model/readers/remote_calls.hpp"
#include "model/readers/signals.hpp"
#include "trace/reader/folder.hpp"
#include "trace/reader/reader.hpp"

namespace ompl::model {

struct Partner {
  int32_t peer, tag;
};

// A request of a thread: its number in the file, from 0 on, and the request's id.
[[nodiscard]] constexpr uint64_t key_of(uint64_t thread, uint32_t request) {
  return thread << 32 | request;
}

// Of a request's entries, how many were used.
using Uses = std::unordered_map<uint32_t, std::size_t>;

struct RankFile {
  // Checks the file. Throws TraceError.
  explicit RankFile(const std::filesystem::path& path);

  // Fills in `groups`, with numbers that all ranks share, by the communicators' identities. Throws InputError for the
  // file of another rank.
  void place(const std::string& folder, uint32_t rank, uint32_t ranks,
             std::map<uint64_t, uint32_t>& numbers);

  // Whether this post, the thread's next of the request, was cancelled. `posts`: of such requests.
  [[nodiscard]] bool is_cancelled(uint64_t thread, uint32_t request, Uses& posts) const {
    const auto found = cancelled.find(key_of(thread, request));
    return found != cancelled.end() && found->second.contains(posts[request]++);
  }

  trace::MappedFile map;
  trace::RankTrace trace;
  std::unordered_map<uint32_t, Members> groups;  // by communicator id
  std::unordered_map<uint32_t, uint32_t> sites;  // from its ids to the trace's
  std::map<uint32_t, uint32_t> task_names;       // the same, of tasks, by the texts of their names
  // Of receives from any, by who posted them: what they got, one after the other.
  std::unordered_map<uint64_t, std::vector<Partner>> partners;
  std::unordered_map<uint64_t, std::unordered_set<uint64_t>> cancelled;  // the same: which times
  std::array<trace::Kind, 4096> kinds{};             // what is called at a site, of the first so many
  std::unordered_map<uint32_t, trace::Record> made;  // persistent requests
  std::unordered_map<uint32_t, Halo> halos;          // by number
  bool names_words = false;                   // some call says what it does to a word, or waits for
  const Signals* signals = nullptr;           // of all ranks; null: each wait takes one
  bool calls_functions = false;               // some call is a remote call
  const RemoteCalls* remote_calls = nullptr;  // of all ranks

  // Of several threads. What one posts and another completes has a number; here by who posts, and by who completes, of each
  // time in turn, and 0 where it was the same. What is not here stays in its thread.
  std::unordered_map<uint64_t, std::vector<uint32_t>> given, taken;
  std::unordered_map<uint32_t, uint64_t>
      collectives_before;  // by request: nonblocking ones of its communicator
};

// solve+0x12 (app+0x13a4), or without an exported symbol app+0x13a4
[[nodiscard]] std::string place_of(const trace::RankTrace& trace, const trace::SiteDefinition& site);

// The calls of a thread in their order.
class CallCursor {
 public:
  CallCursor(const trace::RankTrace& trace, const trace::StreamView& thread)
      : trace_(&trace), thread_(&thread) {}

  // The side records behind a call may lie in the next block.
  bool next(trace::CallView& view);
  // The record behind the present call, but for the tracer's own time.
  [[nodiscard]] const trace::Record* next_of_program() const;

 private:
  const trace::Record* next_record();

  const trace::RankTrace* trace_;
  const trace::StreamView* thread_;
  std::size_t block_ = 0, record_ = 0;
  trace::StreamView piece_;  // of the present call
};

class RankReader : public CallReader {
 public:
  // `thread`: of the file's threads, from 0 on; it may have none at all.
  RankReader(const RankFile& file, uint32_t rank, std::size_t thread, const Algorithms& algorithms);

 protected:
  bool next_call(trace::CallView& view) override { return calls_ && calls_->next(view); }
  [[nodiscard]] const Members& group(uint32_t communicator) override;
  [[nodiscard]] uint32_t site(const trace::Record& call) const override;
  [[nodiscard]] std::optional<Window> window(uint32_t id) override;
  [[nodiscard]] std::optional<Neighbours> neighbours_in(uint32_t communicator) override;
  [[nodiscard]] const trace::Record* next_of_program() const override {
    return calls_->next_of_program();
  }
  bool complete_post(trace::Record& call) override;
  std::optional<uint32_t> given(uint32_t request) override;
  std::optional<uint32_t> taken(uint32_t request) override;
  const trace::Record* made_elsewhere(uint32_t request) override;
  std::optional<uint64_t> collective_before(uint32_t request) override;
  [[nodiscard]] uint32_t signals_of(uint32_t word) override;
  FunctionRun next_run() override;
  [[nodiscard]] bool is_waited_for(uint32_t rank, uint32_t word) const override {
    return file_.signals != nullptr && file_.signals->is_waited_for(rank, word);
  }
  [[nodiscard]] const Halo* halo(uint32_t number) const override;

 private:
  const RankFile& file_;
  std::size_t thread_;
  std::optional<CallCursor> calls_;
  Uses partners_used_, given_used_, taken_used_, posts_of_cancelled_;
  Uses waits_used_;  // by word
  std::size_t functions_run_ = 0;
};

}  // namespace ompl::model
