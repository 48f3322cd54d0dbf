// SPDX-License-Identifier: BSD-3-Clause
// Ranks that read a file together have what one has that reads it whole: the same rows to the bit, or the same words of
// refusal. Every rank runs the same tests. rows_job FOLDER: for files of its own, removed at the end.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "same.hpp"
#include "solver/matrix/matrix_file.hpp"
#include "solver/ranks/all_to_all.hpp"
#include "solver/ranks/layer.hpp"
#include "solver/ranks/rows.hpp"
#include "solver/ranks/whole.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

std::filesystem::path folder;

// A file with this text, the same on all ranks, from rank 0.
std::string written(const std::string& text, bool compressed = false) {
  const std::string path = folder / "a.mtx";
  check(ompl_barrier(), "ompl_barrier");  // the last one has been read
  if (my_rank() == 0) {
    gzFile out = gzopen(path.c_str(), compressed ? "wb" : "wbT");  // T: as it is
    EXPECT_TRUE(text.empty() || gzwrite(out, text.data(), static_cast<unsigned>(text.size())) > 0);
    EXPECT_EQ(gzclose(out), Z_OK);
  }
  check(ompl_barrier(), "ompl_barrier");
  return path;
}

std::string head(const char* kind, uint32_t rows, std::size_t entries) {
  return fmt::format("%%MatrixMarket matrix coordinate {}\n{} {} {}\n", kind, rows, rows, entries);
}

// A sparse matrix with something in each row, by entries in any order; `half`: of each two mirror images one.
std::vector<Entry> random_entries(std::mt19937& random, uint32_t rows, bool half, bool diagonal) {
  std::vector<Entry> out;
  std::uniform_real_distribution<double> value(-1, 1);
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t column = 0; column < (half ? row : rows); ++column)
      if (column != row && (column + 1 == row || (row == 0 && column == 1) || random() % 8 == 0))
        out.push_back({row, column, value(random)});
    if (diagonal) out.push_back({row, row, value(random)});
  }
  std::ranges::shuffle(out, random);
  return out;
}

std::string coordinates(std::mt19937& random, const char* kind, uint32_t rows,
                        const std::vector<Entry>& entries) {
  std::string out = head(kind, rows, entries.size());
  const bool pattern = std::string_view(kind).starts_with("pattern");
  for (const Entry& e : entries) {
    if (random() % 10 == 0) out += "% a comment\n\n";
    out += fmt::format("{} {}", e.row + 1, e.column + 1);
    out += pattern ? "\n" : fmt::format(" {}\n", e.value);
  }
  return out;
}

std::string array(uint32_t rows, const std::vector<Entry>& entries) {
  std::vector<double> dense(uint64_t{rows} * rows);
  for (const Entry& e : entries) dense[uint64_t{e.column} * rows + e.row] = e.value;
  std::string out = fmt::format("%%MatrixMarket matrix array real general\n{} {}\n", rows, rows);
  for (const double value : dense) out += fmt::format("{}\n", value);
  return out;
}

// Rows and values of each column, a number of 10 or 24 places each.
std::string harwell_boeing(const char* type, uint32_t rows, std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.column, e.row); });
  std::vector<std::size_t> start(rows + 1);
  std::string pointers, indices, values;
  for (const Entry& e : entries) {
    ++start[e.column + 1];
    indices += fmt::format("{:10}\n", e.row + 1);
    values += fmt::format("{:24.16e}\n", e.value);
  }
  std::size_t at = 1;
  for (const std::size_t count : start) pointers += fmt::format("{:10}\n", at += count);
  return fmt::format("A matrix\n0 0 0 0\n{} {} {} {}\n{:16}{:16}{:20}\n", type, rows, rows,
                     entries.size(), "(1I10)", "(1I10)", "(1E24.16)") +
         pointers + indices + values;
}

void expect_as_whole(const std::string& path, std::mt19937& random, uint32_t threads = 1) {
  const Csr whole = read_matrix(path);
  const FileRows file = read_rows(path, threads);
  EXPECT_EQ(file.rows, whole.rows);
  EXPECT_EQ(is_symmetric(file.mine), is_its_transpose(whole));
  EXPECT_TRUE(!file.mirrored || is_its_transpose(whole));
  EXPECT_EQ(all_row_lengths(file.mine), whole.row_lengths());
  const Csr pattern = whole_pattern(file.mine);
  EXPECT_EQ(pattern.rows, my_rank() == 0 ? whole.rows : 0);
  if (my_rank() == 0) {
    EXPECT_EQ(pattern.start, whole.start);
    EXPECT_EQ(pattern.column, whole.column);
  }
  Partition scattered{all_ranks(), std::vector<uint32_t>(whole.rows)};
  for (uint32_t& part : scattered.part_of) part = static_cast<uint32_t>(random() % scattered.parts);
  for (const Partition& partition : {partition_rows(whole.rows, all_ranks()),
                                     partition_entries(whole.row_lengths(), all_ranks()), scattered})
    expect_same(localize(move_to_owners(file.mine, partition), partition),
                localize(whole, partition, my_rank()));
}

TEST(Rows, OfEveryKindOfFile) {
  std::mt19937 random(20190308);  // the same everywhere
  for (const uint32_t rows : {7U, 40U}) {
    const auto general = random_entries(random, rows, false, true);
    const auto half = random_entries(random, rows, true, true);
    const auto skew = random_entries(random, rows, true, false);
    const std::string text = coordinates(random, "real general", rows, general);
    expect_as_whole(written(text), random);
    expect_as_whole(written(text.substr(0, text.size() - 1)), random);
    expect_as_whole(written(text, true), random);
    expect_as_whole(written(coordinates(random, "pattern general", rows, general)), random);
    expect_as_whole(written(coordinates(random, "real symmetric", rows, half)), random);
    expect_as_whole(written(coordinates(random, "pattern symmetric", rows, half), true), random);
    expect_as_whole(written(coordinates(random, "real skew-symmetric", rows, skew)), random);
    expect_as_whole(written(array(rows, general)), random);
    expect_as_whole(written(array(rows, general), true), random);
    expect_as_whole(written(harwell_boeing("RUA", rows, general)), random);
    expect_as_whole(written(harwell_boeing("RSA", rows, half)), random);
    expect_as_whole(written(harwell_boeing("RZA", rows, skew), true), random);
  }
}

TEST(Rows, SymmetricButNotByTheHead) {
  std::mt19937 random(7);
  std::vector<Entry> entries = random_entries(random, 40, true, true);
  for (std::size_t i = 0, half = entries.size(); i < half; ++i)
    if (entries[i].row != entries[i].column)
      entries.push_back({entries[i].column, entries[i].row, entries[i].value});
  expect_as_whole(written(coordinates(random, "real general", 40, entries)), random);
  EXPECT_TRUE(is_symmetric(read_rows(folder / "a.mtx", 1).mine));
  const auto one = std::ranges::find_if(entries, [](const Entry& e) { return e.row != e.column; });
  one->value += 1;
  expect_as_whole(written(coordinates(random, "real general", 40, entries)), random);
  EXPECT_FALSE(is_symmetric(read_rows(folder / "a.mtx", 1).mine));
}

TEST(Rows, SeveralThreads) {
  std::mt19937 random(11);
  std::vector<Entry> entries;
  for (uint32_t row = 0; row < 20000; ++row)
    for (const uint32_t away : {0U, 1U, 77U})
      if (away <= row) entries.push_back({row, row - away, 1.0 / (row + away + 1)});
  std::ranges::shuffle(entries, random);
  std::string text = coordinates(random, "real symmetric", 20000, entries);
  expect_as_whole(written(text), random, 3);
  text += "1 1 one\n";
  const std::string path = written(text);
  EXPECT_EQ(refusal([&] { return read_rows(path, 3).rows; }),
            refusal([&] { return read_matrix(path); }));
}

std::string refusal_of_one(const std::string& path) {
  return refusal([&] {
    const Csr whole = read_matrix(path);
    check_square(whole.rows, whole.columns);
    check_finite(whole, 0);
    return whole.rows;
  });
}

TEST(Rows, WhatIsRefusedIsRefusedInTheSameWords) {
  std::mt19937 random(13);
  const auto entries = random_entries(random, 30, false, true);
  const std::string good = coordinates(random, "real general", 30, entries);
  std::vector<std::string> texts;
  for (const char* const wrong : {"31 1 1\n", "1 1\n", "1 1 nan\n", "x\n", "1 1 1 1\n"}) {
    for (const int times : {1, 2}) {  // after any line
      std::string text = good;
      for (int k = 0; k < times; ++k)
        text.insert(text.find('\n', 60 + random() % (text.size() - 61)) + 1, wrong);
      texts.push_back(text);
    }
  }
  for (int i = 0; i < 4; ++i) texts.push_back(good.substr(0, good.size() * (i + 1) / 5));
  texts.push_back(good + "1 1 1\n");
  std::vector<Entry> twice = entries;
  twice.insert(twice.begin() + 5, entries.back());
  twice.push_back(entries.front());
  twice.push_back(entries.front());
  texts.push_back(coordinates(random, "real general", 30, twice));
  texts.push_back(head("real symmetric", 2, 3) + "1 2 1\n1 1 1\n2 1 1\n");
  texts.push_back(head("real general", 2000000000, 2) + "1 1 1\n2 2 2\n");
  texts.push_back("%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 2 2\n");
  texts.push_back("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n");
  texts.push_back("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n");
  texts.push_back(harwell_boeing("RUA", 30, twice));
  texts.push_back("");
  for (const std::string& text : texts) {
    for (const bool compressed : {false, true}) {
      const std::string path = written(text, compressed);
      const std::string why = refusal([&] { return read_rows(path, 2).rows; });
      EXPECT_EQ(why, refusal_of_one(path)) << text;
      EXPECT_NE(why, "") << text;
    }
  }
  EXPECT_EQ(refusal([] { return read_rows("/nowhere/a.mtx", 1).rows; }),
            "/nowhere/a.mtx: No such file or directory");
}

TEST(Rows, OneWithoutEntriesIsARow) {
  const std::string path = written(
      head("real general", 9, 9) + "1 1 1\n2 2 2\n3 3 3\n4 4 4\n5 5 5\n6 6 6\n8 8 8\n9 9 9\n9 1 1\n",
      false);
  EXPECT_EQ(read_rows(path, 2).rows, 9U);
}

TEST(Rows, RanksThatFindDifferentFiles) {
  const std::string path = folder / fmt::format("rank{}.mtx", std::min(my_rank(), 1U));
  std::ofstream(path) << head("real general", 8, my_rank() == 0 ? 8 : 80);
  check(ompl_barrier(), "ompl_barrier");
  const std::string why = refusal([&] { return read_rows(path, 1).rows; });
  EXPECT_EQ(why.find("rank 1 finds another file") != std::string::npos, all_ranks() > 1) << why;
  EXPECT_NE(why, "");
}

TEST(AllToAll, UnequalPartsInPieces) {
  const uint32_t ranks = all_ranks(), rank = my_rank();
  const auto size = [&](uint32_t from, uint32_t to) -> std::size_t {
    if (from == 0 && to == ranks - 1) return 700001;  // more than the segment may hold of it at once
    return (from * 7 + to * 13) % 3 == 0 ? 0 : (from + 1) * (to + 2) * 1000;
  };
  const auto value = [](uint32_t from, uint32_t to, std::size_t i) {
    return (uint64_t{from} << 48) + (uint64_t{to} << 32) + i;
  };
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<std::vector<uint64_t>> out(ranks);
    for (uint32_t to = 0; to < ranks; ++to)
      for (std::size_t i = 0; i < size(rank, to); ++i) out[to].push_back(value(rank, to, i));
    const Received<uint64_t> in = exchange(std::move(out));
    ASSERT_EQ(in.start.size(), ranks + 1);
    for (uint32_t from = 0; from < ranks; ++from) {
      EXPECT_EQ(in.from(from).size(), size(from, rank));
      for (std::size_t i = 0; i < in.from(from).size(); ++i)
        if (in.from(from)[i] != value(from, rank, i)) {
          ADD_FAILURE() << "from rank " << from << ", number " << i;
          break;
        }
    }
  }
}

TEST(Alike, TheLowestRankSpeaks) {
  const auto why = [](uint32_t first) {
    return refusal([&] {
      alike([&] {
        if (my_rank() >= first) ompl::refuse("rank {} cannot", my_rank());
      });
      return 0;
    });
  };
  EXPECT_EQ(why(0), "rank 0 cannot");
  EXPECT_EQ(why(all_ranks() - 1), fmt::format("rank {} cannot", all_ranks() - 1));
  EXPECT_EQ(why(all_ranks()), "");
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  folder = argv[1];
  try {
    check(ompl_init(), "ompl_init");
    std::filesystem::create_directories(folder);
    const int code = RUN_ALL_TESTS();
    check(ompl_barrier(), "ompl_barrier");
    if (my_rank() == 0) std::filesystem::remove_all(folder);
    check(ompl_finalize(), "ompl_finalize");
    return code;
  } catch (const LayerError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
