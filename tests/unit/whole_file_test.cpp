// SPDX-License-Identifier: BSD-3-Clause
// Files that are there whole or not at all.
#include "util/whole_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ompl {
namespace {

namespace fs = std::filesystem;

class WholeFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "ompl-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  [[nodiscard]] static std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }
  fs::path folder;
};

TEST_F(WholeFileTest, IsWrittenAndReplaced) {
  const fs::path file = folder / "table.json";
  for (const std::string& text : {std::string("first"), std::string(3 << 20, 'x'), std::string()}) {
    EXPECT_EQ(write_whole(file, text), "");
    EXPECT_EQ(text_of(file), text);
  }
  EXPECT_EQ(files(), 1);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077, 0U) << "it is this user's";
}

// As of a full disk.
TEST_F(WholeFileTest, WhatCannotBeWrittenWholeLeavesWhatWasThere) {
  const fs::path file = folder / "table.json";
  ASSERT_EQ(write_whole(file, "good"), "");
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit low = limit;
  low.rlim_cur = 4096;
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string failed = write_whole(file, std::string(8192, 'x'));
  setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_NE(failed, "");
  EXPECT_EQ(text_of(file), "good");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFileTest, AFolderThatIsNotThereIsTold) {
  EXPECT_NE(write_whole(folder / "none" / "table.json", "text").find("folder"), std::string::npos);
}

// Another file is not written through a link that somebody has put in its place.
TEST_F(WholeFileTest, ALinkIsReplacedAndNotFollowed) {
  const fs::path victim = folder / "victim";
  ASSERT_EQ(write_whole(victim, "precious"), "");
  fs::create_symlink(victim, folder / "table.json");
  EXPECT_EQ(write_whole(folder / "table.json", "text"), "");
  EXPECT_EQ(text_of(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(folder / "table.json"));
}

}  // namespace
}  // namespace ompl
