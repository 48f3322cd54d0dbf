// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/lines.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>

#include "solver/matrix/csr.hpp"

namespace ompl::solver {

namespace {

constexpr std::size_t kLongestLine = 65536;
constexpr std::size_t kRead = 1 << 18;

constexpr std::size_t kLongestNumber = 64;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

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

void Lines::Close::operator()(gzFile_s* file) const { gzclose(file); }

Lines Lines::of_file(const std::string& path) {
  Lines out;
  out.name_ = path;
  errno = 0;
  out.file_.reset(gzopen(path.c_str(), "rb"));
  if (!out.file_) refuse("{}: {}", path, errno != 0 ? std::strerror(errno) : "no memory to read it");
  return out;
}

Lines Lines::of_text(std::string_view text, std::string name) {
  Lines out;
  out.name_ = std::move(name);
  out.buffer_ = text;
  return out;
}

// Drops what was given and reads on; false at the end of the file.
bool Lines::refill() {
  if (!file_) return false;
  buffer_.erase(0, at_);
  base_ += at_;
  at_ = 0;
  const std::size_t old = buffer_.size();
  buffer_.resize(old + kRead);
  const int got = gzread(file_.get(), buffer_.data() + old, kRead);
  int error = Z_OK;
  const char* const text = gzerror(file_.get(), &error);
  if (got < 0 || (error != Z_OK && error != Z_STREAM_END)) {
    ++number_;
    fail("the file cannot be read on: {}; is it complete?",
         error == Z_ERRNO ? std::strerror(errno) : text);
  }
  buffer_.resize(old + static_cast<std::size_t>(got));
  return got > 0;
}

std::optional<uint64_t> Lines::size() const {
  if (!file_) return buffer_.size();
  std::error_code none;
  if (!std::filesystem::is_regular_file(name_, none) || gzdirect(file_.get()) == 0) return {};
  const uint64_t bytes = std::filesystem::file_size(name_, none);
  return none || bytes == 0 ? std::nullopt : std::optional(bytes);
}

// A line may begin in one share and end in another; it belongs to the first.
void Lines::narrow(uint64_t first, uint64_t last, uint64_t number) {
  number_ = number;
  end_ = last;
  if (first == 0) return;
  if (!file_) {
    at_ = std::min<std::size_t>(first - 1, buffer_.size());
  } else {
    buffer_.clear();
    at_ = 0;
    base_ = first - 1;
    (void)gzdirect(
        file_.get());  // finds out that it is not compressed; then it can seek without reading
    if (gzseek(file_.get(), static_cast<z_off_t>(base_), SEEK_SET) < 0)
      refuse("{}: byte {} cannot be found; has the file changed?", name_, base_);
  }
  skip_line();
}

// Whatever its length.
void Lines::skip_line() {
  std::size_t end = buffer_.find('\n', at_);
  while (end == std::string::npos) {
    at_ = buffer_.size();
    if (offset() >= end_ || !refill()) return;
    end = buffer_.find('\n', at_);
  }
  at_ = end + 1;
}

bool Lines::next() {
  if (std::exchange(again_, false)) return true;
  if (offset() >= end_) return false;
  std::size_t end = buffer_.find('\n', at_);
  while (end == std::string::npos && buffer_.size() - at_ <= kLongestLine && refill())
    end = buffer_.find('\n', at_);
  if (at_ == buffer_.size()) return false;
  if (number_++ == 0 && std::string_view(buffer_).substr(at_).starts_with(kByteOrderMark))
    at_ += kByteOrderMark.size();
  if (end == std::string::npos) end = buffer_.size();
  if (end - at_ > kLongestLine)
    fail("the line is longer than {} bytes; is this a matrix?", kLongestLine);
  line_ = std::string_view(buffer_).substr(at_, end - at_);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  at_ = std::min(end + 1, buffer_.size());
  return true;
}

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

uint64_t parse_count(const Lines& lines, std::string_view word, const char* what) {
  uint64_t value = 0;
  const std::string_view digits = word.substr(word.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (word.empty()) lines.fail("{} is missing", what);
  if (error == std::errc::result_out_of_range)
    lines.fail("{} is {}, which does not fit 64 bits", what, shown(word));
  if (error != std::errc{} || end != digits.data() + digits.size())
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
