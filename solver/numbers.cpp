// SPDX-License-Identifier: BSD-3-Clause
#include "solver/numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "solver/csr.hpp"

namespace ompl::solver {

namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";
constexpr std::size_t kLongestNumber = 64;

}  // namespace

std::string_view trim(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string_view take_word(std::string_view& rest) {
  rest = trim(rest);
  const std::string_view out = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(out.size());
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, 30));
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

uint64_t parse_count(const Lines& lines, std::string_view word, const char* what) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty()) lines.fail("{} is missing", what);
  if (error == std::errc::result_out_of_range)
    lines.fail("{} is {}, which does not fit 64 bits", what, shown(word));
  if (error != std::errc{} || end != word.data() + word.size())
    lines.fail("{} is \"{}\"; it must be a number from 0 on", what, shown(word));
  return value;
}

uint32_t parse_size(const Lines& lines, std::string_view word, const char* what) {
  const uint64_t value = parse_count(lines, word, what);
  if (value == 0) lines.fail("{} is 0; the matrix is empty", what);
  if (value > kMostRows) lines.fail("{} is {}; at most {} can be indexed", what, value, kMostRows);
  return static_cast<uint32_t>(value);
}

uint32_t parse_index(const Lines& lines, std::string_view word, const char* what, uint32_t most) {
  const uint64_t value = parse_count(lines, word, what);
  if (value == 0 || value > most) lines.fail("{} is {}; it must be 1 to {}", what, value, most);
  return static_cast<uint32_t>(value - 1);
}

double parse_real(const Lines& lines, std::string_view word) {
  if (word.empty()) lines.fail("a value is missing");
  if (word.size() > kLongestNumber) lines.fail("the value \"{}...\" is too long", shown(word));
  const std::string_view digits = word.substr(word.front() == '+' ? 1 : 0);
  std::array<char, 2 * kLongestNumber> text{};  // as C++ writes it: a sign may bring an e
  std::size_t size = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const char c = digits[i];
    const bool after_digit =
        i > 0 && (digits[i - 1] == '.' || (digits[i - 1] >= '0' && digits[i - 1] <= '9'));
    if ((c == '+' || c == '-') && after_digit) text[size++] = 'e';
    if (size == kLongestNumber) lines.fail("the value \"{}\" is too long", shown(word));
    text[size++] = c == 'D' || c == 'd' ? 'e' : c;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + size, value);
  if (error == std::errc::result_out_of_range)
    lines.fail("the value {} does not fit a double", shown(word));
  if (error != std::errc{} || end != text.data() + size)
    lines.fail("\"{}\" is not a real number", shown(word));
  if (!std::isfinite(value)) lines.fail("the value {} is not a finite number", shown(word));
  return value;
}

}  // namespace ompl::solver
