// SPDX-License-Identifier: BSD-3-Clause
// Whether the check of products (instruments/bench/product) would see one that is wrong.
#include <gtest/gtest.h>

#include "product/slab.hpp"

namespace bench::product {
namespace {

class Product : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(ompl_init(), OMPL_OK); }
  static void TearDownTestSuite() { EXPECT_EQ(ompl_finalize(), OMPL_OK); }

  Slab slab_{{7, 5, 3}};
  solver::NoExchange nothing_;
  Operator whole_ = slab_.whole(nothing_);
};

TEST_F(Product, IsRightAsTheStencilIsDefined) {
  for (const uint64_t number : {0, 1, 258}) {
    slab_.fill(number);
    slab_.apply(whole_);
    EXPECT_EQ(slab_.wrong(number), std::nullopt);
  }
}

TEST_F(Product, OfAnotherVectorIsSeen) {
  slab_.fill(258);
  slab_.apply(whole_);
  for (const uint64_t other : {256, 257, 259, 260}) EXPECT_TRUE(slab_.wrong(other)) << other;
}

TEST_F(Product, ThatWasNeverMadeIsSeen) {
  slab_.fill(1);
  const auto wrong = slab_.wrong(1);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->find("row 0 is 0"), 0U) << *wrong;
}

}  // namespace
}  // namespace bench::product
