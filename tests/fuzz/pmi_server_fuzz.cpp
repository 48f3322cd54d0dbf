// SPDX-License-Identifier: BSD-3-Clause
// Any lines from any ranks into omplrun's PMI server. A line's first character names the rank; '!' ends the
// process of the rank named next.
#include "fuzz.hpp"
#include "pmi_server.hpp"

namespace {

constexpr uint32_t kRanks = 3;

uint32_t rank_of(char c) { return static_cast<unsigned char>(c) % kRanks; }

// Every answer is one line that the client understands, to a rank that exists.
void check(const omplrun::PmiServer::Result& result) {
  fuzz::require(result.replies.size() <= 1 || result.replies.size() == kRanks);
  for (const auto& [rank, line] : result.replies) {
    fuzz::require(rank < kRanks);
    fuzz::require(line.size() < ompl::bootstrap::pmi1::kMaxLine && line.find('\n') == line.size() - 1);
    fuzz::require(ompl::bootstrap::pmi1::Pmi1Message::parse(line).has_value());
  }
  if (result.abort_code) fuzz::require(*result.abort_code > 0 && *result.abort_code < 256);
}

}  // namespace

void fuzz::one_input(std::string_view bytes) {
  omplrun::PmiServer server("job", {0, 0, 1});
  ompl::bootstrap::pmi1::LineBuffer buffer;
  if (!buffer.append(bytes)) return;
  std::array<bool, kRanks> ended{};
  while (const auto line = buffer.next()) {
    if (line->size() < 2) continue;
    const bool end = line->front() == '!';
    const uint32_t rank = rank_of((*line)[end ? 1 : 0]);
    if (ended[rank]) continue;
    if (end) {
      server.rank_ended(rank);
      ended[rank] = true;
    } else {
      const auto result = server.handle(rank, std::string_view(*line).substr(1));
      check(result);
      if (!result.violation.empty()) return;  // omplrun ends the job
    }
    if (const auto missing = server.missing_from_barrier()) fuzz::require(*missing < kRanks);
  }
}
