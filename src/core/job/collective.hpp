// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of the job do together: barrier, alloc, free. By one thread of every rank, in the same order. Protocol
// rules 5, 20.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/failure/failure.hpp"
#include "core/job/context_table.hpp"
#include "core/job/membership.hpp"
#include "core/wait/deadline.hpp"

namespace ompl {

class CollectiveCalls {
 public:
  CollectiveCalls(const Membership& members, GlobalMemory& memory, Failures& failures,
                  ContextTable& contexts)
      : members_(members), memory_(memory), failures_(failures), contexts_(contexts) {}

  int barrier(Context& c, Deadline deadline = Deadline::never());
  int alloc(Context& c, std::size_t size, uint64_t* offset);
  // As GlobalMemory::allocate(); `first` is each rank's own affair.
  int alloc(Context& c, std::size_t size, std::size_t first, uint64_t* offset);
  int free(Context& c, uint64_t offset);
  // Barriers of all ranks that this one has come out of; the same at all of them between two.
  [[nodiscard]] uint64_t barriers() const { return barriers_; }
  int adopt(Context& c, void* address, std::size_t length, uint64_t* offset);
  int unadopt(Context& c, uint64_t offset);
  // Of this rank alone; any thread.
  int free_local(uint64_t offset);
  int unadopt_local(uint64_t offset);
  // What members of a team have freed together.
  void release_team(uint64_t offset);
  struct Agreement {
    bool alike = true;             // all ranks make the same call with the same argument
    uint32_t short_of_memory = 0;  // ranks
  };
  // Whether all ranks register that function, by a hash of its name.
  int agree_on_function(Context& c, uint64_t name, bool short_of_memory, Agreement* out) {
    return agree(c, Kind::function, name, short_of_memory, out);
  }
  // From now on this rank leaves: ranks that have stopped take part in what it calls.
  void begin_to_leave() { leaving_ = true; }
  // The last barrier; *alike: all ranks have come to it by ompl_finalize().
  int agree_to_finalize(Context& c, bool* alike);

 private:
  enum class Kind : uint64_t { alloc = 1, free, finalize, function, adopt, unadopt };
  int agree(Context& c, Kind kind, uint64_t argument, bool short_of_memory, Agreement* out);
  int give_back_adopted(uint64_t offset, const char* what);
  int await_call(Context& c, uint64_t* call);
  int run_barrier(Context& c, Deadline deadline);
  [[nodiscard]] int look_for_stopped() const;

  const Membership& members_;
  GlobalMemory& memory_;
  Failures& failures_;
  ContextTable& contexts_;
  uint64_t agreements_ = 0;
  uint64_t barriers_ = 0;
  uint32_t barrier_round_ = 0;  // of the barrier under way: one that timed out is gone on with
  bool barrier_signalled_ = false;
  bool barrier_open_ = false;
  bool leaving_ = false;
};

}  // namespace ompl
