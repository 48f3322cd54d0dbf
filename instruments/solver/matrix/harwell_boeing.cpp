// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/matrix_file.hpp"

#include <algorithm>

#include "solver/matrix/lines.hpp"

namespace ompl::solver {

namespace {

// A Fortran format of one kind of number: how many in a line, how wide.
struct Format {
  uint32_t count = 0, width = 0;
};

constexpr uint32_t kWidestLine = 1000;

// Takes digits off text; 0 if there are none.
uint32_t take_digits(std::string_view& text) {
  uint32_t out = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    out = std::min(out * 10 + static_cast<uint32_t>(text.front() - '0'), kWidestLine);
    text.remove_prefix(1);
  }
  return out;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// (16I5), (5E16.8), (1P5D16.8), (1P,5E16.8E3)
Format parse_format(const Lines& lines, std::string_view field, std::string_view letters) {
  std::string text = lower(field);
  std::erase(text, ' ');
  std::string_view rest = text;
  Format out;
  bool good = take(rest, "(");
  out.count = take_digits(rest);
  if (take(rest, "p")) {
    take(rest, ",");
    out.count = take_digits(rest);
  }
  good = good && take(rest, letters);
  out.count = std::max(out.count, 1U);
  out.width = take_digits(rest);
  if (take(rest, ".")) {
    take_digits(rest);
    if (take(rest, "e")) take_digits(rest);
  }
  good = good && rest == ")" && out.width > 0 && out.count * out.width <= kWidestLine;
  if (!good)
    lines.fail("the format \"{}\" is not understood; it must be such as (16I5) or (1P,5E16.8)",
               shown(field));
  return out;
}

// Numbers of a format, over as many lines as there are.
class Fields {
 public:
  Fields(Lines& lines, Format format) : lines_(lines), format_(format), at_(format.count) {}

  std::string_view next(const char* what) {
    if (at_ == format_.count) {
      if (!lines_.next()) lines_.fail("the file ends in the {}; is it complete?", what);
      at_ = 0;
    }
    const std::string_view line = lines_.line();
    const std::size_t begin = std::min<std::size_t>(line.size(), std::size_t{at_++} * format_.width);
    const std::string_view field = trim(line.substr(begin, format_.width));
    if (field.empty())
      lines_.fail("column {} is blank where one of the {} must stand", begin + 1, what);
    return field;
  }

 private:
  Lines& lines_;
  const Format format_;
  uint32_t at_;
};

class HarwellBoeing {
 public:
  explicit HarwellBoeing(Lines& lines) : lines_(lines) {}

  Listed list(const Wanted& wanted) {
    read_head();
    wanted_ = wanted(out_.rows);
    std::vector<uint64_t> start;
    Fields pointers(lines_, pointer_format_);
    for (uint64_t i = 0; i <= out_.columns; ++i) {
      const uint64_t at = parse_count(lines_, pointers.next("pointers"), "the pointer");
      const uint64_t least = start.empty() ? 1 : start.back() + 1, most = i == 0 ? 1 : out_.count + 1;
      if (at < least || at > most)
        lines_.fail("the pointer of column {} is {}; it must be {} to {}", i + 1, at, least, most);
      start.push_back(at - 1);
    }
    if (start.back() != out_.count)
      lines_.fail("the last pointer is {}; it must be {}", start.back() + 1, out_.count + 1);
    read_rows(start);
    if (!pattern_) read_values();
    return std::move(out_);
  }

 private:
  std::string_view next_line() {
    if (!lines_.next()) lines_.fail("the file ends in its head; is it complete?");
    return lines_.line();
  }

  void read_head() {
    next_line();  // title and key
    std::string_view counts = next_line();
    const bool counts_there =
        !take_word(counts)
             .empty();  // of all lines; then of pointers, indices, values, right-hand sides
    if (!counts_there) lines_.fail("the second line must have the numbers of lines");
    for (int i = 0; i < 3; ++i) (void)take_word(counts);
    const std::string_view rhs = take_word(counts);
    const bool right_hand_sides =
        !rhs.empty() && parse_count(lines_, rhs, "the number of lines of right-hand sides") > 0;

    std::string_view rest = next_line();
    read_type(lower(take_word(rest)));
    out_.line = lines_.number();
    out_.rows = parse_size(lines_, take_word(rest), "the number of rows");
    out_.columns = parse_size(lines_, take_word(rest), "the number of columns");
    out_.count = parse_count(lines_, take_word(rest), "the number of entries");
    if (out_.mirror != Mirror::none && out_.rows != out_.columns)
      lines_.fail("{} rows and {} columns cannot be symmetric", out_.rows, out_.columns);

    const std::string formats(next_line());
    const auto field = [&](std::size_t first, std::size_t size) {
      return std::string_view(formats).substr(std::min(first, formats.size()), size);
    };
    pointer_format_ = parse_format(lines_, field(0, 16), "i");
    index_format_ = parse_format(lines_, field(16, 16), "i");
    if (!pattern_) value_format_ = parse_format(lines_, field(32, 20), integer_ ? "i" : "edfg");
    if (right_hand_sides) next_line();
  }

  void read_type(const std::string& type) {
    if (type.size() != 3)
      lines_.fail("the type is \"{}\"; it must be three letters, such as RUA", shown(type));
    if (type[0] == 'c') lines_.fail("the values are complex; only real systems are solved");
    if (type[2] == 'e')
      lines_.fail("the matrix is elemental, that is, not assembled; only assembled ones are read");
    const std::string_view fields = "rip", symmetries = "surz";
    if (fields.find(type[0]) == std::string_view::npos ||
        symmetries.find(type[1]) == std::string_view::npos || type[2] != 'a')
      lines_.fail("the type is \"{}\"; it must be R, I or P, then S, U, R or Z, then A", shown(type));
    pattern_ = type[0] == 'p';
    integer_ = type[0] == 'i';
    if (type[1] == 's') out_.mirror = Mirror::symmetric;
    if (type[1] == 'z') out_.mirror = Mirror::skew;
  }

  void read_rows(const std::vector<uint64_t>& start) {
    Fields rows(lines_, index_format_);
    for (uint32_t column = 0; column < out_.columns; ++column) {
      for (uint64_t k = start[column]; k < start[column + 1]; ++k) {
        const uint32_t row = parse_index(lines_, rows.next("row indices"), "the row", out_.rows);
        if (out_.mirror == Mirror::skew && row == column)
          lines_.fail("a skew-symmetric matrix has no diagonal");
        const Entry entry{row, column, 1, lines_.number()};
        kept_.push_back(wanted_.touches(entry, out_.mirror));
        if (kept_.back()) out_.entries.push_back(entry);
      }
    }
  }

  void read_values() {
    Fields values(lines_, value_format_);
    auto entry = out_.entries.begin();
    for (const bool kept : kept_) {
      const double value = parse_value(values.next("values"));
      if (kept) (entry++)->value = value;
    }
  }

  [[nodiscard]] double parse_value(std::string_view field) const {
    // Fortran would put a point into "12345" where the format says; nobody writes so, but a damaged file may look so.
    if (!integer_ && field.find('.') == std::string_view::npos)
      lines_.fail("the value \"{}\" has no decimal point; is a line shifted?", shown(field));
    return parse_real(lines_, field);
  }

  Lines& lines_;
  bool pattern_ = false, integer_ = false;
  Format pointer_format_, index_format_, value_format_;
  RowRange wanted_;
  std::vector<bool> kept_;  // of all entries, in the file's order
  Listed out_;
};

}  // namespace

Listed list_harwell_boeing(Lines& lines, const Wanted& wanted) {
  return HarwellBoeing(lines).list(wanted);
}

Csr read_harwell_boeing(Lines& lines) {
  const Listed listed = list_harwell_boeing(lines, all_rows);
  return rows_of(listed, all_rows(listed.rows), lines);
}

}  // namespace ompl::solver
