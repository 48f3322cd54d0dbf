// SPDX-License-Identifier: BSD-3-Clause
#include "core/job/conduit_selection.hpp"

#include <algorithm>
#include <utility>

#include "util/bytes.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl {

// What a rank tells the others of its conduits.
struct Card {
  Pool pool;
  std::vector<std::pair<std::string, std::string>>
      addresses;  // by names of conduits, in order of preference

  // Null if that conduit is not open there.
  [[nodiscard]] const std::string* find(std::string_view conduit) const {
    const auto found =
        std::ranges::find(addresses, conduit, &std::pair<std::string, std::string>::first);
    return found != addresses.end() ? &found->second : nullptr;
  }
};

namespace {

constexpr std::string_view kDirectKey = "direct";

using Conduits = ConduitSelection::Conduits;

// Networks that are open on every rank, and what became of trying them.
struct Candidates {
  Conduits conduits;
  std::string verdict;            // of each, '1': it reaches all that is needed
  std::vector<std::string> whys;  // by rank, of each
};

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

// *absent: what is no candidate, and why.
Candidates find_candidates(Conduits& networks, const std::vector<Card>& cards, std::string* absent) {
  Candidates candidates;
  for (const auto& offered : cards[0].addresses) {
    const std::string& name = offered.first;
    const auto lacking =
        std::ranges::find(cards, nullptr, [&name](const Card& card) { return card.find(name); });
    if (lacking != cards.end()) {
      if (absent->find(name + ": ") == std::string::npos)
        *absent += fmt::format("{}: not usable on rank {}; ", name, lacking - cards.begin());
      continue;
    }
    const auto own = std::ranges::find_if(networks, [&name](const auto& network) {
      return network != nullptr && network->name() == name;
    });
    candidates.conduits.push_back(std::move(*own));
  }
  for (const auto& network : networks) {
    if (network != nullptr && cards[0].find(network->name()) == nullptr)
      *absent += fmt::format("{}: not usable on rank 0; ", network->name());
  }
  return candidates;
}

void try_candidates(Candidates& candidates, const std::vector<Card>& cards,
                    const GlobalMemory& memory) {
  const auto size = static_cast<uint32_t>(cards.size());
  const std::size_t count = candidates.conduits.size();
  candidates.verdict.assign(count, '1');
  candidates.whys.resize(size * count);
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (memory.bases()[rank] != nullptr) continue;
    for (std::size_t i = 0; i < count; ++i) {
      conduit::Conduit& network = *candidates.conduits[i];
      const conduit::Reach reach = network.connect(rank, *cards[rank].find(network.name()));
      if (!reach.usable) candidates.verdict[i] = '0';
      candidates.whys[rank * count + i] = fmt::format("{}: {}", network.name(), reach.why);
    }
  }
}

// Notes of every rank that is not mapped how it is reached, and why so; returns the same of those that are not reached.
std::string note_choice(const Candidates& candidates, std::size_t chosen, const std::string& absent,
                        const GlobalMemory& memory, Membership& members) {
  const std::size_t count = candidates.conduits.size();
  std::string unreached;
  for (uint32_t rank = 0; rank < members.size(); ++rank) {
    if (memory.bases()[rank] != nullptr) continue;
    Peer& peer = members.peer(rank);
    std::string why = std::string(peer.why) + absent;
    for (std::size_t i = 0; i < std::min(chosen + 1, count); ++i)
      why += candidates.whys[rank * count + i] + (i == chosen ? "" : " (not so on every rank); ");
    peer.why = members.keep(std::move(why));
    if (chosen < count) {
      peer.conduit = members.keep(std::string(candidates.conduits[chosen]->name()));
    } else {
      std::string_view said = peer.why.empty() ? "no conduit" : peer.why;
      if (said.ends_with("; ")) said.remove_suffix(2);
      unreached += fmt::format("\n  rank {}: {}", rank, said);
    }
  }
  return unreached;
}

}  // namespace

ConduitSelection::ConduitSelection(const Settings& settings, bootstrap::Bootstrap& bootstrap,
                                   conduit::Job& job, GlobalMemory& memory, Membership& members)
    : settings_(settings),
      bootstrap_(bootstrap),
      job_(job),
      memory_(memory),
      members_(members),
      rank_(members.rank()),
      size_(members.size()),
      pools_(size_) {}

// What every rank says under a key, by rank. `by_memory`: through the node's table where that is possible, once. The launcher is
// told in any case, since some rank may not be in the table.
int ConduitSelection::exchange(std::string_view key, const std::string& own,
                               std::vector<std::string>* all, bool by_memory) {
  all->resize(size_);
  (*all)[rank_] = own;
  if (size_ == 1) return OMPL_OK;
  if (const int code = bootstrap_.set(key, own); code != OMPL_OK) return code;
  if (by_memory) memory_.node().publish(own, memory_.header().cores);
  if (const int code = bootstrap_.fence(); code != OMPL_OK) return code;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (rank == rank_ || (by_memory && memory_.node().read(rank, &(*all)[rank]))) continue;
    if (const int code = bootstrap_.get(rank, key, &(*all)[rank]); code != OMPL_OK) return code;
  }
  return OMPL_OK;
}

// Opens what can be opened here, and learns what is open elsewhere.
int ConduitSelection::open(Conduits& conduits, std::string_view key, std::vector<Card>* cards,
                           std::string* refused) {
  std::erase_if(conduits, [this, refused](const auto& conduit) {
    const Tolerance others_may_do;
    if (conduit->open(job_) == OMPL_OK) return false;
    *refused += fmt::format("{}: {}; ", conduit->name(), error_detail());
    return true;
  });
  std::vector<std::string> texts;
  const std::string card = write_card({job_.slots, settings_.credits}, conduits);
  if (const int code = exchange(key, card, &texts, key == kDirectKey); code != OMPL_OK) return code;
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

int ConduitSelection::map_ranks(Conduits conduits) {
  std::vector<Card> cards;
  std::string refused;
  if (const int code = open(conduits, kDirectKey, &cards, &refused); code != OMPL_OK) return code;
  mapped_.resize(size_);
  for (uint32_t rank = 0; rank < size_; ++rank) {
    Peer& peer = members_.peer(rank);
    std::string why = refused;
    for (const auto& conduit : conduits) {
      const std::string* const address = cards[rank].find(conduit->name());
      const conduit::Reach reach = address != nullptr
                                       ? conduit->connect(rank, *address)
                                       : conduit::Reach{.why = "not usable on that rank"};
      why += fmt::format("{}: {}{}", conduit->name(), reach.why, reach.usable ? "" : "; ");
      if (!reach.usable) continue;
      peer.conduit = members_.keep(std::string(conduit->name()));
      peer.death_fd = reach.death_fd;
      peer.segment_fd = reach.segment_fd;
      peer.segment_offset = reach.segment_offset;
      peer.wake_fd = reach.wake_fd;
      mapped_[rank] = {conduit.get(), *address};
      memory_.map(rank, reach.base);
      break;
    }
    peer.why = members_.keep(std::move(why));
  }
  if (memory_.bases()[rank_] == nullptr) {
    memory_.map(rank_, memory_.segment().base());
    members_.peer(rank_).conduit = members_.keep("self");
  }
  for (auto& conduit : conduits) memory_.keep(std::move(conduit));
  return OMPL_OK;
}

void ConduitSelection::open_wake_descriptors() {
  for (uint32_t rank = 0; rank < size_; ++rank) {
    const auto& [conduit, address] = mapped_[rank];
    if (conduit == nullptr || memory_.bases()[rank] == nullptr || rank == rank_) continue;
    Peer& peer = members_.peer(rank);
    if (peer.wake_fd < 0) peer.wake_fd = conduit->wake_descriptor(rank, address);
  }
}

// The pool that the network can open, and of which all connections fit into the memory allowed.
void ConduitSelection::limit_pool(const conduit::Conduit& network) {
  job_.slots = std::min(job_.slots, network.capabilities().max_endpoints);
  const std::size_t each =
      network.connection_bytes(job_) * (size_ - members_.node_size());  // of an endpoint
  if (settings_.endpoint_memory == 0 || each == 0) return;
  const std::size_t affordable = settings_.endpoint_memory / each;
  if (affordable == 0)
    log::warn("the connections of one endpoint may take {} bytes: OMPL_ENDPOINT_MEMORY is less", each);
  job_.slots = static_cast<uint32_t>(std::clamp<std::size_t>(affordable, 1, job_.slots));
}

int ConduitSelection::choose_network(Conduits networks, std::unique_ptr<conduit::Conduit>* chosen) {
  if (size_ > 1) {
    if (const int code = bootstrap::share_secret(bootstrap_, &job_.secret); code != OMPL_OK)
      return code;
  }
  for (const auto& network : networks) limit_pool(*network);
  std::vector<Card> cards;
  std::string absent;  // what cannot be used, and why
  if (const int code = open(networks, "network", &cards, &absent); code != OMPL_OK) return code;
  Candidates candidates = find_candidates(networks, cards, &absent);
  try_candidates(candidates, cards, memory_);
  std::size_t number = 0;
  if (const int code = agree(&candidates.verdict, &number); code != OMPL_OK) return code;
  const std::string unreached = note_choice(candidates, number, absent, memory_, members_);
  if (!unreached.empty())
    return fail(OMPL_ERR_UNSUPPORTED, "some ranks cannot be reached (OMPL_CONDUITS is {}):{}",
                settings_.conduits, unreached);
  if (number < candidates.conduits.size()) *chosen = std::move(candidates.conduits[number]);
  return OMPL_OK;  // without one, only others need it, and they will say so
}

// The first candidate that every rank can do with; their number if there is none. Candidates are the same everywhere.
int ConduitSelection::agree(std::string* verdict, std::size_t* chosen) {
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
