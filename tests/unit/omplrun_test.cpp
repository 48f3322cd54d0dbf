// SPDX-License-Identifier: BSD-3-Clause
// The parts of omplrun that do no input or output of their own.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "pmi_server.hpp"
#include "streams.hpp"

namespace omplrun {
namespace {

using Session = PmiServer::Session;

class Server : public testing::Test {
 protected:
  // The only answer to `line`, which goes to the rank itself.
  std::string answer(uint32_t rank, const std::string& line) {
    const auto result = server_.handle(rank, line);
    EXPECT_EQ(result.violation, "");
    if (result.replies.size() != 1 || result.replies.front().rank != rank) return "not one answer";
    return result.replies.front().line;
  }
  std::string violation(uint32_t rank, const std::string& line) {
    const auto result = server_.handle(rank, line);
    EXPECT_TRUE(result.replies.empty());
    return result.violation;
  }
  void join(uint32_t rank) { answer(rank, "cmd=init pmi_version=1 pmi_subversion=1"); }

  PmiServer server_{"job", {0, 0, 1}};
};

TEST_F(Server, KeepsValues) {
  join(0);
  join(1);
  EXPECT_EQ(answer(0, "cmd=get_my_kvsname"), "cmd=my_kvsname rc=0 kvsname=job\n");
  EXPECT_EQ(answer(0, "cmd=put kvsname=job key=a value=1"), "cmd=put_result rc=0 msg=success\n");
  EXPECT_EQ(answer(1, "cmd=get kvsname=job key=a"), "cmd=get_result rc=0 msg=success value=1\n");
  EXPECT_EQ(answer(1, "cmd=get kvsname=job key=b"), "cmd=get_result rc=-1 msg=key_not_found\n");
  EXPECT_EQ(answer(1, "cmd=get kvsname=jab key=a"), "cmd=get_result rc=-1 msg=no_such_kvsname\n");
  EXPECT_EQ(answer(1, "cmd=get kvsname=job key=PMI_process_mapping"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,1))\n");
}

TEST_F(Server, RefusesWhatIsTooLong) {
  join(0);
  const auto put = [this](std::size_t key, std::size_t value) {
    return answer(
        0, "cmd=put kvsname=job key=" + std::string(key, 'k') + " value=" + std::string(value, 'v'));
  };
  EXPECT_EQ(put(63, 1023), "cmd=put_result rc=0 msg=success\n");
  EXPECT_EQ(put(64, 1), "cmd=put_result rc=-1 msg=key_empty_or_too_long\n");
  EXPECT_EQ(put(0, 1), "cmd=put_result rc=-1 msg=key_empty_or_too_long\n");
  EXPECT_EQ(put(1, 1024), "cmd=put_result rc=-1 msg=value_too_long\n");
}

TEST_F(Server, TellsWhatAnMpiAsks) {
  join(2);
  EXPECT_EQ(answer(2, "cmd=get_universe_size"), "cmd=universe_size rc=0 size=3\n");
  EXPECT_EQ(answer(2, "cmd=get_appnum"), "cmd=appnum rc=0 appnum=0\n");
  EXPECT_EQ(answer(2, "cmd=get_maxes"),
            "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
}

TEST_F(Server, ReleasesABarrierOnceAllAreThere) {
  for (uint32_t rank = 0; rank < 3; ++rank) join(rank);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(server_.handle(2, "cmd=barrier_in").replies.empty());
    EXPECT_TRUE(server_.handle(0, "cmd=barrier_in").replies.empty());
    EXPECT_EQ(server_.missing_from_barrier(), std::nullopt);
    const auto replies = server_.handle(1, "cmd=barrier_in").replies;
    ASSERT_EQ(replies.size(), 3u);
    for (uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(replies[rank].rank, rank);
      EXPECT_EQ(replies[rank].line, "cmd=barrier_out rc=0\n");
    }
  }
}

TEST_F(Server, FindsWhoABarrierWaitsForInVain) {
  for (uint32_t rank = 0; rank < 3; ++rank) join(rank);
  server_.handle(1, "cmd=barrier_in");
  server_.rank_ended(2);
  EXPECT_EQ(server_.missing_from_barrier(), 2u);
  server_.rank_ended(1);
  EXPECT_EQ(server_.missing_from_barrier(), std::nullopt) << "nobody waits any more";
  server_.handle(0, "cmd=barrier_in");
  EXPECT_EQ(server_.missing_from_barrier(), 1u);
}

TEST_F(Server, CountsOneWhoLeftAsMissing) {
  for (uint32_t rank = 0; rank < 3; ++rank) join(rank);
  EXPECT_EQ(answer(0, "cmd=finalize"), "cmd=finalize_ack rc=0\n");
  EXPECT_EQ(server_.missing_from_barrier(), std::nullopt);
  server_.handle(1, "cmd=barrier_in");
  EXPECT_EQ(server_.missing_from_barrier(), 0u);
}

TEST_F(Server, KnowsTheSessions) {
  EXPECT_EQ(server_.session(0), Session::none);
  join(0);
  EXPECT_EQ(server_.session(0), Session::open);
  join(0);  // a second library of the process
  EXPECT_EQ(server_.session(0), Session::open);
  answer(0, "cmd=finalize");
  EXPECT_EQ(server_.session(0), Session::finalized);
  EXPECT_EQ(server_.session(1), Session::none);
}

TEST_F(Server, NamesViolations) {
  EXPECT_NE(violation(0, "cmd=barrier_in").find("outside a PMI session"), std::string::npos);
  EXPECT_NE(violation(0, "hello").find("no PMI-1 command"), std::string::npos);
  EXPECT_EQ(answer(0, "cmd=init pmi_version=2"),
            "cmd=response_to_init rc=-1 msg=only_PMI_version_1_is_offered\n");
  join(0);
  EXPECT_NE(violation(0, "cmd=make_coffee").find("make_coffee"), std::string::npos);
  EXPECT_NE(violation(0, "mcmd=spawn").find("mcmd=spawn"), std::string::npos);
  server_.handle(0, "cmd=barrier_in");
  EXPECT_NE(violation(0, "cmd=get_maxes").find("inside a PMI barrier"), std::string::npos);
  join(1);
  answer(1, "cmd=finalize");
  EXPECT_NE(violation(1, "cmd=init pmi_version=1").find("after its last one"), std::string::npos);
  EXPECT_LT(violation(2, std::string(10000, 'x')).size(), 200u);
}

TEST_F(Server, TakesAborts) {
  EXPECT_EQ(server_.handle(0, "cmd=abort exitcode=17").abort_code, 17);
  EXPECT_EQ(server_.handle(0, "cmd=abort exitcode=0 orderly=1").abort_code, 0);
  for (const char* odd :
       {"cmd=abort", "cmd=abort exitcode=0", "cmd=abort exitcode=256", "cmd=abort exitcode=-3"}) {
    EXPECT_EQ(server_.handle(0, odd).abort_code, 1) << odd;
  }
}

TEST(Lines, ArePrefixedOnceComplete) {
  Lines lines("[7] ");
  EXPECT_EQ(lines.add("a"), "");
  EXPECT_EQ(lines.add("b\nc\n\n!"), "[7] ab\n[7] c\n[7] \n");
  EXPECT_EQ(lines.add(""), "");
  EXPECT_EQ(lines.finish(), "[7] !\n");
  EXPECT_EQ(lines.finish(), "");
}

TEST(Lines, AreUntouchedWithoutPrefix) {
  Lines lines("");
  EXPECT_EQ(lines.add("a\nb"), "a\n");
  EXPECT_EQ(lines.finish(), "b");
}

TEST(Lines, AreBrokenWhenEndless) {
  Lines lines("[0] ");
  const std::string part(700000, 'x');
  EXPECT_EQ(lines.add(part), "");
  EXPECT_EQ(lines.add(part), "[0] " + part + part + "\n");
}

}  // namespace
}  // namespace omplrun
