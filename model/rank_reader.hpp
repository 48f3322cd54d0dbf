// SPDX-License-Identifier: BSD-3-Clause
// One rank of a recorded trace: its file, and its calls as operations.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/collectives.hpp"
#include "model/error.hpp"
#include "model/trace.hpp"
#include "reader/folder.hpp"
#include "reader/reader.hpp"

namespace ompl::model {

// A communicator as all its members know it.
struct Members {
  uint32_t number;  // the same at all members
  uint32_t rank, size;
  const trace::CommunicatorInfo* info;

  // `caller`: the rank of the trace that names the peer, for messages.
  [[nodiscard]] uint32_t world_rank(uint32_t caller, int64_t peer) const {
    const bool remote = info->definition.remote > 0;
    const auto& ranks = remote ? info->remote_ranks : info->ranks;
    if (peer < 0 || peer >= (remote ? info->definition.remote : size))
      refuse("rank {}: a call names rank {} of a communicator of {}", caller, peer, size);
    return ranks.empty() ? static_cast<uint32_t>(peer) : ranks[static_cast<std::size_t>(peer)];
  }
};

struct Partner {
  int32_t peer, tag;
};

struct RankFile {
  // Checks the file. Throws TraceError, or InputError for a rank of several threads.
  explicit RankFile(const std::filesystem::path& path);

  trace::MappedFile map;
  trace::RankTrace trace;
  std::unordered_map<uint32_t, Members> groups;  // by communicator id
  std::unordered_map<uint32_t, uint32_t> sites;  // from its ids to the trace's
  // Of receives from any, by request: what they got, one after the other.
  std::unordered_map<uint32_t, std::vector<Partner>> partners;
  std::unordered_set<uint32_t> cancelled;  // requests
  std::array<trace::Kind, 4096> kinds{};   // what is called at a site, of the first so many
};

// The calls of one rank as operations.
class RankReader {
 public:
  RankReader(const RankFile& file, uint32_t rank, const Algorithms& algorithms)
      : file_(file), rank_(rank), algorithms_(algorithms) {
    if (!file.trace.threads().empty()) thread_ = &file.trace.threads().front();
  }

  bool next(Op& op);
  [[nodiscard]] const std::map<std::string, uint64_t>& not_modelled() const { return not_modelled_; }
  [[nodiscard]] uint64_t count_of(Collective kind) const {
    return collectives_[static_cast<std::size_t>(kind)];
  }

 private:
  const trace::Record* next_record();
  // A call and the side records behind it, which may lie in the next block.
  bool next_call(trace::CallView& view);

  void translate(const trace::CallView& view);
  void send(const trace::CallView& view);
  void post(const trace::Record& call);
  void complete(const trace::CallView& view);
  void start(const trace::CallView& view);
  void collective(const trace::CallView& view, Collective kind);
  void opaque(const trace::Record& call);
  void add(Op op) {
    op.site = site_;
    if (op.kind == OpKind::isend || op.kind == OpKind::irecv) ++posted_;
    ops_.push_back(op);
  }

  const Members& group(uint32_t communicator) const {
    const auto found = file_.groups.find(communicator);
    if (found == file_.groups.end())
      refuse("rank {}: a call names communicator {}, which is none", rank_, communicator);
    return found->second;
  }
  // An operation with a rank of a communicator; nothing for MPI_PROC_NULL.
  std::optional<Op> message(OpKind kind, const trace::Record& call) const;
  void wait_for(std::span<const uint64_t> requests) {
    for (std::size_t i = 0; i < requests.size(); ++i)
      add({.kind = OpKind::wait, .more = i + 1 < requests.size(), .request = requests[i]});
  }

  const RankFile& file_;
  uint32_t rank_;
  Algorithms algorithms_;
  std::array<uint64_t, kCollectives> collectives_{};  // so far
  const trace::StreamView* thread_ = nullptr;
  std::size_t block_ = 0, record_ = 0;
  trace::StreamView piece_;  // of the present call
  std::vector<Op> ops_;      // of the present call
  std::size_t given_ = 0;
  uint64_t before_ = 0;  // end of the call before
  uint64_t posted_ = 0;
  uint32_t site_ = 0;
  bool begun_ = false, over_ = false;
  std::unordered_map<uint32_t, uint64_t> open_;             // from their ids to ours
  std::unordered_map<uint32_t, trace::Record> persistent_;  // as made
  std::unordered_map<uint32_t, std::size_t> partners_used_;
  std::map<std::string, uint64_t> not_modelled_;
};

}  // namespace ompl::model
