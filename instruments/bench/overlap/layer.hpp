// SPDX-License-Identifier: BSD-3-Clause
// The collectives of the layer by their shapes.
#pragma once

#include <omnipgas/coll.h>

#include "collective.hpp"

namespace bench::overlap {

// A call of that shape; `request` null: it waits. The result is the layer's.
inline int call(ompl_team* team, const Shape& shape, std::byte* outgoing, std::byte* incoming,
                const ompl_coll_options& options, ompl_request** request) {
  const std::size_t bytes = shape.bytes;
  const bool doubles = reduces_doubles(bytes);
  const std::size_t terms = doubles ? bytes / sizeof(double) : bytes;
  const int32_t type = doubles ? OMPL_DOUBLE : OMPL_UINT8;
  switch (shape.collective) {
    case Collective::allgather:
      return ompl_allgather(team, outgoing, incoming, bytes, &options, request);
    case Collective::allreduce:
      return ompl_allreduce(team, outgoing, incoming, terms, type, OMPL_SUM, &options, request);
    case Collective::broadcast:
      return ompl_broadcast(team, incoming, bytes, kRoot, &options, request);
    case Collective::alltoall:
      return ompl_alltoall(team, outgoing, incoming, bytes, &options, request);
    case Collective::reduce_scatter:
      return ompl_reduce_scatter(team, outgoing, incoming, terms, type, OMPL_SUM, &options, request);
  }
  return OMPL_ERR_ARG;
}

}  // namespace bench::overlap
