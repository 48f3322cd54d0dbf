// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "solver/matrix/csr.hpp"

namespace ompl::solver {

namespace {

constexpr std::size_t kLongestNumber = 64;

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

// As C++ writes it: D is e, and a sign after a digit brings an e. Into `text`, twice as long.
std::string_view without_fortran(std::string_view digits, std::span<char> text) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const char c = digits[i];
    const bool after_digit =
        i > 0 && (digits[i - 1] == '.' || (digits[i - 1] >= '0' && digits[i - 1] <= '9'));
    if ((c == '+' || c == '-') && after_digit) text[size++] = 'e';
    text[size++] = c == 'D' || c == 'd' ? 'e' : c;
  }
  return {text.data(), size};
}

// All of the text, or invalid_argument.
std::errc to_real(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end != text.data() + text.size()) return std::errc::invalid_argument;
  return error;
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view take_word(std::string_view& rest) {
  rest = trim(rest);
  const auto end = std::ranges::find_if(rest, is_blank);
  const std::string_view out = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
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
  double value = 0;
  std::errc error = to_real(digits, value);
  if (error == std::errc::invalid_argument) {
    std::array<char, 2 * kLongestNumber> text{};
    error = to_real(without_fortran(digits, text), value);
  }
  if (error == std::errc::result_out_of_range)
    lines.fail("the value {} does not fit a double", shown(word));
  if (error != std::errc{}) lines.fail("\"{}\" is not a real number", shown(word));
  if (!std::isfinite(value)) lines.fail("the value {} is not a finite number", shown(word));
  return value;
}

}  // namespace ompl::solver
