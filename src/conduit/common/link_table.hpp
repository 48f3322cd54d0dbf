// SPDX-License-Identifier: BSD-3-Clause
// What network conduits have in common about their links. A link is what an endpoint and one rank (with one of its
// endpoints) have between them: made on first use, broken once and for all.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/clock.hpp"
#include "arch/give_way.hpp"
#include "conduit/common/losses.hpp"
#include "conduit/conduit.hpp"
#include "omnipgas/ompl.h"
#include "util/status.hpp"

namespace ompl::conduit {

// What every link has. Changed under the claim only; what other threads read is atomic.
struct LinkState {
  explicit LinkState(uint32_t to_rank) : rank(to_rank) {}

  const uint32_t rank;
  std::atomic<int> failure{OMPL_OK};
  std::atomic<bool> departed{false};  // the other side closed its endpoint in order
  std::string why;                    // of the failure

  // Why; without memory for it, that.
  void note_why(std::string_view reason) noexcept {
    try {
      why = reason;
    } catch (const std::bad_alloc&) {
      why.assign(kNoMemoryForText);
    }
  }
};

// The links of one endpoint. `Link` is a LinkState.
template <class Link>
class LinkTable {
 public:
  explicit LinkTable(uint32_t ranks) : by_rank_(ranks) {}

  // The link that this side sends to `rank` on, null if none was ever begun. Any thread.
  [[nodiscard]] Link* find(uint32_t rank) const {
    return by_rank_[rank].load(std::memory_order_acquire);
  }
  // The same, for whoever holds the claim.
  [[nodiscard]] Link* known(uint32_t rank) const {
    return by_rank_[rank].load(std::memory_order_relaxed);
  }
  // The link with endpoint `slot` of `rank`, whichever side sends on it; null if there is none.
  [[nodiscard]] Link* find(uint32_t rank, uint32_t slot) const {
    Link* const link = known(rank);
    if (link != nullptr && link->slot == slot) return link;
    const auto same = [&](const auto& l) { return l->rank == rank && l->slot == slot; };
    const auto found = std::ranges::find_if(all_, same);
    return found != all_.end() ? found->get() : nullptr;
  }
  // All of them, those on which only the other side sends too, in the order of their making.
  [[nodiscard]] const std::vector<std::unique_ptr<Link>>& all() const { return all_; }

  // Makes a link, which find() does not know yet by its rank alone.
  template <class... Arguments>
  Link& add(Arguments&&... arguments) {
    return *all_.emplace_back(std::make_unique<Link>(std::forward<Arguments>(arguments)...));
  }
  // From now on this side sends to its rank on that link.
  void use(Link& link) { by_rank_[link.rank].store(&link, std::memory_order_release); }
  void clear() { all_.clear(); }

 private:
  std::vector<std::atomic<Link*>> by_rank_;
  std::vector<std::unique_ptr<Link>> all_;
};

// --- Answers to posts ----------------------------------------------------------------------------------

inline Post retry(Post::Reason reason) { return {.state = Post::State::retry, .reason = reason}; }

inline bool is_posted(const Post& post) {
  return post.state == Post::State::done || post.state == Post::State::pending;
}

// The answer to a post on a link that does not send. Whoever declares the rank failed logs that, once.
[[gnu::cold]] inline Post refusal(const LinkState& link) {
  if (link.failure == OMPL_OK) return retry(Post::Reason::connecting);
  return {.state = Post::State::failed, .code = fail_quietly_with(link.failure, [&link] {
                                          return fmt::format("no connection to rank {}: {}", link.rank,
                                                             link.why);
                                        })};
}

// The link if it sends, else null and the answer to give.
template <class Link>
Link* sending(Link& link, Post* answer) {
  if (link.sends()) [[likely]]
    return &link;
  *answer = refusal(link);
  return nullptr;
}

// --- The endpoint --------------------------------------------------------------------------------------

// What an endpoint answers from its links. `Self` has find_link(rank), which is LinkTable::find(); and losses() if it
// knows of breaks of links on which only the other side sends. `Link` has completed().
template <class Self>
class LinkedEndpoint : public Endpoint {
 public:
  [[nodiscard]] uint64_t completed(uint32_t rank) const override {
    const auto* const link = self().find_link(rank);
    return link != nullptr ? link->completed() : 0;
  }
  [[nodiscard]] int failure(uint32_t rank) const final {
    const auto* const link = self().find_link(rank);
    return link != nullptr ? link->failure.load(std::memory_order_acquire) : OMPL_OK;
  }
  [[nodiscard]] int loss(uint32_t rank) const final {
    const int code = failure(rank);
    if constexpr (requires { self().losses(); }) {
      if (code == OMPL_OK) return self().losses().of(rank);
    }
    return code;
  }
  [[nodiscard]] bool departed(uint32_t rank) const final {
    const auto* const link = self().find_link(rank);
    return link != nullptr && link->departed.load(std::memory_order_acquire);
  }

 private:
  friend Self;
  LinkedEndpoint() = default;
  [[nodiscard]] const Self& self() const { return static_cast<const Self&>(*this); }
};

struct DiscardSink final : Sink {
  void signal(uint32_t /*source*/, const Signal& /*record*/) override {}
};

inline constexpr int kDrainBatch = 16;

// Progresses an endpoint that is about to close until `settled()`, or until that time (ms).
template <class Settled>
void drain(Endpoint& endpoint, int64_t limit, Settled settled) {
  DiscardSink discard;
  while (!settled() && endpoint.progress(discard, kDrainBatch) >= 0 && arch::now_ms() < limit)
    arch::give_way();
}

}  // namespace ompl::conduit
