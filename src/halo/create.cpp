// SPDX-License-Identifier: BSD-3-Clause
// Making a halo, together: every rank reads its own lists, all agree on the memory that the largest needs, and neighbours
// tell each other where data land and how many are expected. A mistake on one rank is an error on all.
#include <algorithm>
#include <cstring>
#include <utility>

#include "halo/flagged.hpp"
#include "halo/halo.hpp"
#include "halo/mpi/mpi.hpp"
#include "util/status.hpp"

namespace ompl::halo {
namespace {

constexpr const char* kName = "ompl_halo_create";
constexpr std::size_t kLine = 64;
constexpr uint64_t kFailed = UINT64_MAX;  // in place of bytes

bool product(std::size_t a, std::size_t b, std::size_t c, std::size_t* result) {
  return !__builtin_mul_overflow(a, b, result) && !__builtin_mul_overflow(*result, c, result) &&
         *result <= SIZE_MAX / 8;
}

std::size_t whole_lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

bool is_mpi(int32_t strategy) { return strategy >= OMPL_HALO_MPI && strategy <= OMPL_HALO_MPI_PUT; }

const Strategy& strategy_of(int32_t number) {
  return number == OMPL_HALO_DOUBLE_BUFFER ? double_buffer()
         : number == OMPL_HALO_SINGLE      ? single()
                                           : acked();
}

}  // namespace

int Halo::read(const ompl_halo_config* config, std::span<const ompl_halo_neighbor> neighbors) {
  if (config == nullptr || config->size != sizeof config_)
    return fail(OMPL_ERR_ARG, "{}: begin the config with OMPL_HALO_CONFIG_INIT", kName);
  if (config->element == 0 || config->vectors == 0)
    return fail(OMPL_ERR_ARG, "{}: an element has at least one byte, and there is at least one vector",
                kName);
  if (config->strategy < OMPL_HALO_DOUBLE_BUFFER || config->strategy > OMPL_HALO_AUTO)
    return fail(OMPL_ERR_ARG, "{}: {} is no strategy; use OMPL_HALO_DOUBLE_BUFFER ... OMPL_HALO_AUTO",
                kName, config->strategy);
  if (neighbors.data() == nullptr && !neighbors.empty())
    return fail(OMPL_ERR_ARG, "{}: the list of neighbours is null", kName);
  config_ = *config;
  pattern_ = {.element = config->element, .vectors = config->vectors, .neighbors = {}};
  pattern_.neighbors.resize(neighbors.size());
  named_ = std::make_unique<std::atomic<uint64_t>[]>(neighbors.size());
  std::vector<bool> seen(runtime_.size());
  for (std::size_t i = 0; i < neighbors.size(); ++i) {
    if (const int code = read(neighbors[i], i); code != OMPL_OK) return code;
    if (seen[neighbors[i].rank])
      return fail(OMPL_ERR_ARG, "{}: rank {} is a neighbour twice; join its lists", kName,
                  neighbors[i].rank);
    seen[neighbors[i].rank] = true;
  }
  return OMPL_OK;
}

int Halo::read(const ompl_halo_neighbor& given, std::size_t number) {
  if (given.rank >= runtime_.size())
    return fail(OMPL_ERR_RANK, "{}: neighbour {} is rank {}, but there are {} ranks", kName, number,
                given.rank, runtime_.size());
  Neighbor& n = pattern_.neighbors[number];
  n.rank = given.rank;
  n.send = Elements::read(given.send_indices, given.send_count, given.send_first);
  n.receive = Elements::read(given.receive_positions, given.receive_count, given.receive_first);
  const std::size_t end = std::max(n.send.end(), n.receive.end());
  if (end > config_.length || (end == SIZE_MAX && config_.length == SIZE_MAX))
    return fail(OMPL_ERR_LENGTH, "{}: the lists for rank {} reach to element {}, but a vector has {}",
                kName, given.rank, end - 1, config_.length);
  return OMPL_OK;
}

// A region: flags, then the slots of each neighbour, then room for what is gathered.
int Halo::lay_out(std::size_t* bytes) {
  const std::size_t slots = is_mpi(config_.strategy) ? 1 : strategy_of(config_.strategy).slots();
  std::size_t at = pattern_.neighbors.size() * sizeof(Flags);
  std::size_t flags = 0;
  for (Neighbor& n : pattern_.neighbors) {
    std::size_t in = 0;
    std::size_t out = 0;
    if (!product(n.receive.count, pattern_.element, pattern_.vectors, &in) ||
        !product(n.send.count, pattern_.element, pattern_.vectors, &out) ||
        __builtin_add_overflow(at, slots * whole_lines(in) + whole_lines(out), bytes))
      return fail(OMPL_ERR_LENGTH, "{}: what is exchanged with rank {} is larger than memory", kName,
                  n.rank);
    n.here = {.landing = at,
              .stride = whole_lines(in),
              .flags = std::exchange(flags, flags + sizeof(Flags)),
              .receive_count = n.receive.count,
              .element = pattern_.element,
              .vectors = static_cast<uint32_t>(pattern_.vectors),
              .is_told = 1};
    n.gathered = at + slots * whole_lines(in);
    const bool in_place = n.send.consecutive() && (pattern_.vectors == 1 || !may_use_mpi());
    at = n.gathered + (in_place ? 0 : whole_lines(out));
  }
  *bytes = std::max(at, kLine);
  if (at > SIZE_MAX / 16) return fail(OMPL_ERR_LENGTH, "{}: the halo is larger than memory", kName);
  return OMPL_OK;
}

// What the neighbour expects of this rank against what this rank gives.
int Halo::compare(const Neighbor& n) const {
  const Target& t = n.there;
  if (t.is_told == 0)
    return fail(OMPL_ERR_ARG, "{}: rank {} is a neighbour, but does not list rank {}", kName, n.rank,
                runtime_.rank());
  if (t.receive_count != n.send.count)
    return fail(OMPL_ERR_ARG, "{}: rank {} expects {} elements of rank {}, which sends {}", kName,
                n.rank, t.receive_count, runtime_.rank(), n.send.count);
  if (t.element != pattern_.element || t.vectors != pattern_.vectors)
    return fail(OMPL_ERR_ARG, "{}: rank {} has another element size or number of vectors", kName,
                n.rank);
  return OMPL_OK;
}

// Tells every neighbour where its data go, hears the same, and compares.
int Halo::introduce(Context& c) {
  for (const Neighbor& n : pattern_.neighbors)
    if (const int code = setup_.tell(c, n.rank, n.here); code != OMPL_OK) return code;
  if (const int code = runtime_.collective.barrier(c); code != OMPL_OK) return code;
  std::vector<Target> heard = setup_.heard();
  for (Neighbor& n : pattern_.neighbors) {
    n.there = std::exchange(heard[n.rank], {});
    if (const int code = compare(n); code != OMPL_OK) return code;
  }
  const auto stranger = std::ranges::find_if(heard, [](const Target& t) { return t.is_told != 0; });
  if (stranger == heard.end()) return OMPL_OK;
  return fail(OMPL_ERR_ARG, "{}: rank {} lists rank {}, which does not list it", kName,
              stranger - heard.begin(), runtime_.rank());
}

void Halo::list_candidates(bool with_mpi) {
  const bool tries = config_.strategy == OMPL_HALO_AUTO;
  for (int32_t strategy = OMPL_HALO_DOUBLE_BUFFER; strategy < OMPL_HALO_AUTO; ++strategy)
    if (strategy == config_.strategy || (tries && (with_mpi || !is_mpi(strategy))))
      candidates_.push_back({.strategy = strategy, .carrier = nullptr});
}

// Collective. Of several candidates those that cannot be had on every rank are dropped; what MPI has made of them stays
// until MPI_Finalize.
int Halo::make_carriers(Context& c, uint64_t bytes) {
  SetupExchange::Values failed{};
  int own = OMPL_OK;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    StrategyCandidate& candidate = candidates_[i];
    const uint64_t region = memory_ + i * bytes;
    if (is_mpi(candidate.strategy)) {
      auto* const memory = static_cast<std::byte*>(runtime_.memory.pointer(runtime_.rank(), region));
      own = make_mpi(candidate.strategy, pattern_, memory, bytes, &candidate.carrier);
      failed[i] = own != OMPL_OK;
    } else {
      candidate.carrier =
          std::make_unique<Flagged>(runtime_, pattern_, strategy_of(candidate.strategy), region);
    }
  }
  if (const int code = setup_.agree(c, &failed); code != OMPL_OK) return code;
  std::size_t number = 0;
  std::erase_if(candidates_,
                [&](const StrategyCandidate& /*candidate*/) { return failed[number++] != 0; });
  if (candidates_.empty())
    return own != OMPL_OK ? own : fail(OMPL_ERR_LINK, "{}: MPI failed on another rank", kName);
  if (config_.strategy == OMPL_HALO_AUTO) trial_.emplace(candidates_.size());
  chosen_ = &candidates_.front();
  return OMPL_OK;
}

// Collective. `own`, or an error if another rank has one.
int Halo::all_went_on(Context& c, int own) {
  SetupExchange::Values failed{own != OMPL_OK};
  if (const int code = setup_.agree(c, &failed); code != OMPL_OK) return code;
  if (own != OMPL_OK || failed[0] == 0) return own;
  return fail(OMPL_ERR_ARG, "{}: another rank's lists are wrong; it has said why", kName);
}

// The meeting is open.
int Halo::make(Context& c, int own, uint64_t bytes) {
  const std::string no_mpi = own == OMPL_OK && may_use_mpi() ? why_no_mpi(runtime_, pattern_) : "";
  if (is_mpi(config_.strategy) && !no_mpi.empty())
    own = fail(OMPL_ERR_UNSUPPORTED, "{}: no exchange by MPI: {}", kName, no_mpi);
  const auto strategy = static_cast<uint64_t>(config_.strategy);
  SetupExchange::Values most{own == OMPL_OK ? whole_lines(bytes) : kFailed, strategy, ~strategy,
                             !no_mpi.empty()};
  if (const int code = setup_.agree(c, &most); code != OMPL_OK) return code;
  if (own == OMPL_OK && most[0] == kFailed)
    own = fail(OMPL_ERR_ARG, "{}: another rank's lists are wrong; it has said why", kName);
  if (own == OMPL_OK && most[1] != ~most[2])
    own = fail(OMPL_ERR_ARG, "{}: the ranks ask for different strategies", kName);
  if (own != OMPL_OK) return own;

  list_candidates(most[3] == 0);
  own = runtime_.collective.alloc(c, candidates_.size() * most[0], &memory_);  // the same everywhere
  if (own != OMPL_OK) return own;
  own = all_went_on(c, introduce(c));
  return own == OMPL_OK ? make_carriers(c, most[0]) : own;
}

int Halo::create(Runtime& runtime, Context& c, const ompl_halo_config* config,
                 const ompl_halo_neighbor* neighbors, std::size_t count, std::unique_ptr<Halo>* out) {
  std::unique_ptr<Halo> halo(new Halo(runtime));
  std::size_t bytes = 0;
  int own = halo->read(config, {neighbors, count});
  if (own == OMPL_OK) own = halo->lay_out(&bytes);
  if (const int code = halo->setup_.open(c, 4); code != OMPL_OK) return code;
  own = halo->make(c, own, bytes);
  // If a rank is dead there is nothing to do together any more.
  const bool together = own != OMPL_ERR_PEER && own != OMPL_ERR_LINK;
  if (!together) return own;
  if (own != OMPL_OK) {
    const int code = halo->release(c);
    return code == OMPL_OK ? own : code;
  }
  if (!halo->trial_) own = halo->setup_.close(c);
  if (own == OMPL_OK) *out = std::move(halo);
  return own;
}

}  // namespace ompl::halo
