// SPDX-License-Identifier: BSD-3-Clause
// Counts what the conduit posts on each queue pair, over any device: programs linked with verbs_posts
// (CMakeLists.txt) give the conduit a libibverbs whose devices count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace ompl::conformance {

struct Posts {
  static constexpr std::size_t kBulk = 4096;  // a request of more bytes is bulk

  uint64_t doorbells = 0;    // calls of ibv_post_send, but for those of the layer's own
  uint64_t requests = 0;     // in them
  uint64_t own = 0;          // the layer's: keys read, idle connections tried
  uint64_t bulk = 0;         // bulk requests,
  uint64_t bytes = 0;        // and their data
  uint64_t longest = 0;      // bytes of one request
  uint64_t outstanding = 0;  // bulk requests whose completion was not polled yet
  uint64_t most = 0;         // the greatest number of these

  Posts& operator+=(const Posts& more);
};

// Of each connected queue pair of this process on which something was posted since the last call.
std::map<uint32_t, Posts> take_posts();
// Their sum.
Posts take_all_posts();

}  // namespace ompl::conformance
