// SPDX-License-Identifier: BSD-3-Clause
// Which members of a team share a node.
#pragma once

#include <cstdint>
#include <vector>

namespace ompl::coll {

class Nodes {
 public:
  // `hosts`: a number for each member, the same for those that share memory.
  explicit Nodes(const std::vector<uint32_t>& hosts);

  // Nodes stand in the order of their first members.
  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(members_.size()); }
  [[nodiscard]] uint32_t of(uint32_t member) const { return of_[member]; }
  // Ascending.
  [[nodiscard]] const std::vector<uint32_t>& members(uint32_t node) const { return members_[node]; }
  // Several nodes, with several members each.
  [[nodiscard]] bool clustered() const;
  // Parts of them: members of a node that stand side by side in the team. These parts have the order of the team.
  [[nodiscard]] Nodes runs() const;

 private:
  std::vector<uint32_t> of_;
  std::vector<std::vector<uint32_t>> members_;
};

}  // namespace ompl::coll
