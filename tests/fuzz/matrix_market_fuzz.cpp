// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a Matrix Market file: refused with file and line, or a matrix that keeps its own rules; and the same of a
// coordinate file read in shares.
#include "fuzz.hpp"
#include "matrix_laws.hpp"
#include "solver/partition/shares.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

constexpr uint32_t kShares = 5;

// The number of entries; what is wrong, if there is something, in `why`.
uint64_t entries_at_once(std::string_view bytes, const MatrixMarketHead& head, std::string& why) {
  Lines lines = Lines::of_text(bytes, "input");
  try {
    lines.narrow(head.bytes, bytes.size(), head.line);
    const uint64_t count = read_coordinates(lines, head, head.count, [](const Entry&) {});
    check_complete(lines, head, count, lines.number());
    return count;
  } catch (const ompl::InputError& error) {
    why = error.what();
    return 0;
  }
}

uint64_t entries_in_shares(std::string_view bytes, const MatrixMarketHead& head, std::string& why) {
  const auto open = [&] { return Lines::of_text(bytes, "input"); };
  const auto share = [&](std::size_t i) {
    return share_of(head, bytes.size(), static_cast<uint32_t>(i), kShares);
  };
  uint64_t count = 0;
  std::vector<Tally> tallies;
  for (uint32_t i = 0; i < kShares; ++i)
    tallies.push_back(read_share(open(), head, share(i), [&](const Entry&) { ++count; }));
  try {
    if (const auto fault = first_fault(open(), head, tallies))
      refuse_share(open(), head, share(fault->share), *fault);
    return count;
  } catch (const ompl::InputError& error) {
    why = error.what();
    return 0;
  }
}

}  // namespace

void fuzz::one_input(std::string_view bytes) {
  check_reader(bytes, read_matrix_market);
  MatrixMarketHead head;
  try {
    Lines lines = Lines::of_text(bytes, "input");
    head = read_matrix_market_head(lines);
  } catch (const ompl::InputError&) {
    return;
  }
  if (head.array) return;
  std::string one, other;
  require(entries_at_once(bytes, head, one) == entries_in_shares(bytes, head, other));
  require(one == other);
}
