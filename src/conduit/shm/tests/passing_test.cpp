// SPDX-License-Identifier: BSD-3-Clause
// Passing segments over abstract sockets, to which everybody on the machine may connect.
#include "conduit/shm/passing.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "omnipgas/ompl.h"

namespace ompl::conduit::shm {
namespace {

constexpr uid_t kOtherUser = 65534;

// Closes what it holds.
struct Held {
  std::vector<int> descriptors;
  ~Held() {
    for (const int fd : descriptors) ::close(fd);
  }
};

socklen_t address_of(const std::string& name, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  name.copy(address->sun_path + 1, sizeof address->sun_path - 1);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// A connection to that name on which nothing is said; -1 with errno.
int knock(const std::string& name) {
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  const socklen_t length = address_of(name, &address);
  if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

// Sends so many descriptors of /dev/null, beside bytes that mean nothing.
bool throw_descriptors(const std::string& name, std::size_t count) {
  const int connection = knock(name);
  if (connection < 0) return false;
  std::vector<int> thrown(count, ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::array<char, 24> text{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control{};
  iovec piece{.iov_base = text.data(), .iov_len = text.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(head), thrown.data(), count * sizeof(int));
  const bool sent = ::sendmsg(connection, &message, MSG_NOSIGNAL) > 0;
  ::close(thrown.front());
  ::close(connection);
  return sent;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// Runs `what` in a process of another user; false if it ends otherwise than by true.
template <class What>
bool as_other_user(What&& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setresuid(kOtherUser, kOtherUser, kOtherUser) == 0 && what() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class PassingTest : public testing::Test {
 protected:
  void SetUp() override {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    ASSERT_EQ(receiver.open(), OMPL_OK);
    ASSERT_EQ(sender.open(), OMPL_OK);
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  }
  void TearDown() override {
    for (const int fd : pipe) ::close(fd);
  }
  [[nodiscard]] Gift gift() const {
    return {.segment = pipe[0], .wake_read = pipe[0], .wake_write = pipe[1], .process = pipe[1]};
  }
  // Rank 3 passes something to the receiver, which then has it.
  void pass() {
    bool sent = false;
    std::thread other([&] { sent = sender.send(receiver.name(), receiver.word(), 3, gift()); });
    Gift got;
    const bool received = receiver.receive(3, &got);
    other.join();
    EXPECT_TRUE(sent);
    ASSERT_TRUE(received);
    struct stat ours {};
    struct stat theirs {};
    fstat(pipe[0], &ours);
    fstat(got.segment, &theirs);
    EXPECT_EQ(ours.st_ino, theirs.st_ino);
    for (const int fd : {got.segment, got.wake_read, got.wake_write, got.process}) ::close(fd);
  }

  Passing receiver;
  Passing sender;
  std::array<int, 2> pipe{-1, -1};
};

TEST_F(PassingTest, WhatIsSentArrives) { pass(); }

TEST_F(PassingTest, SilentConnectionsAreNotWaitedFor) {
  Held held;
  for (int i = 0; i < 60; ++i) held.descriptors.push_back(knock(receiver.name()));
  pass();
}

TEST_F(PassingTest, AFullQueueOfStrangersIsEmptied) {
  Held held;
  int fd = 0;
  while ((fd = knock(receiver.name())) >= 0) held.descriptors.push_back(fd);
  if (errno != EAGAIN) GTEST_SKIP() << "the queue has more room than this process may have descriptors";
  pass();
}

TEST_F(PassingTest, DescriptorsOfWhoDoesNotKnowTheWordAreClosed) {
  const std::size_t before = open_descriptors();
  for (const std::size_t count : {1U, 3U, 4U, 5U, 16U}) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(throw_descriptors(receiver.name(), count));
  }
  EXPECT_TRUE(sender.send(receiver.name(), receiver.word() + 1, 3, gift())) << "sent, and thrown away";
  pass();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(PassingTest, AnotherUserCanNeitherSendNorDelay) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: there is no other user to be";
  const std::size_t before = open_descriptors();
  ASSERT_TRUE(as_other_user([&] {
    for (int i = 0; i < 20; ++i) {
      if (knock(receiver.name()) < 0 || !throw_descriptors(receiver.name(), 3)) return false;
    }
    // Even if he knows all that a rank knows.
    return !Passing().send(receiver.name(), receiver.word(), 3, gift());
  }));
  pass();
  EXPECT_EQ(open_descriptors(), before);
}

// Who takes the name of a rank that has died gets nothing.
TEST_F(PassingTest, NothingIsSentToAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: there is no other user to be";
  const std::string name = receiver.name();
  receiver.close();
  std::array<int, 2> ready{-1, -1};
  ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  std::thread thief([&] {
    EXPECT_TRUE(as_other_user([&] {
      const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
      sockaddr_un address{};
      const socklen_t length = address_of(name, &address);
      if (::bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
          ::listen(listener, 8) != 0 || ::write(ready[1], "", 1) != 1)
        return false;
      const int connection = ::accept(listener, nullptr, nullptr);
      char byte = 0;
      return connection >= 0 && ::recv(connection, &byte, 1, 0) == 0;  // closed, unsaid
    }));
  });
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(sender.send(name, receiver.word(), 3, gift()));
  thief.join();
  for (const int fd : ready) ::close(fd);
}

}  // namespace
}  // namespace ompl::conduit::shm
