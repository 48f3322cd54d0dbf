// SPDX-License-Identifier: BSD-3-Clause
// Any bytes into every function of the PMI-1 wire text, and their laws.
#include "bootstrap/pmi1_wire.hpp"
#include "fuzz.hpp"

namespace pmi1 = ompl::bootstrap::pmi1;

namespace {

// Cutting in pieces gives the same lines as cutting at once.
std::vector<std::string> lines_of(std::string_view bytes, std::size_t piece) {
  pmi1::LineBuffer buffer;
  std::vector<std::string> lines;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (!buffer.append(bytes.substr(0, piece))) break;
    while (auto line = buffer.next()) lines.push_back(*line);
  }
  return lines;
}

void check_message(std::string_view line) {
  const auto message = pmi1::Pmi1Message::parse(line);
  if (!message) return;
  fuzz::require(!message->command().empty());
  fuzz::require(message->field("cmd") == message->command());
  const auto value = message->field("value");
  if (!value || !pmi1::is_word(*value) || !pmi1::is_word(message->command())) return;
  std::string again = pmi1::line(message->command(), {{"value", *value}});
  again.pop_back();  // the newline
  fuzz::require(pmi1::Pmi1Message::parse(again)->field("value") == value);
}

void check_values(std::string_view bytes) {
  const auto words = pmi1::split_value(bytes, 16 + bytes.size() % 100);
  fuzz::require(pmi1::join_value(words) == bytes);
  const std::vector<std::string> hostile{std::string(bytes)};
  if (const auto joined = pmi1::join_value(hostile)) fuzz::require(2 * joined->size() < bytes.size());
}

void check_mapping(std::string_view bytes) {
  constexpr uint32_t kSize = 64;
  const auto map = pmi1::parse_mapping(bytes, kSize);
  if (!map) return;
  fuzz::require(map->size() == kSize);
  fuzz::require(pmi1::parse_mapping(pmi1::format_mapping(*map), kSize) == map);
}

}  // namespace

void fuzz::one_input(std::string_view bytes) {
  const auto lines = lines_of(bytes, bytes.size());
  if (bytes.size() <= pmi1::kMaxLine) {
    fuzz::require(lines_of(bytes, 1) == lines);
    fuzz::require(lines_of(bytes, 7) == lines);
  }
  for (const auto& line : lines) check_message(line);
  check_message(bytes);
  check_values(bytes);
  check_mapping(bytes);
}
