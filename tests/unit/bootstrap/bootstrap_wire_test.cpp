// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "bootstrap/pmi1_wire.hpp"

namespace ompl::bootstrap::pmi1 {
namespace {

using Nodes = std::vector<uint32_t>;

TEST(LineBuffer, CutsLinesWhateverThePieces) {
  const std::string text = "cmd=init\n\ncmd=barrier_in\ncmd=par";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineBuffer buffer;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ASSERT_TRUE(buffer.append(std::string_view(text).substr(at, piece)));
      while (auto line = buffer.next()) lines.push_back(*line);
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"cmd=init", "", "cmd=barrier_in"})) << piece;
  }
}

TEST(LineBuffer, RefusesEndlessLines) {
  LineBuffer buffer;
  EXPECT_TRUE(buffer.append(std::string(kMaxLine, 'x')));
  EXPECT_FALSE(buffer.append("x"));
}

TEST(LineBuffer, ManyShortLinesAreNotOneLongLine) {
  LineBuffer buffer;
  std::string text;
  for (std::size_t i = 0; i < kMaxLine; ++i) text += "ab\n";
  EXPECT_TRUE(buffer.append(text));
}

TEST(Pmi1Message, IsTakenApart) {
  const auto message =
      Pmi1Message::parse("cmd=get_result rc=0 msg=all is well value=a:b size=17 size=18");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->command(), "get_result");
  EXPECT_EQ(message->field("rc"), "0");
  EXPECT_EQ(message->field("msg"), "all");
  EXPECT_EQ(message->field("value"), "a:b");
  EXPECT_EQ(message->number("size"), 17u);
  EXPECT_EQ(message->number("value"), std::nullopt);
  EXPECT_EQ(message->field("key"), std::nullopt);
}

TEST(Pmi1Message, KeepsLaterEqualsSigns) {
  EXPECT_EQ(Pmi1Message::parse("cmd=a b=c=d")->field("b"), "c=d");
}

TEST(Pmi1Message, RefusesWhatIsNoCommand) {
  for (const char* text : {"", " ", "cmd", "cmd=", "rc=0 cmd=init", "mcmd=spawn", "=", "cmd= init"}) {
    EXPECT_FALSE(Pmi1Message::parse(text)) << text;
  }
}

TEST(Pmi1Message, LineIsParsedBack) {
  const std::string text = line("put", {{"key", "k"}, {"value", "v"}});
  EXPECT_EQ(text, "cmd=put key=k value=v\n");
  const auto message = Pmi1Message::parse(std::string_view(text).substr(0, text.size() - 1));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->field("value"), "v");
}

TEST(Words, HaveNoSeparators) {
  EXPECT_TRUE(is_word("ompl-1-address-0"));
  for (const char* text : {"", "a b", "a=b", "a\nb", "\x7f"}) EXPECT_FALSE(is_word(text)) << text;
}

TEST(Numbers, AreWholeAndDecimal) {
  EXPECT_EQ(to_number("4294967295"), 4294967295u);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x1", "4294967296", "1.0"}) {
    EXPECT_EQ(to_number(text), std::nullopt) << text;
  }
}

TEST(Values, OfAnyBytesAndLengthSurvive) {
  std::string all(256, '\0');
  std::iota(all.begin(), all.end(), '\0');
  for (const std::size_t limit : {16u, 17u, 31u, 799u}) {
    for (const std::size_t length : {0u, 1u, 2u, 3u, 7u, 8u, 255u, 256u, 5000u}) {
      std::string value;
      while (value.size() < length) value += all;
      value.resize(length);
      const auto words = split_value(value, limit);
      for (const auto& word : words) {
        EXPECT_LE(word.size(), limit);
        EXPECT_TRUE(is_word(word));
      }
      EXPECT_EQ(word_count(words.front()), words.size());
      EXPECT_EQ(join_value(words), value) << limit << " " << length;
    }
  }
}

TEST(Values, GarbledOnesAreRefused) {
  const std::vector<std::vector<std::string>> garbled{
      {},      {""},     {"00"},        {":00"},  {"0:"},   {"2:00"}, {"1:00", "00"},
      {"1:0"}, {"1:0g"}, {"2:00", "0"}, {"1:AA"}, {"-1:00"}};
  for (const auto& words : garbled) {
    EXPECT_EQ(join_value(words), std::nullopt) << (words.empty() ? "nothing" : words.front());
  }
}

TEST(Mapping, BlocksAreExpanded) {
  EXPECT_EQ(parse_mapping("(vector,(0,1,3))", 3), (Nodes{0, 0, 0}));
  EXPECT_EQ(parse_mapping("(vector,(0,2,2))", 4), (Nodes{0, 0, 1, 1}));
  EXPECT_EQ(parse_mapping("(vector,(0,2,1),(5,1,2))", 4), (Nodes{0, 1, 5, 5}));
  EXPECT_EQ(parse_mapping("(vector,(0,1,1))", 3), (Nodes{0, 0, 0})) << "blocks are repeated";
  EXPECT_EQ(parse_mapping("(vector,(0,2,1))", 5), (Nodes{0, 1, 0, 1, 0}));
  EXPECT_EQ(parse_mapping("(vector,(0,4000000000,4000000000))", 2), (Nodes{0, 0}));
}

TEST(Mapping, OtherTextIsRefused) {
  for (const char* text :
       {"", "(vector)", "(vector,)", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(0,1,0))",
        "(vector,(0,1,1)", "(vector,(0,1,1)) ", "(vector,(-1,1,1))", "(vector,(4294967295,2,1))",
        "(matrix,(0,1,1))", "(vector,(0,1,1),"}) {
    EXPECT_EQ(parse_mapping(text, 2), std::nullopt) << text;
  }
}

TEST(Mapping, IsReadBack) {
  for (const Nodes& nodes : {Nodes{0}, Nodes{0, 0, 1, 1}, Nodes{1, 0, 1}, Nodes{7, 7, 7}}) {
    EXPECT_EQ(parse_mapping(format_mapping(nodes), static_cast<uint32_t>(nodes.size())), nodes)
        << format_mapping(nodes);
  }
}

}  // namespace
}  // namespace ompl::bootstrap::pmi1
