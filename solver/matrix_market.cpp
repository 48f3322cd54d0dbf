// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix_market.hpp"

#include <algorithm>

#include "solver/error.hpp"
#include "solver/numbers.hpp"

namespace ompl::solver {

namespace {

class MatrixMarket {
 public:
  explicit MatrixMarket(Lines& lines) : lines_(lines) { read_head(); }

  Csr matrix() {
    read_entries();
    return assemble(rows_, columns_, entries_, mirror_,
                    [&](uint64_t index) { return lines_.where(line_of(index)); });
  }

  std::vector<double> vector() {
    if (!array_ || mirror_ != Mirror::none || columns_ != 1)
      lines_.fail("a vector is an array, general, with one column");
    read_entries();
    std::vector<double> out(rows_);
    for (const Entry& e : entries_) out[e.row] = e.value;
    return out;
  }

 private:
  void read_head() {
    if (!lines_.next()) refuse("{}the file is empty", lines_.where(1));
    std::string_view rest = lines_.line();
    if (lower(take_word(rest)) != "%%matrixmarket")
      lines_.fail("a Matrix Market file begins with %%MatrixMarket");
    const std::string object = lower(take_word(rest)), format = lower(take_word(rest));
    const std::string field = lower(take_word(rest)), symmetry = lower(take_word(rest));
    if (object != "matrix") lines_.fail("the object is \"{}\"; only \"matrix\" is read", shown(object));
    if (format != "coordinate" && format != "array")
      lines_.fail("the format is \"{}\"; it must be coordinate or array", shown(format));
    array_ = format == "array";
    if (field == "complex") lines_.fail("the values are complex; only real systems are solved");
    if (field != "real" && field != "double" && field != "integer" && field != "pattern")
      lines_.fail("the field is \"{}\"; it must be real, integer or pattern", shown(field));
    pattern_ = field == "pattern";
    if (pattern_ && array_) lines_.fail("an array has values; its field cannot be pattern");
    if (symmetry == "symmetric")
      mirror_ = Mirror::symmetric;
    else if (symmetry == "skew-symmetric")
      mirror_ = Mirror::skew;
    else if (symmetry != "general")
      lines_.fail("the symmetry is \"{}\"; it must be general, symmetric or skew-symmetric",
                  shown(symmetry));
    read_sizes();
  }

  void read_sizes() {
    if (!next_line()) lines_.fail("the file ends before the sizes");
    std::string_view rest = lines_.line();
    rows_ = parse_size(lines_, take_word(rest), "the number of rows");
    columns_ = parse_size(lines_, take_word(rest), "the number of columns");
    if (!array_) count_ = parse_count(lines_, take_word(rest), "the number of entries");
    expect_end(rest);
    if (mirror_ != Mirror::none && rows_ != columns_)
      lines_.fail("{} rows and {} columns cannot be symmetric", rows_, columns_);
  }

  void read_entries() {
    if (array_)
      read_array();
    else
      read_coordinates();
    if (next_line()) lines_.fail("there is more than the sizes say");
  }

  void read_coordinates() {
    for (uint64_t i = 0; i < count_; ++i) {
      if (!next_line()) lines_.fail("the file ends after {} of {} entries; is it complete?", i, count_);
      std::string_view rest = lines_.line();
      const uint32_t row = parse_index(lines_, take_word(rest), "the row", rows_);
      const uint32_t column = parse_index(lines_, take_word(rest), "the column", columns_);
      const double value = pattern_ ? 1 : parse_real(lines_, take_word(rest));
      expect_end(rest);
      if (mirror_ == Mirror::skew && row == column)
        lines_.fail("a skew-symmetric matrix has no diagonal");
      append({row, column, value});
    }
  }

  // Column by column; of symmetric ones what is below the diagonal, and the diagonal unless it is skew.
  void read_array() {
    for (uint32_t column = 0; column < columns_; ++column) {
      const uint32_t first = mirror_ == Mirror::none   ? 0
                             : mirror_ == Mirror::skew ? column + 1
                                                       : column;
      for (uint32_t row = first; row < rows_; ++row) {
        if (!next_line())
          lines_.fail("the file ends before row {}, column {}; is it complete?", row + 1, column + 1);
        std::string_view rest = lines_.line();
        const double value = parse_real(lines_, take_word(rest));
        expect_end(rest);
        if (value != 0) append({row, column, value});
      }
    }
  }

  // The next line with something in it but a comment.
  bool next_line() {
    while (lines_.next()) {
      const std::string_view text = trim(lines_.line());
      if (!text.empty() && text.front() != '%') return true;
    }
    return false;
  }

  void expect_end(std::string_view rest) const {
    if (const std::string_view more = trim(rest); !more.empty())
      lines_.fail("unexpected \"{}\"", shown(more));
  }

  void append(const Entry& entry) {
    const uint64_t index = entries_.size();
    if (index == 0 || lines_.number() - index != jumps_.back().line - jumps_.back().index)
      jumps_.push_back({index, lines_.number()});
    entries_.push_back(entry);
  }

  // Entries stand in lines of their own, mostly one after the other; jumps_ has where not.
  [[nodiscard]] uint64_t line_of(uint64_t index) const {
    const auto after = std::ranges::upper_bound(jumps_, index, {}, &Jump::index);
    const Jump& jump = *(after - 1);
    return jump.line + (index - jump.index);
  }

  struct Jump {
    uint64_t index, line;
  };

  Lines& lines_;
  bool array_ = false, pattern_ = false;
  Mirror mirror_ = Mirror::none;
  uint32_t rows_ = 0, columns_ = 0;
  uint64_t count_ = 0;
  std::vector<Entry> entries_;
  std::vector<Jump> jumps_;
};

}  // namespace

Csr read_matrix_market(Lines& lines) { return MatrixMarket(lines).matrix(); }

std::vector<double> read_matrix_market_vector(Lines& lines) { return MatrixMarket(lines).vector(); }

}  // namespace ompl::solver
