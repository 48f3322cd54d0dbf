// SPDX-License-Identifier: BSD-3-Clause
// How endpoints reach each other. All ranks of a job use the same transport.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ompl {
struct Settings;
}

namespace ompl::conduit::verbs {

// RC: a queue pair for each endpoint and distant rank.
// XRC: one for each endpoint and distant node, and a receiving end for each endpoint of a distant rank, which the ranks
//      of a node share (xrc.hpp).
// DC: a few for each endpoint, its target, and an address of each distant rank (dc.hpp).
enum class Transport : uint8_t { rc, xrc, dc };

std::string_view name_of(Transport transport);

// What OMPL_VERBS_TRANSPORT wants of a job of so many ranks, the best first. `auto` is RC, unless the connections of one
// endpoint to all other ranks would take more than OMPL_ENDPOINT_MEMORY, or 256 MiB if that is not set: then DC before
// XRC before RC. It looks at nothing that differs between ranks.
std::vector<Transport> wanted_transports(const Settings& settings, uint32_t ranks);

}  // namespace ompl::conduit::verbs
