// SPDX-License-Identifier: BSD-3-Clause
// Whether a rank lives: the liveness listener, and the watch of the mpi conduit, which probes it. The other hosts are further
// addresses of the loopback; a listener whose queue is full answers as little as a host behind a cut.
#include "conduit/common/liveness_probe.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "conduit/common/host_addresses.hpp"
#include "conduit/mpi/liveness_watch.hpp"
#include "util/bytes.hpp"
#include "util/settings.hpp"

namespace ompl::conduit {
namespace {

using std::chrono::milliseconds;

template <class Condition>
bool comes(Condition condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(200);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

LivenessProbe::Answer answer_of(LivenessProbe& probe) {
  comes([&] { return probe.look() != LivenessProbe::Answer::none; });
  return probe.look();
}

TEST(Liveness, LivesUntilItsRankIsGone) {
  std::optional<LivenessListener> listener(std::in_place);
  uint16_t port = 0;
  const std::string ip = ip_from("127.0.0.1");
  ASSERT_EQ(listener->open({ip}, &port), 0);
  ASSERT_NE(port, 0);
  LivenessProbe probe;
  EXPECT_FALSE(probe.asking());
  probe.begin(ip, port);
  EXPECT_TRUE(probe.asking());
  EXPECT_EQ(answer_of(probe), LivenessProbe::Answer::lives)
      << "though nobody there takes the connection";
  listener->answer();
  listener.reset();
  probe.begin(ip, port);
  EXPECT_EQ(answer_of(probe), LivenessProbe::Answer::dead);
}

// More often than any queue of connections is long.
TEST(Liveness, OfAStoppedRankMayBeAskedForWithoutEnd) {
  LivenessListener listener;
  const std::string ip = ip_from("127.0.0.1");
  uint16_t port = 0;
  ASSERT_EQ(listener.open({ip}, &port), 0);
  LivenessProbe probe;
  for (int i = 0; i < 10'000; ++i) {
    probe.begin(ip, port);
    ASSERT_EQ(answer_of(probe), LivenessProbe::Answer::lives) << i;
    probe.end();
  }
}

TEST(Liveness, ListensAtAllAddressesOfBothFamilies) {
  LivenessListener listener;
  uint16_t port = 0;
  ASSERT_EQ(listener.open({ip_from("127.0.0.1"), ip_from("::1")}, &port), 0);
  for (const char* const address : {"127.0.0.1", "127.0.0.9", "::1"}) {
    LivenessProbe probe;
    probe.begin(ip_from(address), port);
    EXPECT_EQ(answer_of(probe), LivenessProbe::Answer::lives) << address;
  }
}

TEST(Liveness, WithoutAnAddressThereIsNone) {
  LivenessListener listener;
  uint16_t port = 0;
  EXPECT_EQ(listener.open({}, &port), 0);
  EXPECT_EQ(port, 0);
  listener.answer();
  LivenessProbe probe;
  probe.begin(ip_from("127.0.0.1"), port);
  EXPECT_EQ(probe.look(), LivenessProbe::Answer::none);
}

// Asked once more, the system has no error left to tell.
TEST(Liveness, WhereNoWayLeadsNobodyLives) {
  LivenessProbe probe;
  probe.begin("\xff\xff\xff\xff", 1);
  EXPECT_TRUE(probe.asking());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer_of(probe), LivenessProbe::Answer::unreached);
}

// The liveness listener of a rank on another host, as the watch sees it.
class Host {
 public:
  explicit Host(int queue) {
    socket_ = open_socket();
    sockaddr_in address = this->address();
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, queue), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = address.sin_port;
  }
  ~Host() { die(); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void die() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  [[nodiscard]] std::string card() const {
    const HostAddresses host{.network = 0, .list = {{.ip = ip_}}};
    return ByteWriter().add(std::string_view(host.encode())).add(ntohs(port_)).bytes();
  }
  // Whether somebody has asked since the last call.
  [[nodiscard]] bool asked() const {
    const int asker = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (asker >= 0) ::close(asker);
    return asker >= 0;
  }
  // Takes the last place of the queue.
  [[nodiscard]] bool fill() const {
    const sockaddr_in address = this->address();
    const int asker = open_socket();
    const bool begun =
        ::connect(asker, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
        errno == EINPROGRESS;
    ::close(asker);
    return begun;
  }

 private:
  static int open_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }
  [[nodiscard]] sockaddr_in address() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = port_;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    return address;
  }

  int socket_ = -1;
  std::string ip_{"\x7f\0\0\x02", 4};
  in_port_t port_ = 0;
};

constexpr uint32_t kCut = 1;
constexpr uint32_t kOther = 2;
constexpr int kQueue = 16;
constexpr int kFullAtOnce = 0;  // the queue has one place

// The watch of rank 0 of three, which looks a hundred times a second.
class MpiWatch : public ::testing::Test {
 protected:
  MpiWatch() {
    settings_.net_interface = "lo";
    EXPECT_EQ(watch_.open(job_), OMPL_OK);
  }
  void begin() {
    watch_.start(milliseconds(10));
    watch_.meet(kCut);
    watch_.meet(kOther);
  }
  // As a thread that waits does.
  bool comes_while_waiting(const std::function<bool()>& condition) {
    return comes([&] {
      watch_.endpoint(0).enter(mpi::LivenessWatch::kAnyone);
      watch_.endpoint(0).leave();
      return condition();
    });
  }
  // The network to kCut is cut once it has answered.
  void cut() {
    ASSERT_TRUE(watch_.note(kCut, cut_.card()));
    begin();
    ASSERT_TRUE(comes_while_waiting([&] { return watch_.losses() != 0; }));
  }

  Settings settings_;
  Job job_{.rank = 0, .size = 3, .host = {}, .secret = {}, .settings = &settings_};
  Host cut_{kFullAtOnce};
  mpi::LivenessWatch watch_;
};

// 20 questions, each after two looks without a sign: longer than the silence that a rank is lost for.
TEST_F(MpiWatch, ARankThatOnlySleepsIsNotLost) {
  const Host sleeper(kQueue);
  ASSERT_TRUE(watch_.note(kOther, sleeper.card()));
  begin();
  int questions = 0;
  EXPECT_TRUE(comes_while_waiting([&] { return (questions += sleeper.asked() ? 1 : 0) == 20; }));
  EXPECT_EQ(watch_.losses(), 0U);
}

TEST_F(MpiWatch, ARankThatNothingReachesIsLost) {
  cut();
  EXPECT_EQ(watch_.lost(kCut), OMPL_ERR_LINK);
  EXPECT_EQ(watch_.why(kCut), "its host 127.0.0.2 has answered nothing for 30 s");
  EXPECT_EQ(watch_.lost(kOther), OMPL_OK);
}

TEST_F(MpiWatch, AProcessThatEndedIsDead) {
  Host ends(kQueue);
  ASSERT_TRUE(watch_.note(kOther, ends.card()));
  begin();
  ASSERT_TRUE(comes_while_waiting([&] { return ends.asked(); }));
  ends.die();
  EXPECT_TRUE(comes_while_waiting([&] { return watch_.losses() != 0; }));
  EXPECT_EQ(watch_.lost(kOther), OMPL_ERR_PEER);
}

// Some networks let nothing but MPI through: that is no cut.
TEST_F(MpiWatch, ARankThatNeverAnsweredIsNotLost) {
  ASSERT_TRUE(cut_.fill());
  ASSERT_TRUE(watch_.note(kCut, cut_.card()));
  begin();
  const auto end = std::chrono::steady_clock::now() + milliseconds(1000);
  EXPECT_TRUE(comes_while_waiting([&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_EQ(watch_.losses(), 0U);
}

TEST_F(MpiWatch, AsksOnceAndThenOnlyWhileSomebodyWaits) {
  const Host idle(kQueue);
  ASSERT_TRUE(watch_.note(kOther, idle.card()));
  begin();
  EXPECT_TRUE(comes([&] { return idle.asked(); }));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_FALSE(idle.asked());
  EXPECT_TRUE(comes_while_waiting([&] { return idle.asked(); }));
}

TEST_F(MpiWatch, DoesNotRunWhereAllRanksAreOnThisHost) {
  mpi::LivenessWatch same;
  ASSERT_EQ(same.open(job_), OMPL_OK);
  ASSERT_TRUE(watch_.note(kOther, same.address()));
  begin();
  EXPECT_FALSE(watch_.running());
}

TEST_F(MpiWatch, ACardThatIsCutOffIsRefused) {
  EXPECT_FALSE(watch_.note(kCut, cut_.card().substr(1)));
  EXPECT_FALSE(watch_.note(kCut, ByteWriter().add(std::string_view("12345")).add(uint16_t{1}).bytes()));
}

TEST_F(MpiWatch, ACallForALivingRankMayTakeItsTime) {
  const Host living(kQueue);
  ASSERT_TRUE(watch_.note(kOther, living.card()));
  cut();
  while (living.asked()) continue;
  watch_.endpoint(0).enter(kOther);
  for (int questions = 0; questions < 5;) questions += living.asked() ? 1 : 0;
  watch_.endpoint(0).leave();
}

using MpiWatchDeathTest = MpiWatch;
TEST_F(MpiWatchDeathTest, ACallThatCannotEndEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto be_stuck = [this](uint32_t rank) {
    cut();
    watch_.endpoint(0).enter(rank);
    std::this_thread::sleep_for(std::chrono::seconds(200));
  };
  constexpr const char* kSaid = "rank 1 is out of reach: its host 127.0.0.2 .* this process ends";
  EXPECT_EXIT(be_stuck(kCut), ::testing::ExitedWithCode(EXIT_FAILURE), kSaid);
  EXPECT_EXIT(be_stuck(mpi::LivenessWatch::kAnyone), ::testing::ExitedWithCode(EXIT_FAILURE), kSaid);
}

}  // namespace
}  // namespace ompl::conduit
