// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a job come to know each other: conduits are opened, what peers must know of them is published, and
// for every peer a conduit is chosen. The choice is the same at both ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "conduit/conduit.hpp"
#include "core/job/membership.hpp"
#include "core/network/endpoint_pool.hpp"
#include "util/settings.hpp"

namespace ompl {

struct Card;

class ConduitSelection {
 public:
  using Conduits = std::vector<std::unique_ptr<conduit::Conduit>>;
  ConduitSelection(const Settings& settings, bootstrap::Bootstrap& bootstrap, conduit::Job& job,
                   GlobalMemory& memory, Membership& members);

  // Reaches each rank by the first conduit that maps it; the own one is mapped whatever the conduits say. Collective.
  int map_ranks(Conduits direct);
  // In a job with a network: finds how ranks that are mapped are woken from sleep in it. After map_ranks().
  void open_wake_descriptors();
  // Chooses one conduit for all ranks that are not mapped: in rank 0's order of preference the first that is open on every rank,
  // and by which every rank reaches all that it needs. None if only others need one. Collective.
  int choose_network(Conduits networks, std::unique_ptr<conduit::Conduit>* chosen);
  // By rank, as it was said last.
  [[nodiscard]] const std::vector<Pool>& pools() const { return pools_; }

 private:
  int exchange(std::string_view key, const std::string& own, std::vector<std::string>* all,
               bool by_memory = false);
  // Those that cannot be opened here leave `conduits`, with the reasons in *refused.
  int open(Conduits& conduits, std::string_view key, std::vector<Card>* cards, std::string* refused);
  void limit_pool(const conduit::Conduit& network);
  int agree(std::string* verdict, std::size_t* chosen);

  const Settings& settings_;
  bootstrap::Bootstrap& bootstrap_;
  conduit::Job& job_;
  GlobalMemory& memory_;
  Membership& members_;
  const uint32_t rank_;
  const uint32_t size_;
  std::vector<Pool> pools_;
  // Of the ranks that are mapped: the conduit that did, null for others, and what it was told of them.
  std::vector<std::pair<conduit::Conduit*, std::string>> mapped_;
};

}  // namespace ompl
