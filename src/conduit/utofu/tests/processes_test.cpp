// SPDX-License-Identifier: BSD-3-Clause
// Nodes that are processes: the machine lies in a file.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "pair.hpp"

namespace emulator::test {
namespace {

constexpr unsigned long kNotice = UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;
constexpr unsigned kSeconds = 30;

struct Greeting {
  utofu_vcq_id_t id;
  utofu_stadd_t stadd;
};

// Runs before this process has touched the emulator, whose thread does not live on in a fork: each test in a process of its
// own.
class UtofuProcesses : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / "utofu-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    setenv("UTOFU_EMULATOR_FABRIC", (folder_ + "/fabric").c_str(), 1);
    ASSERT_EQ(pipe(greeting_.data()), 0);
    ASSERT_EQ(pipe(go_.data()), 0);
  }
  void TearDown() override {
    for (const int end : {greeting_[0], greeting_[1], go_[0], go_[1]}) close(end);
    std::filesystem::remove_all(folder_);
  }
  // The other node: offers its memory until it is told to go on, then returns its own judgement.
  template <class Judge>
  void start(Judge&& judge) {
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(kSeconds);
    bool good = false;
    {
      Vcq own{0};
      own.memory.words[5] = 55;
      const Greeting greeting{own.id, own.stadd};
      char byte = 0;
      good = write(greeting_[1], &greeting, sizeof greeting) == sizeof greeting &&
             read(go_[0], &byte, 1) == 1 && judge(own);
    }
    _exit(good && !::testing::Test::HasFailure() ? 0 : 1);
  }
  Greeting meet() {
    Greeting other{};
    EXPECT_EQ(read(greeting_[0], &other, sizeof other), static_cast<ssize_t>(sizeof other));
    return other;
  }
  void go_on() { EXPECT_EQ(write(go_[1], "x", 1), 1); }
  int ended() {
    int status = -1;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    return status;
  }

  std::string folder_;
  std::array<int, 2> greeting_{}, go_{};
  pid_t child_ = -1;
};

TEST_F(UtofuProcesses, OneWritesReadsAndAddsInTheOthersMemoryUntilItDies) {
  start([](Vcq& own) {
    return own.memory.words[0] == 11 && own.memory.words[1] == 12 && own.memory.words[2] == 7;
  });
  const Greeting other = meet();
  Vcq own{3};
  own.memory.words[0] = 11;
  own.memory.words[1] = 12;
  utofu_mrq_notice notice{};
  EXPECT_EQ(insist(own, utofu_put, other.id, own.stadd, other.stadd, 16, 1, kNotice, nullptr),
            UTOFU_SUCCESS);
  EXPECT_EQ(next_notice(own, &notice), UTOFU_SUCCESS);
  EXPECT_EQ(
      insist(own, utofu_armw8, other.id, UTOFU_ARMW_OP_ADD, 7, other.stadd + 16, 1, kNotice, nullptr),
      UTOFU_SUCCESS);
  EXPECT_EQ(next_notice(own, &notice), UTOFU_SUCCESS);
  EXPECT_EQ(notice.rmt_value, 0U);
  EXPECT_EQ(
      insist(own, utofu_get, other.id, own.stadd + 4096, other.stadd + 40, 8, 1, kNotice, nullptr),
      UTOFU_SUCCESS);
  EXPECT_EQ(next_notice(own, &notice), UTOFU_SUCCESS);
  EXPECT_EQ(own.memory.words[512], 55U);
  go_on();
  EXPECT_EQ(ended(), 0);
  EXPECT_EQ(insist(own, utofu_put, other.id, own.stadd, other.stadd, 16, 1, kNotice, nullptr),
            UTOFU_SUCCESS);
  EXPECT_EQ(next_notice(own, &notice), UTOFU_ERR_MRQ_PEER);
}

TEST_F(UtofuProcesses, ANodeThatIsKilledIsGone) {
  start([](Vcq& /*own*/) { return true; });
  const Greeting other = meet();
  Vcq own{3};
  ASSERT_EQ(kill(child_, SIGKILL), 0);
  EXPECT_TRUE(WIFSIGNALED(ended()));
  EXPECT_EQ(insist(own, utofu_put, other.id, own.stadd, other.stadd, 16, 1, kNotice, nullptr),
            UTOFU_SUCCESS);
  utofu_mrq_notice notice{};
  EXPECT_EQ(next_notice(own, &notice), UTOFU_ERR_MRQ_PEER);
}

}  // namespace
}  // namespace emulator::test
