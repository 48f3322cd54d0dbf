// SPDX-License-Identifier: BSD-3-Clause
// The patterns, run by both ranks together. Rank 0 gets the row; of rank 1 only operation and sizes are meant.
#pragma once

#include <cstdint>

#include "table.hpp"

namespace bench_verbs {

// Ping-pong of puts with their flags: half a round trip. `together`: by ompl_put_signal.
Row put_latency(bool together, std::size_t bytes, unsigned threads, uint64_t iterations);
// Of rank 0, from rank 1, which only waits: from call to return.
Row get_latency(std::size_t bytes, uint64_t iterations);

// Puts of rank 0 to rank 1: long ones striped as the settings say; each whole, as a put with a time limit goes; or `window`
// nonblocking ones at once.
enum class Stream { striped, whole, nonblocking };
Row put_bandwidth(Stream stream, std::size_t bytes, uint64_t iterations);

// Memory of both ranks for puts of up to `bytes` by `threads` threads; whether contexts count. Collective, before all else.
int reserve(std::size_t bytes, unsigned threads, bool statistics);
// Ends the job with the library's words if a call failed.
void check(int code, const char* what);

}  // namespace bench_verbs
