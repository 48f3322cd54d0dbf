// SPDX-License-Identifier: BSD-3-Clause
// The conduits of this build, one line each in registry.cpp, in order of preference.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "conduit/conduit.hpp"

namespace ompl::conduit {

struct Entry {
  std::string_view name;
  std::string_view text;  // one line for ompl-info
  bool verified;          // run on real hardware of its kind; if not, ompl-info says so
  std::unique_ptr<Conduit> (*make)();
};

std::span<const Entry> registry();

// Their makers; those of ofi and mock are in their own headers. Only what this build has is defined.
namespace self {
std::unique_ptr<Conduit> make();
}
namespace shm {
std::unique_ptr<Conduit> make();
}
namespace verbs {
std::unique_ptr<Conduit> make();
}
namespace utofu {
std::unique_ptr<Conduit> make();
}
namespace psm2 {
std::unique_ptr<Conduit> make();
}
namespace ucx {
std::unique_ptr<Conduit> make();
}
namespace tcp {
std::unique_ptr<Conduit> make();
}
namespace mpi {
std::unique_ptr<Conduit> make();
}

}  // namespace ompl::conduit
