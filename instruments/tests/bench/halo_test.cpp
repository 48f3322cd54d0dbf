// SPDX-License-Identifier: BSD-3-Clause
// Whether the check of messages (of instruments/bench/halo and instruments/bench/overlap) would see a message that is wrong.
#include <gtest/gtest.h>

#include "harness/message.hpp"

namespace bench::payload {
namespace {

class Message : public testing::TestWithParam<std::size_t> {
 protected:
  std::vector<std::byte> written(uint32_t from, uint32_t to, uint64_t exchange) const {
    std::vector<std::byte> message(GetParam());
    write_message(message.data(), message.size(), from, to, exchange);
    return message;
  }
};

TEST_P(Message, IsRightAsItWasWritten) {
  const auto message = written(3, 5, 258);
  EXPECT_EQ(wrong_message(message.data(), message.size(), 3, 5, 258), std::nullopt);
}

TEST_P(Message, EveryWrongBitIsSeen) {
  auto message = written(3, 5, 258);
  for (std::size_t i = 0; i < message.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      message[i] ^= std::byte{1} << bit;
      const auto wrong = wrong_message(message.data(), message.size(), 3, 5, 258);
      message[i] ^= std::byte{1} << bit;
      ASSERT_TRUE(wrong) << "byte " << i << " bit " << bit;
      EXPECT_EQ(wrong->find("byte " + std::to_string(i) + " of "), 0U) << *wrong;
    }
  }
}

TEST_P(Message, OfAnotherExchangeSenderOrReceiverIsSeen) {
  const auto message = written(3, 5, 258);
  EXPECT_TRUE(wrong_message(message.data(), message.size(), 3, 5, 256));  // the same slot, before
  EXPECT_TRUE(wrong_message(message.data(), message.size(), 3, 5, 257));
  EXPECT_TRUE(wrong_message(message.data(), message.size(), 3, 5, 2));
  EXPECT_TRUE(wrong_message(message.data(), message.size(), 5, 3, 258));
  EXPECT_TRUE(wrong_message(message.data(), message.size(), 4, 5, 258));
  EXPECT_TRUE(wrong_message(message.data(), message.size(), 3, 4, 258));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Message, testing::Values(1, 4, 7, 8, 64, 1001));

}  // namespace
}  // namespace bench::payload
