// SPDX-License-Identifier: BSD-3-Clause
// The utofu conduit's endpoints: two ranks in one process, each step made by the test.
#include "conduit/registry.hpp"
#include "conformance/rules/endpoint_rules.hpp"
#include "pair.hpp"

namespace ompl::conduit::utofu::test {
namespace {

using namespace conduit::test;

// All of whose segment is one allocation.
std::unique_ptr<Node> allocated(uint32_t rank, uint32_t slots) {
  auto node = std::make_unique<Node>(make(), rank, 2, slots);
  EXPECT_EQ(node->conduit->commit(0, kSegment), OMPL_OK) << error_detail();
  return node;
}
EndpointCase plain() { return {"plain", allocated}; }
std::string name_of(const testing::TestParamInfo<EndpointCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Utofu, EndpointRules, testing::Values(plain()), name_of);

// Over an interconnect that does all at once.
class UtofuEndpointTest : public EndpointRules {
 protected:
  void SetUp() override {
    settings_.change([](utofu_emulator_settings& calm) {
      calm.delay = calm.spurious_busy = 0;
      calm.toq_depth = 4;
    });
    EndpointRules::SetUp();
    signal(from_a(), 1, {.offset = kFlag});
    const uint64_t word = 0;
    put(from_a(), 1, &word, kData, sizeof word);
    ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1; }, [&] { step(); }));
  }
  void TearDown() override {
    a.reset();
    b.reset();
  }

 private:
  const emulator::test::Settings settings_;
};
INSTANTIATE_TEST_SUITE_P(Utofu, UtofuEndpointTest, testing::Values(plain()), name_of);

// All that it sends is how many records it has taken, of which it hears nothing more.
TEST_P(UtofuEndpointTest, ASideThatOnlyReceivesGivesRoomBackForEver) {
  constexpr uint32_t kSignals = 4096;
  for (uint32_t i = 0; i < kSignals; ++i) signal(from_a(), 1, {.offset = kFlag});
  ASSERT_TRUE(until([&] { return b->flag(kFlag) == 1 + kSignals; }, [&] { step(); }));
}

// A sender that goes elsewhere with both would leave the data to be written at any time later.
TEST_P(UtofuEndpointTest, DataWhoseSignalFoundNoRoomAreOutstanding) {
  for (uint64_t word = 1; word <= 40; ++word) {  // also where a notice is due
    utofu_emulator_inject(2, UTOFU_ERR_BUSY);
    const Post post = from_a().put_with_immediate(1, &word, kData, sizeof word, kFlag);
    ASSERT_EQ(post.state, Post::State::pending);
    finish(from_a(), 1, post);
    EXPECT_EQ(*b->at<uint64_t>(kData), word);
    EXPECT_EQ(b->flag(kFlag), word) << "of the signals before";
    signal(from_a(), 1, {.offset = kFlag});
    ASSERT_TRUE(until([&] { return b->flag(kFlag) == word + 1; }, [&] { step(); }));
  }
}

}  // namespace
}  // namespace ompl::conduit::utofu::test
