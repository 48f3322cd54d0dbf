// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/pmi1_wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace ompl::bootstrap::pmi1 {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kHexDigits[byte >> 4];
    hex += kHexDigits[byte & 15];
  }
  return hex;
}

// Appends the bytes of `hex`; false if it is not hexadecimal.
bool append_bytes(std::string_view hex, std::string* bytes) {
  if (hex.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const auto high = kHexDigits.find(hex[i]);
    const auto low = kHexDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    *bytes += static_cast<char>(high << 4 | low);
  }
  return true;
}

// Removes `token` from the front of `text`, or returns false.
bool take(std::string_view* text, std::string_view token) {
  if (!text->starts_with(token)) return false;
  text->remove_prefix(token.size());
  return true;
}

// Removes a number and the character behind it from the front of `text`.
std::optional<uint32_t> take_number(std::string_view* text, char terminator) {
  const auto end = text->find(terminator);
  if (end == std::string_view::npos) return std::nullopt;
  const auto number = to_number(text->substr(0, end));
  text->remove_prefix(end + 1);
  return number;
}

struct NodeBlock {
  uint32_t node, nodes, ranks;
};

std::optional<std::vector<NodeBlock>> parse_blocks(std::string_view text) {
  std::vector<NodeBlock> blocks;
  if (!take(&text, "(vector")) return std::nullopt;
  while (take(&text, ",(")) {
    const auto node = take_number(&text, ',');
    const auto nodes = take_number(&text, ',');
    const auto ranks = take_number(&text, ')');
    if (!node || nodes.value_or(0) == 0 || ranks.value_or(0) == 0) return std::nullopt;
    if (*nodes > std::numeric_limits<uint32_t>::max() - *node) return std::nullopt;
    blocks.push_back({*node, *nodes, *ranks});
  }
  if (text != ")" || blocks.empty()) return std::nullopt;
  return blocks;
}

}  // namespace

bool LineBuffer::append(std::string_view bytes) {
  bytes_ += bytes;
  const auto last_newline = bytes_.rfind('\n');
  const auto partial = last_newline == std::string::npos ? bytes_.size() : bytes_.size() - last_newline;
  return partial <= kMaxLine;
}

std::optional<std::string> LineBuffer::next() {
  const auto end = bytes_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string whole = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  return whole;
}

std::optional<Pmi1Message> Pmi1Message::parse(std::string_view text) {
  Pmi1Message message;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    message.fields_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  if (message.fields_.empty() || message.fields_.front().first != "cmd") return std::nullopt;
  if (message.command().empty()) return std::nullopt;
  return message;
}

std::optional<std::string_view> Pmi1Message::field(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [name](const auto& field) { return field.first == name; });
  if (found == fields_.end()) return std::nullopt;
  return found->second;
}

std::optional<uint32_t> Pmi1Message::number(std::string_view name) const {
  const auto text = field(name);
  return text ? to_number(*text) : std::nullopt;
}

std::string line(std::string_view command, Fields fields) {
  std::string text = fmt::format("cmd={}", command);
  for (const auto& [name, value] : fields) text += fmt::format(" {}={}", name, value);
  return text += '\n';
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c != '=' && c != '\x7f'; });
}

std::optional<uint32_t> to_number(std::string_view text) {
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

std::vector<std::string> split_value(std::string_view value, std::size_t max_length) {
  const std::string hex = to_hex(value);
  const std::size_t even = max_length / 2 * 2;
  // Room for the count and its colon in the first word: ten digits and one.
  const std::size_t first = std::min(hex.size(), (max_length - 11) / 2 * 2);
  const std::size_t count = 1 + (hex.size() - first + even - 1) / even;
  std::vector<std::string> words{fmt::format("{}:{}", count, hex.substr(0, first))};
  for (std::size_t at = first; at < hex.size(); at += even) words.push_back(hex.substr(at, even));
  return words;
}

std::optional<uint32_t> word_count(std::string_view first) {
  const auto colon = first.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto count = to_number(first.substr(0, colon));
  return count == 0U ? std::nullopt : count;
}

std::optional<std::string> join_value(const std::vector<std::string>& words) {
  if (words.empty() || word_count(words.front()) != words.size()) return std::nullopt;
  std::string value;
  const std::string_view first = words.front();
  if (!append_bytes(first.substr(first.find(':') + 1), &value)) return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!append_bytes(words[i], &value)) return std::nullopt;
  }
  return value;
}

std::optional<std::vector<uint32_t>> parse_mapping(std::string_view text, uint32_t size) {
  const auto blocks = parse_blocks(text);
  if (!blocks) return std::nullopt;
  std::vector<uint32_t> map;
  map.reserve(size);
  while (map.size() < size) {
    for (const auto& block : *blocks) {
      for (uint32_t i = 0; i < block.nodes && map.size() < size; ++i) {
        const auto ranks = std::min<std::size_t>(block.ranks, size - map.size());
        map.insert(map.end(), ranks, block.node + i);
      }
    }
  }
  return map;
}

std::string format_mapping(const std::vector<uint32_t>& nodes) {
  std::string text = "(vector";
  for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
    while (end < nodes.size() && nodes[end] == nodes[begin]) ++end;
    text += fmt::format(",({},1,{})", nodes[begin], end - begin);
  }
  return text += ')';
}

}  // namespace ompl::bootstrap::pmi1
