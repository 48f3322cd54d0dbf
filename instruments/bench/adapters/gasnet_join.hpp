// SPDX-License-Identifier: BSD-3-Clause
// How a program becomes a rank of GASNet-EX, and leaves.
#pragma once

#include <gasnetex.h>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>

#include "harness/control.hpp"

namespace bench {

inline void check(int result, const char* what) {
  if (result != GASNET_OK)
    throw std::runtime_error(std::string(what) + ": " + gasnet_ErrorDesc(result));
}

// All ranks. Joined before the program reads its command line: the udp conduit's own arguments come first in it, and
// GASNet takes them away; its launching process never comes back from here.
inline gex_TM_t joined = nullptr;

// Joins, then returns what `run` does; 2 if that failed.
template <class Run>
int after_joining(int& argc, char**& argv, Run run) {
  try {
    gex_Client_t client;
    gex_EP_t endpoint;
    check(gex_Client_Init(&client, &endpoint, &joined, "omni", &argc, &argv, 0), "gex_Client_Init");
  } catch (const std::exception& error) {
    say_error(argv[0], error);
    return 2;
  }
  return run();
}

// GASNet has no other end than that of the process.
inline void leave(gex_TM_t team) {
  gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  gasnet_exit(0);
}

// Where a rank's segment is: as that rank sees it, and as this one does, null if it is not mapped here.
struct SegmentOf {
  std::byte* theirs = nullptr;
  void* mapped = nullptr;
};
inline SegmentOf segment_of(gex_TM_t team, gex_Rank_t rank) {
  void* theirs = nullptr;
  SegmentOf found;
#if GASNET_RELEASE_VERSION_MAJOR < 2020 || \
    (GASNET_RELEASE_VERSION_MAJOR == 2020 && GASNET_RELEASE_VERSION_MINOR <= 10)
  check(gex_Segment_QueryBound(team, rank, &theirs, &found.mapped, nullptr), "gex_Segment_QueryBound");
#else
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &theirs, &found.mapped, nullptr, 0));
#endif
  found.theirs = static_cast<std::byte*>(theirs);
  return found;
}

inline std::string gasnet_version() {
  return "GASNet-EX " + std::to_string(GASNET_RELEASE_VERSION_MAJOR) + "." +
         std::to_string(GASNET_RELEASE_VERSION_MINOR);
}

}  // namespace bench
