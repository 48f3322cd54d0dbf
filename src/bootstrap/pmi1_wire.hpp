// SPDX-License-Identifier: BSD-3-Clause
// The text of the PMI-1 wire protocol, without any input or output: lines "cmd=NAME key=value ...", and
// values of any bytes made fit for them. Used by the client (pmi1.cpp), by omplrun's server, and by the
// fuzz targets: everything here takes bytes from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ompl::bootstrap::pmi1 {

// No line of either side is longer; the longest legal one has about 1,400 bytes.
inline constexpr std::size_t kMaxLine = 16384;

// Cuts the bytes of a connection into lines.
class LineBuffer {
 public:
  // False: a line is longer than kMaxLine; the connection is then of no use any more.
  bool append(std::string_view bytes);
  // The next whole line, without its newline.
  std::optional<std::string> next();

 private:
  std::string bytes_;
};

// One line, taken apart.
class Pmi1Message {
 public:
  // Nothing unless the line begins with "cmd=NAME". Words without '=' are passed over: some launchers
  // write messages of several words. Of a field given twice the first counts.
  static std::optional<Pmi1Message> parse(std::string_view line);

  [[nodiscard]] std::string_view command() const { return fields_.front().second; }
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
  [[nodiscard]] std::optional<uint32_t> number(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;  // the command first
};

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// "cmd=COMMAND name=value ...\n". Names and values must be is_word().
std::string line(std::string_view command, Fields fields = {});

// Whether `text` may stand as a value or key: not empty; no spaces, '=' or control characters.
bool is_word(std::string_view text);

// A whole decimal number, nothing else around it.
std::optional<uint32_t> to_number(std::string_view text);

// A value of any bytes as words of at most `max_length` (at least 16) characters: the first is
// "COUNT:HEX", the others are HEX.
std::vector<std::string> split_value(std::string_view value, std::size_t max_length);
// How many words belong to the value that begins with `first`.
std::optional<uint32_t> word_count(std::string_view first);
// The value of the words that split_value() made.
std::optional<std::string> join_value(const std::vector<std::string>& words);

// PMI_process_mapping, "(vector,(node,nodes,ranks per node),...)": the node of each of `size` ranks.
// The blocks are repeated until all ranks have one. Nothing if the text is not of that form.
std::optional<std::vector<uint32_t>> parse_mapping(std::string_view text, uint32_t size);
// Its opposite, for the node of each rank.
std::string format_mapping(const std::vector<uint32_t>& nodes);

}  // namespace ompl::bootstrap::pmi1
