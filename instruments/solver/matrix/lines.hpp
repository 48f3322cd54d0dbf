// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/input_error.hpp"

struct gzFile_s;

namespace ompl::solver {

// One line after the other of a file, compressed by gzip or not, or of a text in memory; and where it stands.
class Lines {
 public:
  // Throws InputError if the file cannot be opened.
  static Lines of_file(const std::string& path);
  static Lines of_text(std::string_view text, std::string name);

  // False at the end. Throws InputError for a line above 64 KiB, and for a compressed file that is damaged or cut.
  bool next();
  // The next next() gives the same line again.
  void unread() { again_ = true; }

  // From here on only the lines that begin at the bytes from `first` up to, but without, `last`; the first of them has
  // the number after `number`. Only of what has a size(). Throws InputError.
  void narrow(uint64_t first, uint64_t last, uint64_t number);
  // Bytes of a text or of a file that can be read from anywhere: not compressed, no pipe, not empty.
  [[nodiscard]] std::optional<uint64_t> size() const;
  // The byte at which the next line begins.
  [[nodiscard]] uint64_t offset() const { return base_ + at_; }

  // Without its end; valid until the next next().
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] uint64_t number() const { return number_; }

  // "NAME:LINE: "
  [[nodiscard]] std::string where(uint64_t number) const {
    return fmt::format("{}:{}: ", name_, number);
  }
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    refuse("{}{}", where(number_), fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  bool refill();
  void skip_line();

  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;  // none: all is in buffer_
  std::string buffer_;
  uint64_t base_ = 0;            // of the buffer in the file
  std::size_t at_ = 0;           // what is before has been given
  uint64_t end_ = ~uint64_t{0};  // no line begins here or after
  std::string_view line_;
  uint64_t number_ = 0;
  bool again_ = false;
};

// Numbers as files of matrices have them.

// Takes the next word, without the blanks around it, off `rest`; "" at the end.
[[nodiscard]] std::string_view take_word(std::string_view& rest);

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string lower(std::string_view text);

// These fail with the line, naming what was meant.
[[nodiscard]] uint64_t parse_count(const Lines& lines, std::string_view word, const char* what);
// A size that must fit kMostRows and be above 0.
[[nodiscard]] uint32_t parse_size(const Lines& lines, std::string_view word, const char* what);
// From 1 to `most`; returns it less 1.
[[nodiscard]] uint32_t parse_index(const Lines& lines, std::string_view word, const char* what,
                                   uint32_t most);
// A finite number; Fortran's exponents (1.5D+03, 1.5+103) too.
[[nodiscard]] double parse_real(const Lines& lines, std::string_view word);

}  // namespace ompl::solver
