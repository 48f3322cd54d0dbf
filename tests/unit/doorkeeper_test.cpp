// SPDX-License-Identifier: BSD-3-Clause
// Connections of strangers to a listener of a library's: ended after a time, or at once if there are many.
#include "conduit/common/doorkeeper.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "arch/clock.hpp"

namespace ompl::conduit {
namespace {

constexpr uint64_t kLeast = 8;

class DoorkeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    ASSERT_EQ(::listen(listener, 1000), 0);
    socklen_t length = sizeof name;
    ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &length), 0);
    held.push_back(listener);
  }
  void TearDown() override {
    for (const int fd : held) ::close(fd);
  }
  // Connects, says so many bytes, and is accepted. The end that connected, and in *inside the other one.
  int visit(std::size_t bytes, int* inside = nullptr) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    held.push_back(fd);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    const std::string text(bytes, 'x');
    EXPECT_EQ(::send(fd, text.data(), bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
    const int accepted = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    EXPECT_GE(accepted, 0);
    held.push_back(accepted);
    if (inside != nullptr) *inside = accepted;
    return fd;
  }
  static bool is_ended(int fd) {
    pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
    char byte = 0;
    return ::poll(&waited, 1, 0) == 1 && ::recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
  }
  int listener = -1;
  sockaddr_storage name{};
  std::vector<int> held;
};

TEST_F(DoorkeeperTest, FindsListeners) { EXPECT_TRUE(listening_ports().contains(port_of(name))); }

TEST_F(DoorkeeperTest, WhoSaysTooLittleHasATime) {
  Doorkeeper door(kLeast);
  door.guard(port_of(name));
  const int slow = visit(kLeast - 1);
  const int quick = visit(kLeast);
  const int64_t now = arch::now_ms();
  door.look(now);
  EXPECT_FALSE(is_ended(slow));
  door.look(now + 9'000);
  EXPECT_FALSE(is_ended(slow));
  door.look(now + 60'000);
  EXPECT_TRUE(is_ended(slow));
  EXPECT_FALSE(is_ended(quick));
}

TEST_F(DoorkeeperTest, ManyHaveNone) {
  Doorkeeper door(kLeast);
  door.guard(port_of(name));
  std::vector<int> all;
  for (std::size_t i = 0; i < 2 * Doorkeeper::kMostSilent; ++i) all.push_back(visit(1));
  const int quick = visit(kLeast);
  door.look(arch::now_ms());
  std::size_t ended = 0;
  for (const int fd : all) ended += is_ended(fd) ? 1 : 0;
  EXPECT_EQ(ended, Doorkeeper::kMostSilent);
  EXPECT_FALSE(is_ended(quick));
}

TEST_F(DoorkeeperTest, WhoSaidEnoughButIsNotKnownHasATimeToo) {
  Doorkeeper door(kLeast);
  door.guard(port_of(name));
  const int stranger = visit(kLeast);
  int inside = -1;
  const int friendly = visit(kLeast, &inside);
  sockaddr_storage friends{};
  socklen_t length = sizeof friends;
  ASSERT_EQ(::getpeername(inside, reinterpret_cast<sockaddr*>(&friends), &length), 0);
  const auto known = [&](const sockaddr_storage& peer) { return port_of(peer) == port_of(friends); };
  const int64_t now = arch::now_ms();
  door.look(now, known);
  door.look(now + 60'000, known);
  EXPECT_TRUE(is_ended(stranger));
  EXPECT_FALSE(is_ended(friendly));
}

TEST_F(DoorkeeperTest, TellsHowManyWait) {
  Doorkeeper door(kLeast);
  EXPECT_EQ(door.look(1), 0U) << "it watches no listener";
  door.guard(port_of(name));
  EXPECT_EQ(door.look(2), 0U);
  for (int i = 0; i < 5; ++i) {
    held.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(held.back(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    ASSERT_EQ(::send(held.back(), "", 1, MSG_NOSIGNAL), 1);
  }
  EXPECT_EQ(door.look(1000), 5U);
}

// Of other listeners and other descriptors nothing is touched.
TEST_F(DoorkeeperTest, LooksAtItsOwnListenerOnly) {
  Doorkeeper door(kLeast);
  door.guard(static_cast<uint16_t>(port_of(name) ^ 1));
  const int silent = visit(0);
  const int64_t now = arch::now_ms();
  door.look(now);
  door.look(now + 60'000);
  EXPECT_FALSE(is_ended(silent));
}

}  // namespace
}  // namespace ompl::conduit
