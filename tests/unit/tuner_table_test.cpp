// SPDX-License-Identifier: BSD-3-Clause
// What tuners have found as text and as a file: what is written is read again, and nothing is lost without a word.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "coll/tuner/explanation.hpp"
#include "coll/tuner/table_file.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

namespace fs = std::filesystem;

constexpr CallKind kKind{.collective = OMPL_ALLREDUCE, .members = 4, .size_class = 30};

// Epochs in which a call takes as many seconds as `seconds(candidate)` says.
template <class Seconds>
void pass(Tuning& tuning, int epochs, Seconds seconds) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    while (!tuning.over()) {
      const Ticket ticket = tuning.take();
      tuning.note(ticket, seconds(ticket.candidate));
    }
    tuning.learn(tuning.times());
  }
}

// One that has settled: `first` microseconds for the first candidate, one more for each that follows.
Tuning settled(const CallKind& kind, double first) {
  Tuning tuning(kind, short_list(kind, {}), {});
  pass(tuning, 100, [=](uint32_t candidate) { return (first + candidate) * 1e-6; });
  EXPECT_TRUE(tuning.tuner().settled());
  return tuning;
}

Table table_of(const Tuning& tuning) {
  Table table;
  tuning.tell(&table);
  return table;
}

std::string put(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Of a table into which nobody has written what messages cost; and what then stands there.
constexpr const char* kNoTerms = "\"loggp_ns\": {}";
std::string terms(const std::string& where, double latency) {
  return fmt::format(R"("loggp_ns": {{"{}": {{"L": {}, "o": 0, "g": 0, "G": 0.1}}}})", where, latency);
}

TEST(TunerTable, WhatIsWrittenIsReadAgain) {
  Table table = table_of(settled(kKind, 2));
  CallKind other = kKind;
  other.collective = OMPL_ALLTOALL;
  other.nodes = 2;
  other.clustered = true;
  settled(other, 5).tell(&table);
  ASSERT_EQ(table.entries().size(), 2U);
  Table read;
  EXPECT_EQ(Table::parse(table.text(), &read), "");
  EXPECT_EQ(read.text(), table.text());
  const std::vector<TunerChoice> choices = short_list(kKind, {});
  ASSERT_GE(choices.size(), 2U);
  const std::vector<double> known = read.known(kKind, choices);
  EXPECT_NEAR(known[0], 2e-6, 1e-9);
  EXPECT_NEAR(known[1], 3e-6, 1e-9);
  EXPECT_EQ(read.known({.collective = OMPL_GATHER}, choices), std::vector<double>(choices.size()));
}

// Calls whose mode of progress is open have choices of their own, which are not those of calls that wait.
TEST(TunerTable, ModesAreWrittenAndReadAgain) {
  CallKind kind = kKind;
  kind.modes = true;
  kind.algorithm = OMPL_COLL_RING;
  Table table = table_of(settled(kind, 2));
  settled(kKind, 3).tell(&table);
  EXPECT_NE(table.text().find("\"ring/none\""), std::string::npos) << table.text();
  Table read;
  ASSERT_EQ(Table::parse(table.text(), &read), "");
  EXPECT_EQ(read, table);
  ASSERT_EQ(read.entries().size(), 2U);
  const std::vector<double> known = read.known(kind, short_list(kind, {}));
  EXPECT_NEAR(known[0], 2e-6, 1e-9);
  EXPECT_NEAR(known[1], 3e-6, 1e-9);
}

// What messages cost there decides the order, and whether a ring of eight, which sends more but smaller messages, is hopeless.
TEST(TunerTable, WhatMessagesCostIsReadAndUsed) {
  const std::string good = table_of(settled(kKind, 2)).text();
  Table table;
  ASSERT_EQ(Table::parse(put(good, kNoTerms, terms("network", 1e6)), &table), "");
  Table again;
  EXPECT_EQ(Table::parse(table.text(), &again), "");
  EXPECT_EQ(again, table);
  CallKind kind{.collective = OMPL_ALLREDUCE, .members = 32, .size_class = size_class(1 << 16)};
  EXPECT_FALSE(table.machine().measured(kind)) << "nothing is known of messages in a node";
  EXPECT_EQ(table.machine().of(kind), LogGp{});
  const std::vector<TunerChoice> here = short_list(kind, table.machine().of(kind));
  EXPECT_EQ(std::ranges::count(here, OMPL_COLL_RING, &TunerChoice::algorithm), 1);
  kind.nodes = 32;
  const LogGp far = table.machine().of(kind);
  EXPECT_EQ(far.latency, 1e6);
  const std::vector<TunerChoice> there = short_list(kind, far);
  EXPECT_EQ(std::ranges::count(there, OMPL_COLL_RING, &TunerChoice::algorithm), 0)
      << "62 messages instead of 5";
  const Tuning tuning(kind, there, {});
  const std::string text = explain_beginning(tuning, table.machine());
  EXPECT_NE(text.find("by the machine's LogGP terms"), std::string::npos) << text;
  EXPECT_NE(explain_beginning(tuning, {}).find("by built-in orders"), std::string::npos);
}

TEST(TunerTable, OnlyWhatWasDecidedIsKept) {
  EXPECT_TRUE(table_of(Tuning(kKind, short_list(kKind, {}), {})).empty());
}

TEST(TunerTable, ASingleLookIsNotKept) {
  const std::vector<TunerChoice> choices = short_list(kKind, {});
  Tuning tuning(kKind, choices, {});
  const std::vector<double> here = {1e-6, 80e-6, 2e-6,
                                    3e-6};  // the second one is too slow to be tried again
  pass(tuning, 20, [&](uint32_t candidate) { return here[candidate]; });
  ASSERT_NEAR(tuning.tuner().estimate(1), 80e-6, 1e-9);
  const std::vector<double> known = table_of(tuning).known(kKind, choices);
  EXPECT_GT(known[0], 0);
  EXPECT_EQ(known[1], 0);
  EXPECT_GT(known[2], 0);
  EXPECT_GT(known[3], 0);
}

TEST(TunerTable, WhatIsKnownIsNotTriedAgain) {
  const std::vector<TunerChoice> choices = short_list(kKind, {});
  const std::vector<double> known = {3e-6, 1e-6, 2e-6, 4e-6};
  ASSERT_EQ(choices.size(), known.size());
  Tuning tuning(kKind, choices, known);
  EXPECT_TRUE(tuning.tuner().settled());
  EXPECT_EQ(tuning.take().candidate, 1U);
  const std::string text = explain_beginning(tuning, {});
  EXPECT_NE(text.find("by the table"), std::string::npos) << text;
  // What was never tried is.
  EXPECT_EQ(Tuning(kKind, choices, std::vector{3e-6, 1e-6, 0.0, 4e-6}).take().candidate, 2U);
}

// What the table says is believed until the best one takes another time: then all are compared again.
TEST(TunerTable, AnotherMachinesTableIsFoundOut) {
  Tuning tuning(kKind, short_list(kKind, {}), std::vector{1e-6, 5e-6, 6e-6, 7e-6});
  const std::vector<double> here = {50e-6, 9e-6, 40e-6, 45e-6};
  pass(tuning, 100, [&](uint32_t candidate) { return here[candidate]; });
  EXPECT_EQ(tuning.tuner().best(), 1U);
}

TEST(TunerTable, WhatIsWrongWithATextIsSaid) {
  const Table table = table_of(settled(kKind, 2));
  const std::string good = table.text();
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "parse error"},
      {good.substr(0, good.size() / 2), "parse error"},
      {"[1, 2]", "type_error"},
      {"{}", "format"},
      {put(good, "omnipgas tuner table", "a song"), "another kind"},
      {put(good, "\"version\": 2", "\"version\": 1"), "version 1"},
      {put(good, "\"allreduce\"", "\"alldance\""), "no \"alldance\""},
      {put(good, "\"rabenseifner\"", "\"rabbit\""), "no \"rabbit\""},
      {put(good, "\"rabenseifner\"", "\"rabenseifner/hare\""), "no \"hare\""},
      {put(good, "\"members\": 4", "\"members\": \"four\""), "members cannot be \"four\""},
      {put(good, "\"members\": 4", "\"members\": -4"), "members cannot be -4"},
      {put(good, "\"nodes\": 1", "\"nodes\": 99999999999"), "nodes cannot be"},
      {put(good, "\"rabenseifner\": ", "\"rabenseifner\": -"), "no call takes -"},
      {put(good, kNoTerms, R"("loggp_ns": {"node": {"L": 1, "o": 1, "g": 1}})"), "'G' not found"},
      {put(good, kNoTerms, terms("node", -1)), "L cannot be -1"},
      {put(good, kNoTerms, terms("network", 0)), "no message takes no time"}};
  for (const auto& [text, complaint] : bad) {
    Table read = table;
    const std::string said = Table::parse(text, &read);
    EXPECT_NE(said.find(complaint), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_EQ(read, table) << "it was touched";
  }
}

class TunerTableFile : public testing::Test {
 protected:
  TunerTableFile() {
    std::string name = testing::TempDir() + "/tuner_table_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    settings_.tuner_table = folder_ / "sub" / "table.json";
  }
  ~TunerTableFile() override { fs::remove_all(folder_); }
  TunerTableFile(const TunerTableFile&) = delete;
  TunerTableFile& operator=(const TunerTableFile&) = delete;

  std::string in_file(const std::string& name) const {
    std::ifstream file(folder_ / "sub" / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const {
    fs::create_directories(folder_ / "sub");
    std::ofstream(settings_.tuner_table) << text;
  }
  // What the calls of `what` say on standard error.
  template <class What>
  static std::string said_by(What what) {
    testing::internal::CaptureStderr();
    what();
    return testing::internal::GetCapturedStderr();
  }

  fs::path folder_;
  Settings settings_;
};

TEST_F(TunerTableFile, IsMadeWithItsFolderAndGrows) {
  const TableFile file(settings_);
  EXPECT_EQ(said_by([&] { EXPECT_TRUE(file.read().empty()); }), "") << "there is none yet";
  file.add(table_of(settled(kKind, 2)));
  CallKind other = kKind;
  other.members = 8;
  file.add(table_of(settled(other, 3)));
  file.add(table_of(settled(other, 4)));
  const Table table = file.read();
  EXPECT_EQ(table.entries().size(), 2U);
  EXPECT_NEAR(table.known(other, std::vector{short_list(other, {}).front()})[0], 4e-6, 1e-9);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "sub"), {}), 1) << "nothing is left";
}

TEST_F(TunerTableFile, ADamagedOneIsNamedAndKept) {
  write("{ damaged");
  const TableFile file(settings_);
  const std::string said = said_by([&] { EXPECT_TRUE(file.read().empty()); });
  EXPECT_NE(said.find(settings_.tuner_table + " is not used"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(in_file("table.json"), "{ damaged") << "reading changes nothing";
  EXPECT_NE(said_by([&] { file.add(table_of(settled(kKind, 2))); }).find("is kept as"),
            std::string::npos);
  EXPECT_EQ(in_file("table.json.old"), "{ damaged");
  EXPECT_EQ(file.read().entries().size(), 1U);
}

TEST_F(TunerTableFile, WhatCannotBeWrittenIsAWarning) {
  fs::create_directories(settings_.tuner_table);  // a folder in its place
  const TableFile file(settings_);
  EXPECT_NE(said_by([&] { file.add(table_of(settled(kKind, 2))); }).find("no regular file"),
            std::string::npos);
  EXPECT_TRUE(fs::is_directory(settings_.tuner_table));
  settings_.tuner_table = "/proc/none/table.json";
  const TableFile nowhere(settings_);
  EXPECT_NE(said_by([&] { nowhere.add(table_of(settled(kKind, 2))); }).find("is not written"),
            std::string::npos);
}

TEST_F(TunerTableFile, IsOfTheHostAndTheUserUnlessSaid) {
  EXPECT_EQ(TableFile(settings_).path(), settings_.tuner_table);
  settings_.tuner_table = "none";
  EXPECT_EQ(TableFile(settings_).path(), "");
  settings_.tuner_table = "";
  EXPECT_EQ(TableFile(settings_).path(), "") << "no cache folder";
  settings_.cache_folder = "/cache";
  const std::string path = TableFile(settings_).path();
  EXPECT_TRUE(path.starts_with("/cache/omnipgas/tuner/")) << path;
  EXPECT_TRUE(path.ends_with(".json")) << path;
}

}  // namespace
}  // namespace ompl::coll
