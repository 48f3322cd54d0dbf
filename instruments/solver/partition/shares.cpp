// SPDX-License-Identifier: BSD-3-Clause
#include "solver/partition/shares.hpp"

#include <algorithm>

namespace ompl::solver {

Share share_of(const MatrixMarketHead& head, uint64_t size, uint32_t index, uint32_t shares) {
  const uint64_t bytes = size - std::min(size, head.bytes);
  // Without a product of both, which might not fit 64 bits.
  const auto cut = [&](uint64_t i) {
    return head.bytes + bytes / shares * i + bytes % shares * i / shares;
  };
  return {cut(index), cut(index + uint64_t{1})};
}

Tally read_share(Lines lines, const MatrixMarketHead& head, Share share,
                 const std::function<void(const Entry&)>& take) {
  Tally out;
  try {
    lines.narrow(share.first, share.last, 0);
    read_coordinates(lines, head, head.count, [&](const Entry& e) {
      ++out.entries;
      take(e);
    });
  } catch (const InputError&) {
    out.refused = 1;  // refuse_share() will say it
  }
  out.lines = lines.number();
  return out;
}

std::optional<Fault> first_fault(const Lines& file, const MatrixMarketHead& head,
                                 std::span<const Tally> tallies) {
  Fault at{.share = 0, .entries = 0, .lines = head.line};
  for (const Tally& tally : tallies) {
    if (tally.refused != 0 || tally.entries > head.count - at.entries) return at;
    ++at.share;
    at.entries += tally.entries;
    at.lines += tally.lines;
  }
  check_complete(file, head, at.entries, at.lines);
  return {};
}

void refuse_share(Lines lines, const MatrixMarketHead& head, Share share, const Fault& fault) {
  lines.narrow(share.first, share.last, fault.lines);
  read_coordinates(lines, head, head.count - fault.entries, [](const Entry&) {});
  lines.fail("the file has changed while it was read; read it again");
}

}  // namespace ompl::solver
