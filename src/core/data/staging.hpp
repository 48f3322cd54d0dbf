// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets whose local side is memory of a GPU: copied through pinned host memory, in pieces of at most a chunk, of which one
// is copied to or from the device while another travels. Arguments were checked; results are those of operations.hpp. Any thread.
#pragma once

#include "core/data/staging_pool.hpp"
#include "core/data/update.hpp"
#include "core/job/context.hpp"
#include "core/network/sender.hpp"
#include "core/wait/deadline.hpp"

namespace ompl {

// The pieces of a contiguous transfer.
Sender::Pieces single_piece(const void* local, uint64_t offset, std::size_t length);

class Staging {
 public:
  Staging(Runtime& runtime, std::size_t chunk) : runtime_(runtime), pool_(chunk) {}

  // Call::get, or a put; `local`: some address of the memory; `bytes`: of all pieces; `record` may be null. Only posting the first
  // piece is subject to the deadline: what was begun is completed.
  int transfer(Context& c, Call call, const void* local, uint32_t rank, const Sender::Pieces& pieces,
               std::size_t bytes, const Signal* record, Deadline deadline);
  // Copies from the device, which it waits for, and then posts. A put of more than two chunks waits for the first of them.
  int put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
             const Signal* record, bool local, Handle* handle);
  // Waits for the data: they go on to the device.
  int get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
             Handle* handle);

  // Gives the memory back; nothing is under way any more.
  void close() { pool_.close(); }

 private:
  class Lease;
  struct Route;
  int put(Caller& caller, Route& route, Deadline deadline, bool signal_follows);
  int get(Caller& caller, Route& route, Deadline deadline);
  int travel(Context& c, const Route& route, Call call, std::span<const StagedPart> parts,
             Deadline deadline, bool more, bool begun);
  int post_pieces(Caller& caller, Route& route, const void* source, uint64_t offset, std::size_t length,
                  const Signal* record);
  int await_reader(Caller& caller, const StagingChunk& chunk, uint32_t rank);

  Runtime& runtime_;
  StagingPool pool_;
};

}  // namespace ompl
