// SPDX-License-Identifier: BSD-3-Clause
// Matrix Market files: what each kind means; what is wrong is refused with file and line.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "solver/matrix/matrix_file.hpp"
#include "solver/matrix/matrix_market.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

Csr parse(const std::string& text) {
  Lines lines = Lines::of_text(text, "m.mtx");
  return read_matrix_market(lines);
}

std::vector<double> parse_vector(const std::string& text) {
  Lines lines = Lines::of_text(text, "v.mtx");
  return read_matrix_market_vector(lines);
}

std::string head(const std::string& kind) { return "%%MatrixMarket matrix " + kind + "\n"; }
std::string refused(const std::string& text) {
  return refusal([&] { return parse(text); });
}
std::string refused_entry(const std::string& entry) {
  return refused(head("coordinate real general") + "2 2 2\n1 1 1\n" + entry);
}

TEST(MatrixMarket, CoordinateRealGeneral) {
  const Csr a = parse(
      "%%MatrixMarket MATRIX Coordinate Real General\n% a comment\n\n2 3 3\r\n2 1 -1.5e3\n\n 1\t3 "
      "+2\n1 1 1d-2\n");
  EXPECT_EQ(a.rows, 2U);
  EXPECT_EQ(a.columns, 3U);
  EXPECT_EQ(a.start, (std::vector<uint64_t>{0, 2, 3}));
  EXPECT_EQ(a.column, (std::vector<uint32_t>{0, 2, 0}));
  EXPECT_EQ(a.value, (std::vector<double>{0.01, 2, -1500}));
}

TEST(MatrixMarket, ByteOrderMarksAndSignsArePassedOver) {
  const Csr a = parse("\xEF\xBB\xBF" + head("coordinate real general") + "+2 2 2\n+1 +1 +3\n2 2 4\n");
  EXPECT_EQ(a.value, (std::vector<double>{3, 4}));
  EXPECT_NE(refused_entry("++1 1 1\n"), "");
  EXPECT_NE(refused_entry("+ 1 1\n"), "");
  EXPECT_NE(refused_entry("+-1 1 1\n"), "");
}

TEST(MatrixMarket, OtherFieldsAndSymmetries) {
  EXPECT_EQ(parse(head("coordinate integer symmetric") + "2 2 2\n1 1 4\n2 1 -7\n").value,
            (std::vector<double>{4, -7, -7}));
  EXPECT_EQ(parse(head("coordinate pattern symmetric") + "2 2 2\n1 1\n2 1\n").value,
            (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(parse(head("coordinate real skew-symmetric") + "2 2 1\n2 1 3\n").value,
            (std::vector<double>{-3, 3}));
}

TEST(MatrixMarket, Arrays) {
  const Csr a =
      parse(head("array real general") + "2 2\n1\n2\n0\n4\n");  // by columns; zeros are left out
  EXPECT_EQ(a.column, (std::vector<uint32_t>{0, 0, 1}));
  EXPECT_EQ(a.value, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(parse(head("array integer symmetric") + "2 2\n1\n2\n3\n").value,
            (std::vector<double>{1, 2, 2, 3}));
  EXPECT_EQ(parse(head("array real skew-symmetric") + "2 2\n5\n").value, (std::vector<double>{-5, 5}));
  EXPECT_EQ(parse_vector(head("array real general") + "3 1\n1\n0\n-2\n"),
            (std::vector<double>{1, 0, -2}));
}

TEST(MatrixMarket, HeadsThatAreRefused) {
  EXPECT_EQ(refused(""), "m.mtx:1: the file is empty");
  EXPECT_EQ(refused("1 1 1\n"), "m.mtx:1: a Matrix Market file begins with %%MatrixMarket");
  EXPECT_EQ(refused(head("coordinate complex general")),
            "m.mtx:1: the values are complex; only real systems are solved");
  EXPECT_NE(refused(head("array pattern general")), "");
  EXPECT_NE(refused(head("coordinate real hermitian")), "");
  expect_in("coordinate?", refused(head("coordinate\033 real general")));
  EXPECT_EQ(refused(head("coordinate real general")), "m.mtx:1: the file ends before the sizes");
  EXPECT_EQ(refused(head("coordinate real general") + "0 1 1\n"),
            "m.mtx:2: the number of rows is 0; the matrix is empty");
  EXPECT_EQ(refused(head("coordinate real general") + "4294967296 1 1\n"),
            "m.mtx:2: the number of rows is 4294967296; at most 2147483647 can be indexed");
  expect_in("64 bits", refused(head("coordinate real general") + "1 99999999999999999999 1\n"));
  EXPECT_EQ(refused(head("coordinate real general") + "1 1\n"),
            "m.mtx:2: the number of entries is missing");
  EXPECT_EQ(refused(head("coordinate real general") + "1 1 1 1\n"), "m.mtx:2: unexpected \"1\"");
  expect_in("cannot be symmetric", refused(head("coordinate real symmetric") + "1 2 1\n"));
}

TEST(MatrixMarket, EntriesThatAreRefused) {
  EXPECT_EQ(refused_entry("2 2 1\n"), "");
  EXPECT_EQ(refused_entry(""), "m.mtx:3: the file ends after 1 of 2 entries; is it complete?");
  EXPECT_EQ(refused_entry("3 1 1\n"), "m.mtx:4: the row is 3; it must be 1 to 2");
  EXPECT_EQ(refused_entry("1 0 1\n"), "m.mtx:4: the column is 0; it must be 1 to 2");
  EXPECT_EQ(refused_entry("-1 1 1\n"), "m.mtx:4: the row is \"-1\"; it must be a number from 0 on");
  EXPECT_EQ(refused_entry("2 1\n"), "m.mtx:4: a value is missing");
  EXPECT_EQ(refused_entry("2 1 nan\n"), "m.mtx:4: the value nan is not a finite number");
  EXPECT_EQ(refused_entry("2 1 1e999\n"), "m.mtx:4: the value 1e999 does not fit a double");
  EXPECT_EQ(refused_entry("2 1 one\n"), "m.mtx:4: \"one\" is not a real number");
  EXPECT_EQ(refused_entry("2 1 1 0\n"), "m.mtx:4: unexpected \"0\"");
  EXPECT_EQ(refused_entry("2 2 1\n2 1 1\n"), "m.mtx:5: there is more than the sizes say");
  EXPECT_EQ(refused_entry("% a comment moves the line\n\n1 1 5\n"),
            "m.mtx:6: row 1, column 1 stands here a second time; add the two or leave one out");
  expect_in("longer than", refused_entry("2 1 " + std::string(70000, '1')));
  expect_in("no diagonal", refused(head("coordinate real skew-symmetric") + "2 2 1\n1 1 1\n"));
  expect_in("only 1 entries", refused(head("coordinate real general") + "2147483647 1 1\n1 1 1\n"));
  expect_in("row 2, column 1", refused(head("array real general") + "2 1\n1\n"));
  EXPECT_NE(refusal([] { return parse_vector(head("array real general") + "2 2\n1\n2\n3\n4\n"); }), "");
}

// A file of this test's own, removed at its end.
class File {
 public:
  explicit File(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("ompl_" + std::to_string(getpid()) + "_" + name)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// So long that it is read in several pieces.
std::string long_text(uint32_t rows) {
  std::string out = head("coordinate real general") + std::to_string(rows) + " " +
                    std::to_string(rows) + " " + std::to_string(rows) + "\n";
  for (uint32_t i = 1; i <= rows; ++i)
    out += std::to_string(i) + " " + std::to_string(rows + 1 - i) + " 0.5\n";
  return out;
}

TEST(MatrixFile, PlainAndCompressed) {
  const std::string text = long_text(100000);
  const Csr expected = parse(text);
  const File plain("plain.mtx"), packed("packed.mtx.gz");
  std::ofstream(plain.path()) << text;
  gzFile out = gzopen(packed.path().c_str(), "wb");
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(out), Z_OK);
  for (const std::string& path : {plain.path(), packed.path()}) {
    const Csr a = read_matrix(path);
    EXPECT_EQ(a.column, expected.column);
    EXPECT_EQ(a.value, expected.value);
  }
  std::filesystem::resize_file(packed.path(), std::filesystem::file_size(packed.path()) / 2);
  const std::string why = refusal([&] { return read_matrix(packed.path()); });
  EXPECT_TRUE(why.starts_with(packed.path() + ":")) << why;
  expect_in("is it complete?", why);
}

TEST(MatrixFile, WhatCannotBeRead) {
  EXPECT_EQ(refusal([] { return read_matrix("/nowhere/m.mtx"); }),
            "/nowhere/m.mtx: No such file or directory");
  EXPECT_NE(refusal([] { return read_matrix("/"); }), "");
  EXPECT_EQ(refusal([] { return read_matrix("/dev/null"); }), "/dev/null:1: the file is empty");
}

}  // namespace
