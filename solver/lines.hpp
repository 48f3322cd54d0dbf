// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "solver/error.hpp"

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

  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;  // none: all is in buffer_
  std::string buffer_;
  std::size_t at_ = 0;  // what is before has been given
  std::string_view line_;
  uint64_t number_ = 0;
  bool again_ = false;
};

}  // namespace ompl::solver
