// SPDX-License-Identifier: BSD-3-Clause
// Harwell-Boeing and Rutherford-Boeing files; what is wrong is refused with file and line.
#include <gtest/gtest.h>

#include "solver/matrix/matrix_file.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

// A file with these parts; the fields of the fourth line are 16, 16 and 20 wide.
struct Text {
  std::string second = "             5             1             1             3             0";
  std::string type = "RUA", sizes = "             3             3             4             0";
  std::string pointer_format = "(4I3)", index_format = "(2I3)", value_format = "(2E12.4)";
  std::string body =
      "  1  3  4  5\n  1  3\n  2  3\n  1.0000E+00 -2.5000E-01\n  3.0000E+00  4.0000E+00\n";

  [[nodiscard]] std::string text() const {
    const auto pad = [](std::string field, std::size_t size) {
      return field.append(size - field.size(), ' ');
    };
    return "A matrix\n" + second + "\n" + pad(type, 14) + sizes + "\n" + pad(pointer_format, 16) +
           pad(index_format, 16) + pad(value_format, 20) + "\n" + body;
  }
};

Csr parse(const Text& text) {
  Lines lines = Lines::of_text(text.text(), "m.rua");
  return read_harwell_boeing(lines);
}

std::string refused(const Text& text) {
  return refusal([&] { return parse(text); });
}

TEST(HarwellBoeing, RealUnsymmetric) {
  const Csr a = parse({});
  EXPECT_EQ(a.start, (std::vector<uint64_t>{0, 1, 2, 4}));
  EXPECT_EQ(a.column, (std::vector<uint32_t>{0, 1, 0, 2}));
  EXPECT_EQ(a.value, (std::vector<double>{1, 3, -0.25, 4}));
}

TEST(HarwellBoeing, RutherfordBoeingHasFourCounts) {
  EXPECT_EQ(parse({.second = "             5             1             1             3", .type = "rua"})
                .entries(),
            4U);
}

TEST(HarwellBoeing, FieldsThatTouchAndFortransExponents) {
  const Csr a = parse({.pointer_format = "(4I1)",
                       .index_format = "(4I1)",
                       .value_format = "(1P,2D12.4)",
                       .body = "1345\n1323\n  1.0000D+00 -2.5000D-01\n 3.0000+102  4.0000D+00\n"});
  EXPECT_EQ(a.value, (std::vector<double>{1, 3e102, -0.25, 4}));
}

TEST(HarwellBoeing, SymmetricPatternAndRightHandSides) {
  const Csr a =
      parse({.second = "             5             1             1             0             7",
             .type = "PSA",
             .value_format = "",
             .body = "F                          1             0\n  1  3  4  5\n  1  3\n  2  3\n"});
  EXPECT_EQ(a.column, (std::vector<uint32_t>{0, 2, 1, 0, 2}));
  EXPECT_EQ(a.value, std::vector<double>(5, 1));
}

TEST(HarwellBoeing, Integers) {
  const Csr a = parse(
      {.type = "IUA", .value_format = "(4I3)", .body = "  1  3  4  5\n  1  3\n  2  3\n  1 -2  3  4\n"});
  EXPECT_EQ(a.value, (std::vector<double>{1, 3, -2, 4}));
}

TEST(HarwellBoeing, WhatIsRefused) {
  EXPECT_EQ(refused({.type = "CUA"}), "m.rua:3: the values are complex; only real systems are solved");
  expect_in("elemental", refused({.type = "RUE"}));
  EXPECT_NE(refused({.type = "RXA"}), "");
  expect_in("m.rua:3: the number of rows is 0", refused({.sizes = "  0  3  4  0"}));
  expect_in("at most 2147483647", refused({.sizes = "  3000000000  3  4  0"}));
  EXPECT_EQ(refused({.pointer_format = "(4X3)"}),
            "m.rua:4: the format \"(4X3)           \" is not understood; it must be such as (16I5) or "
            "(1P,5E16.8)");
  expect_in("m.rua:4", refused({.index_format = "(2I0)"}));
  expect_in("m.rua:4", refused({.value_format = "(99999E99999.9)"}));
}

TEST(HarwellBoeing, BodiesThatAreRefused) {
  EXPECT_EQ(refused({.body = "  1  3  2  5\n"}),
            "m.rua:5: the pointer of column 3 is 2; it must be 3 to 5");
  EXPECT_EQ(refused({.body = "  2  3  4  5\n"}),
            "m.rua:5: the pointer of column 1 is 2; it must be 1 to 1");
  EXPECT_EQ(refused({.body = "  1  3  4  4\n"}), "m.rua:5: the last pointer is 4; it must be 5");
  EXPECT_EQ(refused({.body = "  1  3  4  5\n  1  4\n"}), "m.rua:6: the row is 4; it must be 1 to 3");
  EXPECT_EQ(refused({.body = "  1  3  4  5\n  1\n"}),
            "m.rua:6: column 4 is blank where one of the row indices must stand");
  EXPECT_EQ(refused({.body = "  1  3  4  5\n  1  3\n"}),
            "m.rua:6: the file ends in the row indices; is it complete?");
  EXPECT_EQ(refused({.body = "  1  3  4  5\n  1  3\n  2  3\n         NaN -2.5000E-01\n"}),
            "m.rua:8: the value \"NaN\" has no decimal point; is a line shifted?");
  EXPECT_EQ(
      refused(
          {.body =
               "  1  3  4  5\n  1  1\n  2  3\n  1.0000E+00 -2.5000E-01\n  3.0000E+00  4.0000E+00\n"}),
      "m.rua:6: row 1, column 1 stands here a second time; add the two or leave one out");
  Lines lines = Lines::of_text("title\n", "m.rua");
  EXPECT_EQ(refusal([&] { return read_harwell_boeing(lines); }),
            "m.rua:1: the file ends in its head; is it complete?");
}

}  // namespace
