// SPDX-License-Identifier: BSD-3-Clause
#include "halo/halo.hpp"

#include <algorithm>
#include <array>

#include "core/data/checks.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl::halo {
namespace {

// By OMPL_HALO_*.
constexpr std::array kNames{"double-buffer",  "single",       "acked",  "mpi",
                            "mpi-persistent", "mpi-neighbor", "mpi-put"};

}  // namespace

int Halo::release(Context& c) {
  for (StrategyCandidate& candidate : candidates_)
    if (candidate.carrier) candidate.carrier->release();
  const int closed = setup_.close(c);
  const int freed = memory_ != 0 ? runtime_.collective.free(c, memory_) : OMPL_OK;
  return closed != OMPL_OK ? closed : freed;
}

// Sleeps where those do who wait for several flags.
template <class Ready>
int Halo::block(Context& c, Ready ready, Deadline deadline) {
  Carrier& carrier = *chosen_->carrier;
  int state = carrier.test(c);
  if (state >= 0 && ready(state == 1)) return OMPL_OK;
  if (state < 0) return state;
  const Blocked what{.call = Call::halo};
  Blocker blocker(c, what, deadline);
  return blocker.run([&] {
    state = carrier.test(blocker.context());
    if (!carrier.wakes_sleepers()) blocker.stay_awake();
    if (state < 0) return state;
    return ready(state == 1) ? 1 : 0;
  });
}

int Halo::start(Context& c, const void* const* vectors, Deadline deadline) {
  const uint64_t exchange = exchange_.load(std::memory_order_relaxed);
  if (vectors == nullptr ||
      (std::count(vectors, vectors + pattern_.vectors, nullptr) > 0 && pattern_.sends()))
    return fail(OMPL_ERR_ARG, "ompl_halo_start: a vector is null");
  for (std::size_t v = 0; v < pattern_.vectors; ++v) {
    if (vectors[v] == nullptr) continue;
    if (const int code = check_host(runtime_, vectors[v], "ompl_halo_start"); code != OMPL_OK)
      return code;
  }
  if (!is_half_begun_) {
    const int state = chosen_->carrier->test(c);
    if (state == 0)
      return fail(OMPL_ERR_STATE,
                  "ompl_halo_start: exchange {} is not complete; call ompl_halo_wait first", exchange);
    if (state < 0) return state;
    if (trial_) {
      if (const int code = choose_carrier(c); code != OMPL_OK) return code;
    }
  }
  const int code = chosen_->carrier->start(c, vectors, deadline);
  is_half_begun_ = code != OMPL_OK;
  if (code == OMPL_OK) exchange_.store(exchange + 1, std::memory_order_release);
  return code;
}

int Halo::choose_carrier(Context& c) {
  if (trial_->over()) return settle(c);
  chosen_ = &candidates_[trial_->next(now_ns())];
  return OMPL_OK;
}

// Collective. The slowest rank decides.
int Halo::settle(Context& c) {
  const std::vector<uint64_t> own = trial_->end(now_ns());
  SetupExchange::Values all{};
  std::ranges::copy(own, all.begin());
  if (const int code = setup_.agree(c, &all); code != OMPL_OK) return code;
  trial_.reset();
  for (std::size_t i = 0; i < candidates_.size(); ++i) candidates_[i].time = all[i];
  chosen_ = &*std::ranges::min_element(candidates_, {}, &StrategyCandidate::time);
  for (StrategyCandidate& candidate : candidates_) {
    if (&candidate == chosen_) continue;
    candidate.carrier->release();
    candidate.carrier.reset();
  }
  return setup_.close(c);
}

int Halo::wait(Context& c, Deadline deadline) {
  return block(
      c, [](bool is_complete) { return is_complete; }, deadline);
}

int Halo::wait_some(Context& c, std::size_t* indices, std::size_t* found, Deadline deadline) {
  if (indices == nullptr || found == nullptr)
    return fail(OMPL_ERR_ARG, "ompl_halo_wait_some: a result pointer is null");
  const uint64_t exchange = exchange_.load(std::memory_order_acquire);
  std::size_t count = 0;
  const auto look = [&](bool is_complete) {
    for (std::size_t i = 0; i < pattern_.neighbors.size(); ++i) {
      uint64_t named = named_[i].load(std::memory_order_relaxed);
      if (named < exchange && pattern_.neighbors[i].receive.count > 0 && chosen_->carrier->arrived(i) &&
          named_[i].compare_exchange_strong(named, exchange))
        indices[count++] = i;
    }
    return is_complete || count > 0;
  };
  if (const int code = block(c, look, deadline); code != OMPL_OK) return code;
  *found = count;
  return OMPL_OK;
}

const void* Halo::data(std::size_t neighbor, std::size_t vector) const {
  if (neighbor >= pattern_.neighbors.size() || vector >= pattern_.vectors) return nullptr;
  return chosen_->carrier->data(neighbor) +
         vector * pattern_.neighbors[neighbor].receive.count * pattern_.element;
}

int Halo::unpack(std::size_t neighbor, void* const* vectors) const {
  if (neighbor >= pattern_.neighbors.size() || vectors == nullptr ||
      std::count(vectors, vectors + pattern_.vectors, nullptr) > 0) {
    return fail(OMPL_ERR_ARG, "ompl_halo_unpack: neighbour {} of {}, or a vector that is null",
                neighbor, pattern_.neighbors.size());
  }
  for (std::size_t v = 0; v < pattern_.vectors; ++v) {
    if (const int code = check_host(runtime_, vectors[v], "ompl_halo_unpack"); code != OMPL_OK)
      return code;
  }
  for (std::size_t v = 0; v < pattern_.vectors; ++v) {
    pattern_.neighbors[neighbor].receive.scatter(static_cast<std::byte*>(vectors[v]),
                                                 static_cast<const std::byte*>(data(neighbor, v)),
                                                 pattern_.element);
  }
  return OMPL_OK;
}

std::string Halo::describe() const {
  std::string text;
  for (const StrategyCandidate& candidate : candidates_) {
    const bool used = !trial_ && &candidate == chosen_;
    text += fmt::format("{} {:<14}", used ? '*' : ' ',
                        kNames[static_cast<std::size_t>(candidate.strategy)]);
    if (candidate.time != 0)
      text += fmt::format(" {:12.2f} us", static_cast<double>(candidate.time) * 1e-3);
    text += '\n';
  }
  return text;
}

}  // namespace ompl::halo
