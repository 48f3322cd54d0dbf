// SPDX-License-Identifier: BSD-3-Clause
// The verbs conduit's endpoints over the stand-in: ranks in one process, each step made by the test.
#include <algorithm>
#include <vector>

#include "conduit/registry.hpp"
#include "conduit/verbs/tests/stub/stub_call.hpp"
#include "conformance/network_node.hpp"

namespace ompl::conduit::verbs::test {
namespace {

using namespace conduit::test;

constexpr uint64_t kFlag = 4096;
constexpr uint64_t kData = 1 << 20;
constexpr std::size_t kLong = 1 << 18;  // from where it is
constexpr std::byte kMine{0xEE};

// Rank 0 of three, whose segment is one allocation each. The others have a connection and have told their keys.
class VerbsEndpointTest : public testing::Test {
 protected:
  void SetUp() override {
    for (uint32_t rank = 0; rank < nodes_.size(); ++rank) {
      Settings settings;
      settings.verbs_transport = "rc";
      nodes_[rank] = std::make_unique<Node>(make(), rank, 3, 1, settings);
      ASSERT_EQ(nodes_[rank]->opened, OMPL_OK) << error_detail();
      ASSERT_EQ(nodes_[rank]->conduit->commit(0, kSegment), OMPL_OK) << error_detail();
    }
    introduce({nodes_[0].get(), nodes_[1].get(), nodes_[2].get()});
    for (const uint32_t rank : {1U, 2U}) {
      put_word(rank);
      ASSERT_EQ(insist([&] { return from().signal(rank, {.offset = kFlag}); }, [&] { step(); }).state,
                Post::State::done);
      ASSERT_TRUE(until([&] { return nodes_[rank]->flag(kFlag) == 1; }, [&] { step(); }));
    }
  }
  void TearDown() override { STUB(verbs_stub_hold_reads)(0); }

  void step() {
    for (const auto& node : nodes_) {
      if (node != nullptr) node->progress();
    }
  }
  Endpoint& from() { return *nodes_[0]->endpoints[0]; }
  // Arrives.
  void put_word(uint32_t rank) {
    const uint64_t word = ++word_;
    ASSERT_EQ(
        insist([&] { return from().put(rank, &word, kData, sizeof word); }, [&] { step(); }).state,
        Post::State::done);
    ASSERT_TRUE(until([&] { return *nodes_[rank]->at<uint64_t>(kData) == word; }, [&] { step(); }));
  }

  std::array<std::unique_ptr<Node>, 3> nodes_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kLong, kMine);

 private:
  uint64_t word_ = 0;
};

// A get that counts as completed since its rank has left writes no memory of the caller any more [24].
TEST_F(VerbsEndpointTest, AGoodbyeIsNoFailureWhileAGetIsUnderWay) {
  STUB(verbs_stub_hold_reads)(1);
  const Post post = from().get(1, memory_.data(), kData, kLong);
  ASSERT_EQ(post.state, Post::State::pending);
  ASSERT_EQ(STUB(verbs_stub_held_reads)(), 1U);
  nodes_[1]->endpoints.clear();  // says goodbye
  ASSERT_TRUE(until([&] { return from().departed(1); }, [&] { nodes_[0]->progress(); }));
  for (int i = 0; i < 100; ++i) {
    nodes_[0]->progress();
    const bool over = from().failure(1) != OMPL_OK || from().completed(1) >= post.ticket;
    ASSERT_TRUE(!over || STUB(verbs_stub_held_reads)() == 0) << "the device may still write";
  }
  EXPECT_NE(from().put(1, memory_.data(), kData, 8).state, Post::State::done) << "it takes nothing in";
  STUB(verbs_stub_hold_reads)(0);
  ASSERT_TRUE(until([&] { return from().failure(1) != OMPL_OK; }, [&] { nodes_[0]->progress(); }));
  EXPECT_EQ(from().failure(1), OMPL_ERR_LINK);
  EXPECT_TRUE(from().departed(1));
  EXPECT_GE(from().completed(1), post.ticket);
}

// The device reads the memory of the first until its queue pair has ended.
TEST_F(VerbsEndpointTest, OfTwoRequestsThePostedOneIsOutstandingIfTheOtherIsRefused) {
  for (int i = 0; i < 20; ++i) step();
  STUB(verbs_stub_refuse_request)(2);
  bool signalled = true;
  const Signal record{.offset = kFlag, .value = 1, .op = SignalOp::update64};
  const Post post = from().put_signal(1, memory_.data(), kData, kLong, record, &signalled);
  EXPECT_EQ(post.state, Post::State::pending);
  EXPECT_FALSE(signalled);
  ASSERT_TRUE(until([&] { return from().failure(1) != OMPL_OK; }, [&] { step(); }));
  EXPECT_EQ(from().failure(1), OMPL_ERR_LINK);
  EXPECT_GE(from().completed(1), post.ticket);
  EXPECT_EQ(nodes_[1]->flag(kFlag), 1U);
  for (int i = 0; i < 1000; ++i) put_word(2);  // what it counts and holds is right
}

TEST_F(VerbsEndpointTest, OfTwoRequestsNoneIsOutstandingIfTheFirstIsRefused) {
  STUB(verbs_stub_refuse_request)(1);
  bool signalled = true;
  const Signal record{.offset = kFlag, .value = 1, .op = SignalOp::update64};
  const Post post = from().put_signal(1, memory_.data(), kData, kLong, record, &signalled);
  EXPECT_NE(post.state, Post::State::pending);
  EXPECT_FALSE(signalled);
  ASSERT_TRUE(until([&] { return from().failure(1) != OMPL_OK; }, [&] { step(); }));
  for (int i = 0; i < 1000; ++i) put_word(2);
}

}  // namespace
}  // namespace ompl::conduit::verbs::test
