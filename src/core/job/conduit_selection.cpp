// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a job come to know each other: conduits are opened, what peers must know of them is published, and
// for every peer a conduit is chosen. The choice is the same at both ends.
#include <algorithm>
#include <utility>

#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/bytes.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

std::string write_card(const Pool& pool,
                       const std::vector<std::unique_ptr<conduit::Conduit>>& conduits) {
  ByteWriter card;
  card.add(pool.slots).add(pool.credits).add(static_cast<uint32_t>(conduits.size()));
  for (const auto& conduit : conduits) card.add(conduit->name()).add(conduit->address());
  return card.bytes();
}

bool read_card(std::string_view bytes, Card* out) {
  ByteReader reader(bytes);
  uint32_t count = 0;
  reader.get(&out->pool.slots);
  reader.get(&out->pool.credits);
  reader.get(&count);
  for (uint32_t i = 0; i < count; ++i) {
    std::string name;
    std::string address;
    if (!reader.get(&name) || !reader.get(&address)) return false;
    out->addresses.emplace_back(std::move(name), std::move(address));
  }
  return reader.complete() && out->pool.slots != 0 && out->pool.credits != 0;
}

}  // namespace

const std::string* Card::find(std::string_view conduit) const {
  const auto found = std::ranges::find(addresses, conduit, &std::pair<std::string, std::string>::first);
  return found != addresses.end() ? &found->second : nullptr;
}

// What every rank says under a key, by rank.
int Runtime::exchange(std::string_view key, const std::string& own, std::vector<std::string>* all) {
  all->resize(size_);
  (*all)[rank_] = own;
  if (size_ == 1) return OMPL_OK;
  if (const int code = bootstrap_->set(key, own); code != OMPL_OK) return code;
  if (const int code = bootstrap_->fence(); code != OMPL_OK) return code;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    if (const int code = bootstrap_->get(rank, key, &(*all)[rank]); code != OMPL_OK) return code;
  }
  return OMPL_OK;
}

// Opens what can be opened here, and learns what is open elsewhere.
int Runtime::open_conduits(Conduits& conduits, std::string_view key, std::vector<Card>* cards,
                           std::string* refused) {
  std::erase_if(conduits, [this, refused](const auto& conduit) {
    const Tolerance others_may_do;
    if (conduit->open(job_) == OMPL_OK) return false;
    *refused += fmt::format("{}: {}; ", conduit->name(), error_detail());
    return true;
  });
  std::vector<std::string> texts;
  if (const int code = exchange(key, write_card({job_.slots, settings_.credits}, conduits), &texts);
      code != OMPL_OK)
    return code;
  cards->resize(size_);
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (!read_card(texts[rank], &(*cards)[rank])) {
      return fail(OMPL_ERR_LAUNCH,
                  "rank {} published an unreadable card: do all ranks run the same version?", rank);
    }
    pools_[rank] = (*cards)[rank].pool;
  }
  return OMPL_OK;
}

// Each rank by the first conduit that maps it.
int Runtime::start_direct(Conduits conduits) {
  std::vector<Card> cards;
  std::string refused;
  if (const int code = open_conduits(conduits, "direct", &cards, &refused); code != OMPL_OK)
    return code;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    Peer& peer = peers_[rank];
    peer.why = refused;
    for (const auto& conduit : conduits) {
      const std::string* const address = cards[rank].find(conduit->name());
      const conduit::Reach reach = address != nullptr
                                       ? conduit->connect(rank, *address)
                                       : conduit::Reach{.why = "not usable on that rank"};
      peer.why += fmt::format("{}: {}{}", conduit->name(), reach.why, reach.usable ? "" : "; ");
      if (!reach.usable) continue;
      peer.conduit = conduit->name();
      peer.death_fd = reach.death_fd;
      peer.segment_fd = reach.segment_fd;
      peer.wake_fd = reach.wake_fd;
      bases_[rank] = reach.base;
      node_ranks_.push_back(rank);
      break;
    }
  }
  conduits_ = std::move(conduits);
  return OMPL_OK;
}

// The pool that the network can open, and of which all connections fit into the memory allowed.
void Runtime::limit_pool(const conduit::Conduit& network) {
  job_.slots = std::min(job_.slots, network.capabilities().max_endpoints);
  const std::size_t each =
      network.connection_bytes(job_) * (size_ - node_ranks_.size());  // of an endpoint
  if (settings_.endpoint_memory == 0 || each == 0) return;
  const std::size_t affordable = settings_.endpoint_memory / each;
  if (affordable == 0)
    log::warn("the connections of one endpoint may take {} bytes: OMPL_ENDPOINT_MEMORY is less", each);
  job_.slots = static_cast<uint32_t>(std::clamp<std::size_t>(affordable, 1, job_.slots));
}

// One network conduit for all ranks that are not mapped: in rank 0's order of preference the first that is open on every
// rank, and by which every rank reaches all that it needs.
int Runtime::start_network(Conduits networks) {
  if (size_ > 1) {
    if (const int code = bootstrap::share_secret(*bootstrap_, &job_.secret); code != OMPL_OK)
      return code;
  }
  for (const auto& network : networks) limit_pool(*network);
  std::vector<Card> cards;
  std::string absent;  // what cannot be used, and why
  if (const int code = open_conduits(networks, "network", &cards, &absent); code != OMPL_OK)
    return code;

  Conduits candidates;
  for (const auto& offered : cards[0].addresses) {
    const std::string& name = offered.first;
    const auto lacking =
        std::ranges::find(cards, nullptr, [&name](const Card& card) { return card.find(name); });
    if (lacking != cards.end()) {
      if (absent.find(name + ": ") == std::string::npos)
        absent += fmt::format("{}: not usable on rank {}; ", name, lacking - cards.begin());
      continue;
    }
    const auto own = std::ranges::find_if(networks, [&name](const auto& network) {
      return network != nullptr && network->name() == name;
    });
    candidates.push_back(std::move(*own));
  }
  for (const auto& network : networks) {
    if (network != nullptr && cards[0].find(network->name()) == nullptr)
      absent += fmt::format("{}: not usable on rank 0; ", network->name());
  }
  std::string verdict(candidates.size(), '1');  // '1': this rank can do with it
  std::vector<std::string> whys(size_ * candidates.size());
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (bases_[rank] != nullptr) continue;
    peers_[rank].why += absent;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const conduit::Reach reach =
          candidates[i]->connect(rank, *cards[rank].find(candidates[i]->name()));
      if (!reach.usable) verdict[i] = '0';
      whys[rank * candidates.size() + i] = fmt::format("{}: {}", candidates[i]->name(), reach.why);
    }
  }
  std::size_t chosen = 0;
  if (const int code = agree(&verdict, &chosen); code != OMPL_OK) return code;
  const bool none = chosen == candidates.size();
  std::string unreached;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (bases_[rank] != nullptr) continue;
    Peer& peer = peers_[rank];
    for (std::size_t i = 0; i < std::min(chosen + 1, candidates.size()); ++i)
      peer.why += whys[rank * candidates.size() + i] + (i == chosen ? "" : " (not so on every rank); ");
    if (none)
      unreached += fmt::format("\n  rank {}: {}", rank, peer.why.empty() ? "no conduit" : peer.why);
    if (!none) peer.conduit = candidates[chosen]->name();
  }
  if (!unreached.empty()) {
    return fail(OMPL_ERR_UNSUPPORTED, "some ranks cannot be reached (OMPL_CONDUITS is {}):{}",
                settings_.conduits, unreached);
  }
  if (none) return OMPL_OK;  // only others need one, and they will say so
  network_ = std::make_unique<Network>(*this, *candidates[chosen], job_.slots);
  conduits_.push_back(std::move(candidates[chosen]));
  return network_->pool.open(pools_);
}

// The first candidate that every rank can do with; their number if there is none. Candidates are the same everywhere.
int Runtime::agree(std::string* verdict, std::size_t* chosen) {
  if (verdict->size() > 1) {
    std::vector<std::string> all;
    if (const int code = exchange("network-choice", *verdict, &all); code != OMPL_OK) return code;
    for (const std::string& other : all) {
      if (other.size() != verdict->size())
        return fail(OMPL_ERR_LAUNCH,
                    "ranks have different networks to choose from: set OMPL_CONDUITS alike for all");
      for (std::size_t i = 0; i < other.size(); ++i) {
        if (other[i] != '1') (*verdict)[i] = '0';
      }
    }
  }
  *chosen = std::min(verdict->find('1'), verdict->size());
  return OMPL_OK;
}

}  // namespace ompl
