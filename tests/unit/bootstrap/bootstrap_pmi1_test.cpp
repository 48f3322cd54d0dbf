// SPDX-License-Identifier: BSD-3-Clause
// The PMI-1 client against omplrun's server, and against launchers that misbehave, in one process.
#include "bootstrap/pmi1.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/pmi1_wire.hpp"
#include "pmi_server.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

using namespace std::chrono_literals;

struct SocketPair {
  std::array<int, 2> ends{-1, -1};
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0); }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  ~SocketPair() {
    for (const int end : ends) close(end);
  }
};

// Serves the ranks, as omplrun does, until all of them have ended their sessions.
void serve(std::vector<SocketPair>& pairs, omplrun::PmiServer& server) {
  std::vector<pmi1::LineBuffer> buffers(pairs.size());
  std::vector<pollfd> entries;
  for (const auto& pair : pairs) entries.push_back({pair.ends[0], POLLIN, 0});
  for (std::size_t open = pairs.size(); open > 0;) {
    ASSERT_GT(poll(entries.data(), entries.size(), 10000), 0) << "the ranks are stuck";
    for (uint32_t rank = 0; rank < entries.size(); ++rank) {
      if (entries[rank].revents == 0) continue;
      std::array<char, 100> bytes;  // small, so that lines come in pieces
      const ssize_t count = recv(entries[rank].fd, bytes.data(), bytes.size(), 0);
      ASSERT_GT(count, 0);
      ASSERT_TRUE(buffers[rank].append({bytes.data(), static_cast<std::size_t>(count)}));
      while (const auto line = buffers[rank].next()) {
        const auto result = server.handle(rank, *line);
        EXPECT_EQ(result.violation, "");
        for (const auto& reply : result.replies) {
          const auto size = static_cast<ssize_t>(reply.line.size());
          EXPECT_EQ(send(entries[reply.rank].fd, reply.line.data(), reply.line.size(), 0), size);
        }
        if (server.session(rank) == omplrun::PmiServer::Session::finalized) --open;
      }
    }
  }
}

// One rank of a job: publishes, reads what all published, leaves.
void take_part(const Pmi1Session& session, const std::vector<uint32_t>& nodes) {
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_pmi1(session, &bootstrap), OMPL_OK);
  EXPECT_EQ(bootstrap->name(), "pmi1");
  EXPECT_EQ(bootstrap->rank(), session.rank);
  EXPECT_EQ(bootstrap->size(), session.size);
  EXPECT_EQ(bootstrap->node_map(), nodes);
  const auto value_of = [](uint32_t rank) { return std::string(rank * 700, static_cast<char>(rank)); };
  ASSERT_EQ(bootstrap->set("address", value_of(session.rank)), OMPL_OK);
  ASSERT_EQ(bootstrap->fence(), OMPL_OK);
  for (uint32_t rank = 0; rank < session.size; ++rank) {
    std::string value;
    ASSERT_EQ(bootstrap->get(rank, "address", &value), OMPL_OK);
    EXPECT_EQ(value, value_of(rank));
  }
  std::string value;
  EXPECT_EQ(bootstrap->get(0, "other", &value), OMPL_ERR_LAUNCH);
  EXPECT_EQ(bootstrap->get(session.size, "address", &value), OMPL_ERR_LAUNCH);
  EXPECT_EQ(bootstrap->set("two words", "x"), OMPL_ERR_LAUNCH);
  EXPECT_EQ(bootstrap->set(std::string(64, 'k'), "x"), OMPL_ERR_LAUNCH);
  ASSERT_EQ(bootstrap->fence(), OMPL_OK);
  EXPECT_EQ(bootstrap->finish(), OMPL_OK);
}

TEST(Pmi1, RanksOfAJobMeet) {
  const std::vector<uint32_t> nodes{0, 0, 1, 2};
  const auto size = static_cast<uint32_t>(nodes.size());
  std::vector<SocketPair> pairs(size);
  omplrun::PmiServer server("job", nodes);
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < size; ++rank) {
    ranks.emplace_back(take_part, Pmi1Session{pairs[rank].ends[1], rank, size, 200s}, nodes);
  }
  serve(pairs, server);
  for (auto& rank : ranks) rank.join();
}

// A launcher that sends `answers`, whatever it is asked, then closes its end if `close_after`.
class BadLauncher : public testing::Test {
 protected:
  // What open_pmi1() says about it.
  std::string opened_with(const std::string& answers, bool close_after = true) {
    const SocketPair pair;
    EXPECT_EQ(send(pair.ends[0], answers.data(), answers.size(), MSG_DONTWAIT),
              static_cast<ssize_t>(answers.size()));
    if (close_after) shutdown(pair.ends[0], SHUT_WR);
    std::unique_ptr<Bootstrap> bootstrap;
    EXPECT_EQ(open_pmi1({pair.ends[1], 0, 1, 50ms}, &bootstrap), OMPL_ERR_LAUNCH);
    EXPECT_EQ(bootstrap, nullptr);
    return error_detail();
  }

  const std::string hello_ = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
  const std::string maxes_ = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n";
  const std::string name_ = "cmd=my_kvsname kvsname=kvs\n";
  const std::string no_mapping_ = "cmd=get_result rc=-1 msg=not found\n";
};

TEST_F(BadLauncher, IsSilent) {
  EXPECT_NE(opened_with("", false).find("no answer for 50 ms"), std::string::npos);
}

TEST_F(BadLauncher, FallsSilentInALine) {
  EXPECT_NE(opened_with(hello_ + "cmd=max", false).find("no answer"), std::string::npos);
}

TEST_F(BadLauncher, HangsUp) {
  EXPECT_NE(opened_with("").find("closed the connection"), std::string::npos);
}

TEST_F(BadLauncher, SpeaksSomethingElse) {
  EXPECT_NE(opened_with("HTTP/1.1 400 Bad Request\r\n").find("HTTP/1.1"), std::string::npos);
  EXPECT_NE(opened_with("cmd=maxes\n").find("response_to_init"), std::string::npos);
  EXPECT_NE(opened_with("cmd=response_to_init rc=-1\n").find("version 1"), std::string::npos);
}

TEST_F(BadLauncher, NeverEndsALine) {
  EXPECT_NE(opened_with(std::string(2 * pmi1::kMaxLine, 'x')).find("more than"), std::string::npos);
}

TEST_F(BadLauncher, HasNoRoom) {
  EXPECT_NE(opened_with(hello_ + "cmd=maxes keylen_max=8 vallen_max=1024\n").find("keys of 8"),
            std::string::npos);
  EXPECT_NE(opened_with(hello_ + "cmd=maxes\n").find("values of 0"), std::string::npos);
  EXPECT_NE(opened_with(hello_ + maxes_ + "cmd=my_kvsname\n").find("no key-value space"),
            std::string::npos);
}

TEST_F(BadLauncher, AnswersGetsWithGarbage) {
  for (const char* garbage :
       {"rc=0", "rc=0 value=00", "rc=0 value=1:xy", "rc=0 value=0:", "rc=1 value=1:00"}) {
    const SocketPair pair;
    const auto answers = hello_ + maxes_ + name_ + no_mapping_ + "cmd=get_result " + garbage + "\n";
    ASSERT_EQ(send(pair.ends[0], answers.data(), answers.size(), 0),
              static_cast<ssize_t>(answers.size()));
    std::unique_ptr<Bootstrap> bootstrap;
    ASSERT_EQ(open_pmi1({pair.ends[1], 0, 1, 50ms}, &bootstrap), OMPL_OK) << garbage;
    EXPECT_TRUE(bootstrap->node_map().empty());
    std::string value = "untouched";
    EXPECT_EQ(bootstrap->get(0, "key", &value), OMPL_ERR_LAUNCH) << garbage;
    EXPECT_EQ(value, "untouched");
  }
}

}  // namespace
}  // namespace ompl::bootstrap
