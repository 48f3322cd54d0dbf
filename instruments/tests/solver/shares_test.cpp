// SPDX-License-Identifier: BSD-3-Clause
// A coordinate file read in shares is what it is read at once: its entries and their lines, or what is wrong with it.
#include <gtest/gtest.h>

#include "solver/partition/shares.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

Lines lines_of(const std::string& text) { return Lines::of_text(text, "m.mtx"); }

// As several readers do it, one after the other.
std::vector<Entry> read_in_shares(const std::string& text, uint32_t shares) {
  Lines file = lines_of(text);
  const MatrixMarketHead head = read_matrix_market_head(file);
  std::vector<Entry> out;
  std::vector<Tally> tallies;
  uint64_t before = head.line;
  for (uint32_t i = 0; i < shares; ++i) {
    tallies.push_back(
        read_share(lines_of(text), head, share_of(head, text.size(), i, shares), [&](Entry e) {
          e.line += before;
          out.push_back(e);
        }));
    before += tallies.back().lines;
  }
  if (const auto fault = first_fault(file, head, tallies))
    refuse_share(lines_of(text), head,
                 share_of(head, text.size(), static_cast<uint32_t>(fault->share), shares), *fault);
  return out;
}

std::vector<Entry> read_at_once(const std::string& text) {
  Lines lines = lines_of(text);
  return list_matrix_market(lines, all_rows).entries;
}

// Every number of shares up to one for each byte, so that cuts fall everywhere.
void expect_same(const std::string& text) {
  const std::string why = refusal([&] { return read_at_once(text); });
  for (uint32_t shares = 1; shares <= text.size() + 1; ++shares) {
    ASSERT_EQ(refusal([&] { return read_in_shares(text, shares); }), why) << shares << " shares of\n"
                                                                          << text;
    if (!why.empty()) continue;
    const std::vector<Entry> found = read_in_shares(text, shares), expected = read_at_once(text);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].row, expected[i].row);
      ASSERT_EQ(found[i].column, expected[i].column);
      ASSERT_EQ(found[i].value, expected[i].value);
      ASSERT_EQ(found[i].line, expected[i].line);
    }
  }
}

std::string file(const std::string& entries, int count) {
  return "%%MatrixMarket matrix coordinate real general\n% a comment\n4 4 " + std::to_string(count) +
         "\n" + entries;
}

constexpr const char* kFour = "1 1 1.5\n\n 2 2\t-2e3 \r\n% more\n%\n4 4 4\n3 3 3\n";

TEST(Shares, TheSameEntries) {
  expect_same(file(kFour, 4));
  expect_same(file("1 1 1\n2 2 2", 2));  // the last line without its end
  expect_same(file("", 0));
  expect_same("%%MatrixMarket matrix coordinate real general\n1 1 0");
}

TEST(Shares, TheSameRefusals) {
  EXPECT_EQ(refusal([] { return read_in_shares(file(kFour, 5), 3); }),
            "m.mtx:10: the file ends after 4 of 5 entries; is it complete?");
  for (const int count : {0, 1, 2, 3, 5, 1000000000}) expect_same(file(kFour, count));
  for (const char* const wrong : {"5 1 1\n", "1 1\n", "1 1 nan\n", "x\n", "1 1 1 1\n"}) {
    const std::string text = std::string(kFour) + wrong + "2 1 1\n" + wrong + "1 2 1\n";
    for (const int count : {3, 4, 5, 6, 8, 9}) expect_same(file(text, count));
  }
}

// The long line counts for the share in which it begins.
TEST(Shares, ALineThatIsTooLong) {
  const std::string text = file("1 1 1\n% " + std::string(70000, 'x') + "\n2 2 2\n", 2);
  const std::string why = refusal([&] { return read_at_once(text); });
  EXPECT_TRUE(why.starts_with("m.mtx:5: the line is longer than")) << why;
  for (const uint32_t shares : {1U, 2U, 7U, 100U, 5000U})
    EXPECT_EQ(refusal([&] { return read_in_shares(text, shares); }), why);
}

TEST(Shares, CoverTheFileOnce) {
  MatrixMarketHead head;
  head.bytes = 50;
  for (const uint64_t size : {uint64_t{50}, uint64_t{57}, uint64_t{1000003}, ~uint64_t{0}}) {
    for (const uint32_t shares : {1U, 3U, 7U, 1000U}) {
      uint64_t next = 50;
      for (uint32_t i = 0; i < shares; ++i) {
        const Share share = share_of(head, size, i, shares);
        EXPECT_EQ(share.first, next);
        EXPECT_LE(share.first, share.last);
        next = share.last;
      }
      EXPECT_EQ(next, size);
    }
  }
}

}  // namespace
