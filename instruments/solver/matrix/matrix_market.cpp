// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/matrix_market.hpp"

#include <iterator>

#include "common/output_file.hpp"

namespace ompl::solver {

namespace {

// The next line with something in it but a comment.
bool next_line(Lines& lines) {
  while (lines.next()) {
    const std::string_view text = trim(lines.line());
    if (!text.empty() && text.front() != '%') return true;
  }
  return false;
}

void expect_end(const Lines& lines, std::string_view rest) {
  if (const std::string_view more = trim(rest); !more.empty())
    lines.fail("unexpected \"{}\"", shown(more));
}

[[noreturn]] void fail_more(const Lines& lines) { lines.fail("there is more than the sizes say"); }

// The first line: %%MatrixMarket matrix coordinate real general
void read_kind(const Lines& lines, MatrixMarketHead& head) {
  std::string_view rest = lines.line();
  if (lower(take_word(rest)) != "%%matrixmarket")
    lines.fail("a Matrix Market file begins with %%MatrixMarket");
  const std::string object = lower(take_word(rest)), format = lower(take_word(rest));
  const std::string field = lower(take_word(rest)), symmetry = lower(take_word(rest));
  if (object != "matrix") lines.fail("the object is \"{}\"; only \"matrix\" is read", shown(object));
  if (format != "coordinate" && format != "array")
    lines.fail("the format is \"{}\"; it must be coordinate or array", shown(format));
  head.array = format == "array";
  if (field == "complex") lines.fail("the values are complex; only real systems are solved");
  if (field != "real" && field != "double" && field != "integer" && field != "pattern")
    lines.fail("the field is \"{}\"; it must be real, integer or pattern", shown(field));
  head.pattern = field == "pattern";
  if (head.pattern && head.array) lines.fail("an array has values; its field cannot be pattern");
  if (symmetry == "symmetric")
    head.mirror = Mirror::symmetric;
  else if (symmetry == "skew-symmetric")
    head.mirror = Mirror::skew;
  else if (symmetry != "general")
    lines.fail("the symmetry is \"{}\"; it must be general, symmetric or skew-symmetric",
               shown(symmetry));
}

void read_sizes(Lines& lines, MatrixMarketHead& head) {
  if (!next_line(lines)) lines.fail("the file ends before the sizes");
  std::string_view rest = lines.line();
  head.rows = parse_size(lines, take_word(rest), "the number of rows");
  head.columns = parse_size(lines, take_word(rest), "the number of columns");
  if (!head.array) head.count = parse_count(lines, take_word(rest), "the number of entries");
  expect_end(lines, rest);
  if (head.mirror != Mirror::none && head.rows != head.columns)
    lines.fail("{} rows and {} columns cannot be symmetric", head.rows, head.columns);
}

// Column by column; of symmetric ones what is below the diagonal, and the diagonal unless it is skew.
void read_array(Lines& lines, const MatrixMarketHead& head,
                const std::function<void(const Entry&)>& take) {
  for (uint32_t column = 0; column < head.columns; ++column) {
    const uint32_t first = head.mirror == Mirror::none   ? 0
                           : head.mirror == Mirror::skew ? column + 1
                                                         : column;
    for (uint32_t row = first; row < head.rows; ++row) {
      if (!next_line(lines))
        lines.fail("the file ends before row {}, column {}; is it complete?", row + 1, column + 1);
      std::string_view rest = lines.line();
      const double value = parse_real(lines, take_word(rest));
      expect_end(lines, rest);
      take({row, column, value, lines.number()});
    }
  }
  if (next_line(lines)) fail_more(lines);
}

}  // namespace

MatrixMarketHead read_matrix_market_head(Lines& lines) {
  if (!lines.next()) refuse("{}the file is empty", lines.where(1));
  MatrixMarketHead head;
  read_kind(lines, head);
  read_sizes(lines, head);
  head.line = lines.number();
  head.bytes = lines.offset();
  return head;
}

uint64_t read_coordinates(Lines& lines, const MatrixMarketHead& head, uint64_t most,
                          const std::function<void(const Entry&)>& take) {
  uint64_t count = 0;
  while (next_line(lines)) {
    if (count == most) fail_more(lines);
    std::string_view rest = lines.line();
    const uint32_t row = parse_index(lines, take_word(rest), "the row", head.rows);
    const uint32_t column = parse_index(lines, take_word(rest), "the column", head.columns);
    const double value = head.pattern ? 1 : parse_real(lines, take_word(rest));
    expect_end(lines, rest);
    if (head.mirror == Mirror::skew && row == column)
      lines.fail("a skew-symmetric matrix has no diagonal");
    take({row, column, value, lines.number()});
    ++count;
  }
  return count;
}

void check_complete(const Lines& lines, const MatrixMarketHead& head, uint64_t entries, uint64_t line) {
  if (entries < head.count)
    refuse("{}the file ends after {} of {} entries; is it complete?", lines.where(line), entries,
           head.count);
}

Listed listed_of(const MatrixMarketHead& head) {
  return {head.rows, head.columns, head.mirror, head.count, head.line, {}};
}

Listed list_matrix_market(Lines& lines, const Wanted& wanted) {
  const MatrixMarketHead head = read_matrix_market_head(lines);
  Listed out = listed_of(head);
  const RowRange mine = wanted(head.rows);
  const auto keep = [&](const Entry& e) {
    if (mine.touches(e, head.mirror)) out.entries.push_back(e);
  };
  if (head.array) {
    read_array(lines, head, [&](const Entry& e) {
      if (e.value == 0) return;
      ++out.count;
      keep(e);
    });
  } else {
    out.count = read_coordinates(lines, head, head.count, keep);
    check_complete(lines, head, out.count, lines.number());
  }
  return out;
}

Csr read_matrix_market(Lines& lines) {
  const Listed listed = list_matrix_market(lines, all_rows);
  return rows_of(listed, all_rows(listed.rows), lines);
}

std::vector<double> read_matrix_market_vector(Lines& lines) {
  const MatrixMarketHead head = read_matrix_market_head(lines);
  if (!head.array || head.mirror != Mirror::none || head.columns != 1)
    lines.fail("a vector is an array, general, with one column");
  std::vector<double> out;
  read_array(lines, head, [&](const Entry& e) { out.push_back(e.value); });
  return out;
}

std::vector<double> read_vector(const std::string& path, uint32_t rows) {
  Lines lines = Lines::of_file(path);
  std::vector<double> out = read_matrix_market_vector(lines);
  if (out.size() != rows) refuse("{}: {} numbers, but the matrix has {} rows", path, out.size(), rows);
  return out;
}

void write_vector(const std::string& path, const std::string& comment, std::span<const double> values) {
  OutputFile file(path);
  std::ostream_iterator<char> out(file.stream());
  fmt::format_to(out, "%%MatrixMarket matrix array real general\n% {}\n{} 1\n", comment, values.size());
  for (const double value : values) fmt::format_to(out, "{}\n", value);
  file.commit();
}

}  // namespace ompl::solver
