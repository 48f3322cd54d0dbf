// SPDX-License-Identifier: BSD-3-Clause
#include "halo/setup_exchange.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/data/operations.hpp"
#include "core/wait/conditions.hpp"

namespace ompl::halo {
namespace {

struct Round {
  SetupExchange::Values values;
  uint64_t flag;
};
std::size_t rounds(uint32_t size) { return static_cast<std::size_t>(std::bit_width(size - 1)); }

}  // namespace

int SetupExchange::open(Context& c, std::size_t agreements) {
  const uint32_t size = runtime_.size();
  return runtime_.collective.alloc(c, size * sizeof(Target) + agreements * rounds(size) * sizeof(Round),
                                   &memory_);
}

int SetupExchange::close(Context& c) {
  if (memory_ == 0) return OMPL_OK;
  const int code = runtime_.collective.free(c, memory_);
  memory_ = 0;
  return code;
}

// By dissemination, as the barrier. Each Round is used once, but after a failure, which all that follow will meet too.
int SetupExchange::agree(Context& c, Values* values) {
  const uint32_t size = runtime_.size();
  const uint32_t me = runtime_.rank();
  uint64_t round = memory_ + size * sizeof(Target) + agreed_ * rounds(size) * sizeof(Round);
  for (std::size_t k = 0; k < rounds(size); ++k, round += sizeof(Round)) {
    const auto to = static_cast<uint32_t>((me + (uint64_t{1} << k)) % size);
    const uint64_t flag = round + offsetof(Round, flag);
    int code = ompl::put_signal(c, values, to, round, sizeof *values, {.offset = flag});
    if (code == OMPL_OK) code = ompl::wait(c, flag);
    if (code != OMPL_OK) return code;
    Values theirs;
    std::memcpy(&theirs, runtime_.memory.pointer(me, round), sizeof theirs);
    std::ranges::transform(*values, theirs, values->begin(),
                           [](uint64_t a, uint64_t b) { return std::max(a, b); });
  }
  ++agreed_;
  return OMPL_OK;
}

int SetupExchange::tell(Context& c, uint32_t rank, const Target& what) {
  return ompl::put(c, &what, rank, memory_ + runtime_.rank() * sizeof what, sizeof what);
}

std::vector<Target> SetupExchange::heard() const {
  std::vector<Target> told(runtime_.size());
  std::memcpy(told.data(), runtime_.memory.pointer(runtime_.rank(), memory_),
              told.size() * sizeof(Target));
  return told;
}

}  // namespace ompl::halo
