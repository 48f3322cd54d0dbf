// SPDX-License-Identifier: BSD-3-Clause
// Bootstraps that need no launcher, and the choice among them.
#include "bootstrap/bootstrap.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "bootstrap/thread_bootstrap.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

// Starts each test without launcher variables, and leaves none.
class Connect : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  static void clear() {
    for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID", "PMIX_NAMESPACE",
                             "PMIX_RANK", "PMIX_SERVER_URI41", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                             "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PRTE_LAUNCHED"}) {
      unsetenv(name);
    }
  }

  // connect() must fail with OMPL_ERR_LAUNCH; returns what it said.
  static std::string refusal(const std::map<std::string, std::string>& environment,
                             const std::string& launcher = "auto") {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    Settings settings;
    settings.launcher = launcher;
    std::unique_ptr<Bootstrap> bootstrap;
    EXPECT_EQ(connect(settings, &bootstrap), OMPL_ERR_LAUNCH);
    EXPECT_EQ(bootstrap, nullptr);
    const std::string said = error_detail();
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    clear();
    return said;
  }
};

TEST_F(Connect, AloneIsASingleRank) {
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(connect(Settings{}, &bootstrap), OMPL_OK);
  EXPECT_EQ(bootstrap->name(), "single");
  EXPECT_EQ(bootstrap->rank(), 0u);
  EXPECT_EQ(bootstrap->size(), 1u);
  const std::string value("\0a\nb", 4);
  ASSERT_EQ(bootstrap->set("key", value), OMPL_OK);
  ASSERT_EQ(bootstrap->fence(), OMPL_OK);
  std::string read;
  ASSERT_EQ(bootstrap->get(0, "key", &read), OMPL_OK);
  EXPECT_EQ(read, value);
  EXPECT_EQ(bootstrap->get(0, "other", &read), OMPL_ERR_LAUNCH);
  EXPECT_EQ(bootstrap->finish(), OMPL_OK);
}

TEST_F(Connect, HalfAnEnvironmentIsNamed) {
  EXPECT_NE(refusal({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).find("PMI_FD is not set"),
            std::string::npos);
  EXPECT_NE(refusal({{"PMI_FD", "0"}, {"PMI_SIZE", "2"}}).find("PMI_RANK is not set"),
            std::string::npos);
  EXPECT_NE(refusal({{"PMI_FD", "0"}, {"PMI_RANK", "0"}}).find("PMI_SIZE is not set"),
            std::string::npos);
}

TEST_F(Connect, UnusableValuesAreNamed) {
  using Environment = std::map<std::string, std::string>;
  const auto with = [](const char* fd, const char* rank, const char* size) {
    return Environment{{"PMI_FD", fd}, {"PMI_RANK", rank}, {"PMI_SIZE", size}};
  };
  EXPECT_NE(refusal(with("x", "0", "1")).find("PMI_FD=\"x\""), std::string::npos);
  EXPECT_NE(refusal(with("-1", "0", "1")).find("PMI_FD=\"-1\""), std::string::npos);
  EXPECT_NE(refusal(with("0", "", "1")).find("PMI_RANK=\"\""), std::string::npos);
  EXPECT_NE(refusal(with("0", "0", "1e3")).find("PMI_SIZE=\"1e3\""), std::string::npos);
  EXPECT_NE(refusal(with("0", "2", "2")).find("PMI_RANK=2 is not below PMI_SIZE=2"), std::string::npos);
  EXPECT_NE(refusal(with("1000000", "0", "1")).find("PMI_FD=1000000 is no open socket"),
            std::string::npos);
}

TEST_F(Connect, ADescriptorThatIsNoLauncherIsNamed) {
  const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const auto number = std::to_string(fd);
  EXPECT_NE(
      refusal({{"PMI_FD", number}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}).find("PMI_FD=" + number),
      std::string::npos);
  close(fd);
}

TEST_F(Connect, HalfAPmixEnvironmentIsNamed) {
  const char* const uri = "PMIX_SERVER_URI41";
  EXPECT_NE(refusal({{"PMIX_RANK", "3"}}).find("PMIX_NAMESPACE is not set"), std::string::npos);
  EXPECT_NE(refusal({{uri, "x"}}).find("PMIX_NAMESPACE is not set"), std::string::npos);
  EXPECT_NE(refusal({{"PMIX_NAMESPACE", "job"}, {uri, "x"}}).find("PMIX_RANK is not set"),
            std::string::npos);
  for (const char* rank : {"", "-1", "two", "4294967295"}) {
    const auto said = refusal({{"PMIX_NAMESPACE", "job"}, {"PMIX_RANK", rank}, {uri, "x"}});
    EXPECT_NE(said.find(fmt::format("PMIX_RANK=\"{}\" is not a number", rank)), std::string::npos)
        << said;
  }
  EXPECT_NE(refusal({{"PMIX_NAMESPACE", "job"}, {"PMIX_RANK", "3"}}).find("no PMIX_SERVER_URI"),
            std::string::npos);
}

TEST_F(Connect, TwoLaunchersThatContradictEachOtherAreNamed) {
  const auto said = refusal({{"PMI_FD", "0"},
                             {"PMI_RANK", "0"},
                             {"PMI_SIZE", "1"},
                             {"PMIX_NAMESPACE", "job"},
                             {"PMIX_RANK", "2"},
                             {"PMIX_SERVER_URI41", "x"}});
  EXPECT_NE(said.find("PMI_RANK=0 and PMIX_RANK=2"), std::string::npos) << said;
  EXPECT_NE(said.find("OMPL_LAUNCHER"), std::string::npos) << said;
}

TEST_F(Connect, ForeignLaunchersAreNotMistakenForNone) {
  EXPECT_NE(refusal({{"PMI_PORT", "host:1"}}).find("PMI_PORT=host:1"), std::string::npos);
  EXPECT_NE(refusal({{"PMI_ID", "3"}}).find("PMI_ID=3"), std::string::npos);
  EXPECT_NE(refusal({{"OMPI_COMM_WORLD_SIZE", "4"}}).find("OMPI_COMM_WORLD_SIZE=4"), std::string::npos);
  EXPECT_NE(refusal({{"PRTE_LAUNCHED", "1"}}).find("PRTE_LAUNCHED=1"), std::string::npos);
  const auto said = refusal({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_NE(said.find("SLURM_STEP_NUM_TASKS"), std::string::npos) << said;
  EXPECT_NE(said.find("--mpi=pmix or --mpi=pmi2"), std::string::npos) << said;
}

// Nothing is lost if one process is started alone, and the script of a batch job is one process.
TEST_F(Connect, LaunchersOfOneProcessAreNone) {
  using Environment = std::map<std::string, std::string>;
  for (const Environment& environment :
       {Environment{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}},
        Environment{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
        Environment{{"SLURM_STEP_NUM_TASKS", "4"}}, Environment{{"OMPI_COMM_WORLD_SIZE", "1"}}}) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::unique_ptr<Bootstrap> bootstrap;
    ASSERT_EQ(connect(Settings{}, &bootstrap), OMPL_OK) << environment.begin()->first;
    EXPECT_EQ(bootstrap->name(), "single");
    clear();
  }
}

TEST_F(Connect, OneMayInsistOnALauncher) {
  EXPECT_NE(refusal({}, "pmi1").find("PMI_FD is not set"), std::string::npos);
  EXPECT_NE(refusal({}, "pmix").find("PMIX_NAMESPACE is not set"), std::string::npos);
  EXPECT_NE(refusal({}, "mpi").find("MPI_Init"), std::string::npos);
  setenv("PMIX_RANK", "3", 1);
  Settings settings;
  settings.launcher = "single";
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(connect(settings, &bootstrap), OMPL_OK);
}

TEST(ThreadJob, RanksExchangeValues) {
  static constexpr uint32_t kSize = 5;
  const ThreadJob job(kSize, {0, 0, 1, 1, 2});
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < kSize; ++rank) {
    ranks.emplace_back([&job, rank] {
      const auto bootstrap = job.join(rank);
      EXPECT_EQ(bootstrap->rank(), rank);
      EXPECT_EQ(bootstrap->size(), kSize);
      EXPECT_EQ(bootstrap->node_map(), (std::vector<uint32_t>{0, 0, 1, 1, 2}));
      for (int round = 0; round < 50; ++round) {
        const auto key = "key" + std::to_string(round);
        EXPECT_EQ(bootstrap->set(key, std::to_string(rank * 1000)), OMPL_OK);
        std::string value;
        EXPECT_EQ(bootstrap->get(rank, key, &value), OMPL_ERR_LAUNCH) << "readable before the fence";
        EXPECT_EQ(bootstrap->fence(), OMPL_OK);
        for (uint32_t other = 0; other < kSize; ++other) {
          EXPECT_EQ(bootstrap->get(other, key, &value), OMPL_OK);
          EXPECT_EQ(value, std::to_string(other * 1000));
        }
      }
      EXPECT_EQ(bootstrap->finish(), OMPL_OK);
    });
  }
  for (auto& rank : ranks) rank.join();
  EXPECT_EQ(job.finished(), kSize);
  EXPECT_EQ(job.aborted(), "");
}

TEST(Secret, IsSharedByAJobAndByNoOther) {
  std::vector<std::string> secrets(4);
  const std::vector<ThreadJob> jobs{ThreadJob(2), ThreadJob(2)};
  std::vector<std::thread> ranks;
  for (uint32_t i = 0; i < 4; ++i) {
    ranks.emplace_back(
        [&, i] { EXPECT_EQ(share_secret(*jobs[i / 2].join(i % 2), &secrets[i]), OMPL_OK); });
  }
  for (auto& rank : ranks) rank.join();
  EXPECT_EQ(secrets[0], secrets[1]);
  EXPECT_EQ(secrets[2], secrets[3]);
  EXPECT_NE(secrets[0], secrets[2]);
  EXPECT_EQ(secrets[0].size(), 32u);
}

TEST(ThreadJob, AFenceWithoutTheOthersEnds) {
  const ThreadJob job(2, {}, std::chrono::milliseconds(20));
  EXPECT_EQ(job.join(0)->fence(), OMPL_ERR_LAUNCH);
}

TEST(ThreadJob, AbortEndsTheFencesOfOthers) {
  const ThreadJob job(2);
  std::thread waiter([&job] { EXPECT_EQ(job.join(0)->fence(), OMPL_ERR_PEER); });
  job.join(1)->abort(3, "enough");
  waiter.join();
  EXPECT_EQ(job.aborted(), "enough (exit code 3)");
}

}  // namespace
}  // namespace ompl::bootstrap
