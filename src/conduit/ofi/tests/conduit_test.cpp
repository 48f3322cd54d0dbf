// SPDX-License-Identifier: BSD-3-Clause
// Which provider the ofi conduit takes, what it says of it, and what it tells the core.
#include "node.hpp"

namespace ompl::conduit::ofi::test {
namespace {

TEST(OfiConduitTest, NamesWhatItTriedWhenNoProviderSuits) {
  const auto reason = [](const std::string& provider, const std::string& interface) {
    const auto node = make_node(0, 1, 1, provider, interface);
    EXPECT_EQ(node->opened, OMPL_ERR_UNSUPPORTED);
    return std::string(error_detail());
  };
  EXPECT_NE(reason("nonesuch", "").find("not in this libfabric, or without a device: nonesuch"),
            std::string::npos)
      << error_detail();
  EXPECT_NE(reason("", "eth77").find("has no interface or address \"eth77\""), std::string::npos)
      << error_detail();
  EXPECT_NE(reason("udp", "").find("not in this libfabric"), std::string::npos)
      << "it has neither kind of endpoint: " << error_detail();
}

TEST(OfiConduitTest, ChoosesAProviderByItself) {
  const auto node = make_node(0, 1, 2, "", "127.0.0.1");
  ASSERT_EQ(node->opened, OMPL_OK) << error_detail();
  const Capabilities capabilities = node->conduit->capabilities();
  EXPECT_FALSE(capabilities.direct);
  EXPECT_FALSE(capabilities.passive_target);
  EXPECT_TRUE(capabilities.ordered_signals);
  EXPECT_FALSE(capabilities.remote_completion);
  EXPECT_LE(node->conduit->address().size(), 64U) << "kept short";
}

TEST(OfiConduitTest, SaysWhichProviderItTookAndWhyNotTheOthers) {
  const auto here = make_node(0, 2, 1, "", "lo");
  const auto there = make_node(1, 2, 1, "", "lo");
  ASSERT_EQ(here->opened, OMPL_OK) << error_detail();
  const std::string why = here->conduit->connect(1, there->conduit->address()).why;
  for (const char* part : {"provider ", " of libfabric ", "(TCP by connections of our own",
                           "not here: ", "verbs;ofi_rxm", "127.0.0.1 by "}) {
    EXPECT_NE(why.find(part), std::string::npos) << part << " is not in: " << why;
  }
}

TEST(OfiConduitTest, LeavesTcpToTheConduitOfThatNameUnlessAsked) {
  Settings settings;  // which name both
  settings.net_interface = "lo";
  const Node unasked(make_demanding({}), 0, 1, 1, settings);
  if (unasked.opened == OMPL_OK) GTEST_SKIP() << "a fabric is here: " << unasked.conduit->address();
  EXPECT_EQ(unasked.opened, OMPL_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error_detail()).find("tcp is left to the conduit tcp"), std::string::npos)
      << error_detail();
  settings.ofi_provider = "tcp";
  const Node asked(make_demanding({}), 0, 1, 1, settings);
  EXPECT_EQ(asked.opened, OMPL_OK) << error_detail();
}

TEST(OfiConduitTest, WhatAProviderCannotDoTheCoreIsTold) {
  const auto ordered = make_node(0, 1, 1, "shm", "");
  const auto unordered = make_node(0, 1, 1, "shm", "", "a secret of the job", {.unordered = true});
  if (ordered->opened == OMPL_ERR_UNSUPPORTED) GTEST_SKIP() << error_detail();
  EXPECT_TRUE(ordered->conduit->capabilities().ordered_signals);
  EXPECT_FALSE(ordered->conduit->capabilities().remote_completion);
  EXPECT_FALSE(unordered->conduit->capabilities().ordered_signals);
  EXPECT_TRUE(unordered->conduit->capabilities().remote_completion);
}

}  // namespace
}  // namespace ompl::conduit::ofi::test
