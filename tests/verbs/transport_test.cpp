// SPDX-License-Identifier: BSD-3-Clause
// Which transport the verbs conduit takes, that ranks agree on it, and who may use a DC target. Over the stand-in.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "conduit/verbs/conduit.hpp"
#include "conduit/verbs/transport.hpp"
#include "stub_call.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conformance {
namespace {

using conduit::Conduit;
using conduit::Post;
using conduit::verbs::Transport;
using conduit::verbs::wanted_transports;

// One rank's conduit, with what it needs of the layer.
class Node {
 public:
  Node(uint32_t rank, const std::string& transport, std::size_t budget = 0,
       std::string secret = "the secret") {
    settings_.verbs_transport = transport;
    settings_.endpoint_memory = budget;
    job_.rank = rank;
    job_.size = 2;
    job_.secret = std::move(secret);
    job_.settings = &settings_;
    job_.segment = segment_.data();
    job_.capacity = segment_.size();
    code = conduit_->open(job_);
  }
  Conduit& conduit() { return *conduit_; }
  // What the other rank says of it.
  conduit::Reach reach(Node& other) {
    return conduit_->connect(other.job_.rank, other.conduit().address());
  }

  int code = OMPL_OK;

 private:
  Settings settings_;
  conduit::Job job_;
  std::vector<std::byte> segment_ = std::vector<std::byte>(4096);
  std::unique_ptr<Conduit> conduit_ = conduit::verbs::make();
};

class VerbsTransport : public ::testing::Test {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  void TearDown() override {
    if (auto* const have = STUB(verbs_stub_have_all); have != nullptr) have(1);
  }
};

TEST_F(VerbsTransport, TheMemoryOfAConnectionIsThatOfTheTransport) {
  Settings settings;
  conduit::Job job;
  job.settings = &settings;
  job.size = 1000;
  const auto conduit = conduit::verbs::make();
  const std::size_t rc = conduit->connection_bytes(job);
  settings.verbs_transport = "dc";
  EXPECT_LT(20 * conduit->connection_bytes(job), rc);
}

using Transports = std::vector<Transport>;

TEST_F(VerbsTransport, AutoIsRcUntilOneEndpointsConnectionsTakeTooMuch) {
  Settings settings;
  EXPECT_EQ(wanted_transports(settings, 1), Transports{Transport::rc});
  EXPECT_EQ(wanted_transports(settings, 5000), Transports{Transport::rc});
  const Transports large{Transport::dc, Transport::xrc, Transport::rc};
  EXPECT_EQ(wanted_transports(settings, 20'000), large);
  settings.endpoint_memory = std::size_t{1} << 30;
  EXPECT_EQ(wanted_transports(settings, 20'000), Transports{Transport::rc});
  settings.endpoint_memory = std::size_t{1} << 20;
  EXPECT_EQ(wanted_transports(settings, 100), large);
  settings.verbs_transport = "rc";
  EXPECT_EQ(wanted_transports(settings, 100), Transports{Transport::rc});
  settings.verbs_transport = "dc";
  EXPECT_EQ(wanted_transports(settings, 2), Transports{Transport::dc});
}

TEST_F(VerbsTransport, TheReasonSaysWhichAndThatItNeverRanOnHardware) {
  const std::pair<const char*, const char*> wishes[] = {{"dc", ", DC (never run on hardware)"},
                                                        {"auto", ", DC (n"},
                                                        {"xrc", ", XRC (never run on hardware)"}};
  for (const auto& [wish, says] : wishes) {
    Node a(0, wish, 1);
    Node b(1, wish, 1);
    ASSERT_EQ(a.code, OMPL_OK) << ompl_error_detail();
    ASSERT_EQ(b.code, OMPL_OK) << ompl_error_detail();
    const conduit::Reach reach = a.reach(b);
    EXPECT_TRUE(reach.usable) << reach.why;
    EXPECT_NE(reach.why.find(says), std::string::npos) << reach.why;
    EXPECT_TRUE(b.reach(a).usable);
  }
}

TEST_F(VerbsTransport, RanksThatDifferAreToldWithBothNames) {
  Node a(0, "rc");
  Node b(1, "dc");
  const conduit::Reach reach = a.reach(b);
  EXPECT_FALSE(reach.usable);
  EXPECT_EQ(reach.why, "this rank uses RC, that one DC: set OMPL_VERBS_TRANSPORT alike for all");
  EXPECT_FALSE(b.reach(a).usable);
}

TEST_F(VerbsTransport, ADeviceWithoutThemIsAnErrorOrAutoFallsBackWithTheReasons) {
  Node first(0, "rc");  // loads the library
  STUB(verbs_stub_have_all)(0);
  Node wish(0, "dc");
  EXPECT_EQ(wish.code, OMPL_ERR_UNSUPPORTED);
  EXPECT_STREQ(ompl_error_detail(),
               "stub0 has no DC, only mlx5 devices have it; OMPL_VERBS_TRANSPORT=rc does without");
  Node other_wish(0, "xrc");
  EXPECT_EQ(other_wish.code, OMPL_ERR_UNSUPPORTED);
  EXPECT_STREQ(ompl_error_detail(),
               "stub0 has no XRC: ibv_open_xrcd failed: Operation not supported; "
               "OMPL_VERBS_TRANSPORT=rc does without");
  Node automatic(1, "auto", 1);
  ASSERT_EQ(automatic.code, OMPL_OK) << ompl_error_detail();
  const conduit::Reach reach = automatic.reach(first);
  EXPECT_TRUE(reach.usable);
  EXPECT_NE(reach.why.find(", RC; no DC: stub0 has no DC"), std::string::npos) << reach.why;
  EXPECT_NE(reach.why.find("; no XRC: stub0 has no XRC"), std::string::npos) << reach.why;
}

// The key of a target comes of the job's secret.
TEST_F(VerbsTransport, WhoDoesNotKnowTheSecretIsRefusedByTheTarget) {
  struct Records final : conduit::Sink {
    void signal(uint32_t /*source*/, const conduit::Signal& /*record*/) override { ++count; }
    int count = 0;
  } records;
  Node member(0, "dc");
  for (const char* secret : {"the secret", "another"}) {
    Node other(1, "dc", 0, secret);
    ASSERT_TRUE(other.reach(member).usable);
    ASSERT_TRUE(member.reach(other).usable);
    std::unique_ptr<conduit::Endpoint> from;
    ASSERT_EQ(other.conduit().endpoint(0, &from), OMPL_OK);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const Post posted = from->signal(0, {.offset = 8});
    ASSERT_EQ(posted.state, Post::State::done);
    while (from->completed(0) < posted.ticket && std::chrono::steady_clock::now() < limit)
      ASSERT_GE(from->progress(records, 16), 0);
    const bool knows = std::string(secret) == "the secret";
    EXPECT_EQ(from->failure(0), knows ? OMPL_OK : OMPL_ERR_LINK);
    if (!knows) {
      EXPECT_EQ(from->reason(0), "remote access error");
    }
  }
  std::unique_ptr<conduit::Endpoint> to;
  ASSERT_EQ(member.conduit().endpoint(0, &to), OMPL_OK);
  for (int i = 0; i < 10; ++i) ASSERT_GE(to->progress(records, 16), 0);
  EXPECT_EQ(records.count, 1) << "of the one who knows it";
}

}  // namespace
}  // namespace ompl::conformance
