// SPDX-License-Identifier: BSD-3-Clause
// Which cores each rank runs on.
#pragma once

#include <cstdint>

#include "options.hpp"

struct hwloc_topology;

namespace omplrun {

class Binding {
 public:
  // Looks at the cores that omplrun itself may use.
  Binding(Options::Bind wish, uint32_t ranks);
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  // Binds the calling process to its rank's share: cores in a row, at least one. Does nothing if ranks
  // are not bound, or if the system refuses.
  void apply(uint32_t rank) const;

 private:
  uint32_t ranks_;
  unsigned cores_ = 0;
  hwloc_topology* topology_ = nullptr;  // null: not bound
};

}  // namespace omplrun
