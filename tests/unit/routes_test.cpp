// SPDX-License-Identifier: BSD-3-Clause
// By which addresses hosts reach each other: what a host has, what it tells others, in which order those try it, and what they say
// of addresses that lead nowhere.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "conduit/common/host_addresses.hpp"
#include "conduit/common/ip_address.hpp"
#include "conduit/common/route_search.hpp"

namespace ompl::conduit {
namespace {

constexpr int64_t kLong = 200'000;  // ms

// --- Addresses -----------------------------------------------------------------------------------------

TEST(IpAddress, IsReadAndWritten) {
  for (const char* const text : {"192.0.2.1", "127.0.0.1", "2001:db8::1", "::1"}) {
    const std::string ip = ip_from(text);
    EXPECT_TRUE(is_ip(ip));
    EXPECT_EQ(ip_text(ip), text);
    EXPECT_EQ(ip_of(socket_address(ip, 7)), ip);
    EXPECT_EQ(ip_of(v6_socket_address(ip, 7)), ip) << "mapped or not";
    EXPECT_EQ(v6_socket_address(ip, 7).port(), 7);
  }
  for (const char* const text : {"", "eth0", "1.2.3", "1.2.3.4.5", "10.0.0.0/8"})
    EXPECT_EQ(ip_from(text), "");
  EXPECT_EQ(place_text(ip_from("192.0.2.1"), 4711), "192.0.2.1 port 4711");
}

TEST(IpAddress, ListenersTakeBothFamiliesWhereBothAreThere) {
  const std::string four = ip_from("192.0.2.1");
  const std::string six = ip_from("2001:db8::1");
  EXPECT_EQ(ip_text(ip_of(listening_address({four}))), "192.0.2.1");
  EXPECT_EQ(ip_text(ip_of(listening_address({four, four}))), "0.0.0.0");
  EXPECT_EQ(ip_text(ip_of(listening_address({four, six}))), "::");
}

HostAddresses host(const std::vector<std::string>& texts, uint64_t network = 2) {
  HostAddresses out{.network = network, .list = {}};
  for (const std::string& text : texts) out.list.push_back({.ip = ip_from(text)});
  return out;
}

TEST(HostAddresses, SurviveTheJourney) {
  HostAddresses sent = host({"192.0.2.1", "2001:db8::1"}, 77);
  sent.list[1].doubt = Doubt::down;
  sent.list[1].default_route = true;
  sent.list[1].speed = 14;
  HostAddresses got;
  ASSERT_EQ(got.parse(sent.encode()), nullptr);
  EXPECT_EQ(got.encode(), sent.encode());
  EXPECT_EQ(got.text(), "192.0.2.1, 2001:db8::1");
  EXPECT_EQ(got.list[1].doubt, Doubt::down);
  EXPECT_TRUE(got.list[1].default_route);
  EXPECT_EQ(got.list[1].speed, 14);
}

TEST(HostAddresses, GarbageIsRefusedOrHarmless) {
  std::mt19937 random(20240229);
  const std::string good = host({"192.0.2.1", "2001:db8::1", "127.0.0.1"}).encode();
  HostAddresses got;
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_TRUE(got.parse(good.substr(0, length)) != nullptr || got.list.size() < 3) << length;
  }
  for (int round = 0; round < 100'000; ++round) {
    std::string text = good;
    for (unsigned i = 0; i <= random() % 4; ++i)
      text[random() % text.size()] = static_cast<char>(random());
    ASSERT_TRUE(got.parse(text) != nullptr || got.encode() == text);
  }
  HostAddresses many = host({});
  many.list.resize(HostAddresses::kMost + 1, {.ip = ip_from("192.0.2.1")});
  EXPECT_NE(got.parse(many.encode()), nullptr);
}

// --- Order ---------------------------------------------------------------------------------------------

NetworkInterface own(const std::string& name, const std::string& ip, unsigned prefix,
                     Doubt doubt = Doubt::none) {
  return {.name = name, .ip = ip_from(ip), .prefix = prefix, .doubt = doubt};
}

const std::vector<NetworkInterface> kHere{own("eth0", "10.1.2.1", 24), own("eth1", "10.5.5.1", 24),
                                          own("docker0", "172.17.0.1", 16, Doubt::made_here),
                                          own("lo", "127.0.0.1", 8, Doubt::loopback)};

// What is left of the peer's addresses, in order, or why none are.
std::string order(HostAddresses peer, uint64_t own_network = 1,
                  const std::vector<NetworkInterface>& from = kHere) {
  const char* const wrong = order_for_use(from, own_network, &peer);
  return wrong != nullptr ? wrong : peer.text();
}

TEST(Order, ABridgeOfThisHostsOwnAddressLeadsToItself) {
  EXPECT_EQ(order(host({"172.17.0.1", "10.1.2.2", "127.0.0.1"})), "10.1.2.2");
  EXPECT_EQ(order(host({"172.17.0.9", "10.9.9.9", "10.1.2.2"})), "10.1.2.2, 10.9.9.9, 172.17.0.9");
  EXPECT_EQ(order(host({"172.17.0.1"})), "172.17.0.1") << "it is all there is";
}

TEST(Order, LoopbackLeadsToOthersOfTheSameNetworkOnly) {
  EXPECT_NE(order(host({"127.0.0.1"})).find("that host has loopback addresses only"),
            std::string::npos);
  EXPECT_NE(order(host({"10.1.2.2"}), 1, {own("lo", "127.0.0.1", 8, Doubt::loopback)})
                .find("this host has loopback"),
            std::string::npos);
  EXPECT_EQ(order(host({"127.0.0.1"}, 1)), "127.0.0.1");
  EXPECT_EQ(order(host({"127.0.0.1", "10.1.2.1"}, 1)), "127.0.0.1, 10.1.2.1") << "as published";
  EXPECT_EQ(order(host({"127.0.0.1", "10.1.2.2"}), 0), "10.1.2.2, 127.0.0.1") << "nobody knows";
}

TEST(Order, AFamilyThatThisHostLacksLeadsNowhere) {
  EXPECT_EQ(order(host({"2001:db8::2", "10.1.2.2"})), "10.1.2.2");
  EXPECT_EQ(order(host({"2001:db8::2"})), "one side has IPv4 addresses only, the other IPv6");
  const std::vector both{own("eth0", "10.1.2.1", 24), own("eth0", "2001:db8::1", 64)};
  EXPECT_EQ(order(host({"2001:db8::2", "10.1.2.2"}), 1, both), "10.1.2.2, 2001:db8::2");
}

TEST(Order, OfTheSameSubnetTheFasterIsFirst) {
  HostAddresses peer = host({"10.1.2.2", "10.5.5.2"});
  peer.list[1].speed = 17;
  peer.list[0].speed = 10;
  peer.list[0].default_route = true;
  EXPECT_EQ(order(peer), "10.5.5.2, 10.1.2.2");
}

TEST(Order, OfOtherSubnetsTheOneWithTheDefaultRouteIsFirst) {
  HostAddresses peer = host({"10.8.8.2", "10.9.9.2"});
  peer.list[0].speed = 17;
  peer.list[1].default_route = true;
  EXPECT_EQ(order(peer), "10.9.9.2, 10.8.8.2");
}

TEST(Order, WhatEitherSideDoubtsIsLast) {
  HostAddresses peer = host({"10.1.2.2", "10.9.9.2", "10.8.8.2"});
  peer.list[0].doubt = Doubt::down;
  peer.list[2].doubt = Doubt::made_here;
  EXPECT_EQ(order(peer), "10.9.9.2, 10.8.8.2, 10.1.2.2");
}

// --- Interfaces ----------------------------------------------------------------------------------------

std::string chosen(const std::string& wanted) {
  return list_interfaces(choose_interfaces(kHere, wanted));
}

TEST(Interfaces, AreChosenByNameAddressAndSubnet) {
  EXPECT_EQ(choose_interfaces(kHere, "").size(), kHere.size());
  EXPECT_EQ(chosen("eth1"), "eth1 10.5.5.1");
  EXPECT_EQ(chosen("10.1.2.1"), "eth0 10.1.2.1");
  EXPECT_EQ(chosen("eth1,10.0.0.0/8"), "eth1 10.5.5.1, eth0 10.1.2.1") << "in that order, each once";
  EXPECT_EQ(chosen("0.0.0.0/0").size(), list_interfaces(kHere).size());
  for (const char* const nothing :
       {"eth", "10.1.2.2", "10.1.2.0/33", "10.1.2.0/", "/8", "10.1.2.1/24x", ",", "::/0"})
    EXPECT_EQ(chosen(nothing), "no address at all") << nothing;
}

TEST(Interfaces, LoopbackIsTheLastOfTheOwn) {
  const auto all = own_interfaces();
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &NetworkInterface::doubt));
  for (const NetworkInterface& one : all) EXPECT_TRUE(one.has_in_its_subnet(one.ip)) << one.name;
  EXPECT_EQ(source_address(ip_from("127.0.0.1")), ip_from("127.0.0.1"));
}

bool does(const std::string& command) { return std::system(command.c_str()) == 0; }

// Steps of a host without a network, up to its own exit code: names of its interfaces by order.
int look_at_interfaces() {
  const auto names = [] {
    std::string out;
    for (const NetworkInterface& one : own_interfaces()) out += one.name + " ";
    return out;
  };
  const auto comes = [&](const std::string& wanted) {
    for (int i = 0; i < 3000 && names() != wanted; ++i)
      ::usleep(20'000);  // carriers come when they come
    return names() == wanted;
  };
  if (::unshare(CLONE_NEWNET) != 0 || !does("ip link add docker0 type bridge 2>/dev/null")) return 2;
  if (!does("ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up && ip link add in0 type "
            "veth peer name in1 && "
            "ip link set in0 master docker0 up && ip link set in1 up && ip link set lo up"))
    return 3;
  if (!comes("docker0 lo lo ")) return 4;
  if (!does("ip link add down0 type veth peer name far0 && ip addr add 10.3.3.1/24 dev down0 && ip "
            "link set down0 up"))
    return 5;
  if (!comes("docker0 down0 lo lo ")) return 6;
  if (!does("ip link add eth0 type veth peer name eth1 && ip addr add 10.1.2.1/24 dev eth0 && "
            "ip addr add fd77::1/64 dev eth0 nodad && ip link set eth0 up && ip link set eth1 up"))
    return 7;
  if (!comes("eth0 eth0 docker0 down0 lo lo ")) return 8;
  // Hosts of virtual machines have their only way out by a bridge.
  if (!does("ip route add default via 172.17.0.2")) return 9;
  return comes("docker0 eth0 eth0 down0 lo lo ") ? 0 : 10;
}

TEST(Interfaces, WhatProbablyLeadsToOthersIsFirst) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(300);
    ::_exit(look_at_interfaces());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
    GTEST_SKIP() << "no network namespace can be made here";
  EXPECT_EQ(status, 0);
}

// --- Search --------------------------------------------------------------------------------------------

// A port at an address of the loopback. One that is full answers as little as a firewall that drops packets.
class Listener {
 public:
  enum class Kind { takes, full, refuses };

  Listener(const std::string& ip, Kind kind) : ip_(ip_from(ip)), socket_(open()) {
    SocketAddress address = socket_address(ip_, 0);
    socklen_t size = address.size();
    EXPECT_EQ(::bind(socket_, &address.any, size), 0);
    if (kind != Kind::refuses) {
      EXPECT_EQ(::listen(socket_, kind == Kind::full ? 0 : 16), 0);
    }
    EXPECT_EQ(::getsockname(socket_, &address.any, &size), 0);
    port_ = address.port();
    if (kind != Kind::full) return;
    asker_ = open();
    address = socket_address(ip_, port_);
    EXPECT_EQ(::connect(asker_, &address.any, address.size()), 0);
  }
  ~Listener() {
    die();
    if (asker_ >= 0) ::close(asker_);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void die() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  [[nodiscard]] HostPort place() const { return {ip_, port_}; }

 private:
  [[nodiscard]] int open() const {
    return ::socket(is_v4(ip_) ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  }
  std::string ip_;
  int socket_;
  int asker_ = -1;
  uint16_t port_ = 0;
};

template <class Search>
RouteSearch::Answer answer_of(Search& search) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLong);
  RouteSearch::Answer answer = search.look();
  while (answer == RouteSearch::Answer::none && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    answer = search.look();
  }
  return answer;
}

TEST(RouteSearch, TakesTheFirstThatAnswers) {
  const Listener silent("127.0.0.2", Listener::Kind::full);
  const Listener refuses("127.0.0.3", Listener::Kind::refuses);
  const Listener takes("::1", Listener::Kind::takes);
  const Listener later("127.0.0.5", Listener::Kind::takes);
  RouteSearch search;
  search.begin({silent.place(), refuses.place(), takes.place(), later.place()}, kLong);
  EXPECT_TRUE(search.asking());
  ASSERT_EQ(answer_of(search), RouteSearch::Answer::lives);
  EXPECT_EQ(search.found(), 2U);
  EXPECT_EQ(search.place().ip, ip_from("::1"));
  search.begin({silent.place(), refuses.place(), takes.place(), later.place()}, kLong, 3);
  ASSERT_EQ(answer_of(search), RouteSearch::Answer::lives);
  EXPECT_EQ(search.found(), 3U) << "begun there";
}

TEST(RouteSearch, SaysWhatEachAddressSaid) {
  const Listener silent("127.0.0.2", Listener::Kind::full);
  const Listener refuses("127.0.0.3", Listener::Kind::refuses);
  const HostPort nowhere{ip_from("255.255.255.255"), 9};
  RouteSearch search;
  search.begin({silent.place(), refuses.place(), nowhere}, 1500);
  ASSERT_EQ(answer_of(search), RouteSearch::Answer::unreached);
  EXPECT_EQ(search.verdicts(),
            place_text(silent.place().ip, silent.place().port) + " has not answered for 1.5 s, " +
                place_text(refuses.place().ip, refuses.place().port) +
                " refuses connections, 255.255.255.255 port 9 is not reached: Network is unreachable");
  EXPECT_NE(never_connected(search, RouteSearch::Answer::unreached).find("OMPL_CONNECT_TIMEOUT"),
            std::string::npos);
}

TEST(RouteSearch, EndsAtOnceWhereAllRefuse) {
  const Listener one("127.0.0.2", Listener::Kind::refuses);
  const Listener two("127.0.0.3", Listener::Kind::refuses);
  RouteSearch search;
  search.begin({one.place(), two.place()}, kLong);
  EXPECT_EQ(answer_of(search), RouteSearch::Answer::dead);
  EXPECT_TRUE(search.refuses(0));
}

TEST(RouteSearch, GoesOnWhereAnAddressBelongsToSomebodyElse) {
  const Listener stranger("127.0.0.2", Listener::Kind::takes);
  const Listener takes("127.0.0.3", Listener::Kind::takes);
  RouteSearch search;
  search.begin({stranger.place(), takes.place()}, kLong);
  ASSERT_EQ(answer_of(search), RouteSearch::Answer::lives);
  ASSERT_TRUE(search.pass_over("answers for another job"));
  ASSERT_EQ(answer_of(search), RouteSearch::Answer::lives);
  EXPECT_EQ(search.found(), 1U);
  EXPECT_FALSE(search.pass_over("answers for another job"));
  EXPECT_NE(search.verdicts().find("port"), std::string::npos);
}

TEST(RouteSearch, OfNoAddressFindsNothing) {
  RouteSearch search;
  search.begin({}, kLong);
  EXPECT_FALSE(search.asking());
  EXPECT_EQ(search.look(), RouteSearch::Answer::none);
}

// --- Questions for life --------------------------------------------------------------------------------

TEST(PeerProbe, WhoAnsweredOnceAndRefusesIsDead) {
  Listener listener("127.0.0.3", Listener::Kind::takes);
  const HostAddresses there = host({"127.0.0.9", "127.0.0.3"});  // nobody listens at the first
  PeerProbe probe;
  probe.set_own_network(1);
  for (int i = 0; i < 2; ++i) {
    probe.begin(there, listener.place().port, kLong);
    ASSERT_EQ(answer_of(probe), PeerProbe::Answer::lives);
    EXPECT_TRUE(probe.known());
  }
  listener.die();
  probe.begin(there, listener.place().port, kLong);
  EXPECT_EQ(answer_of(probe), PeerProbe::Answer::dead);
}

TEST(PeerProbe, WhoNeverAnsweredIsNotDeadUnlessItIsNear) {
  const Listener refuses("127.0.0.3", Listener::Kind::refuses);
  for (const uint64_t network : {1U, 2U}) {
    PeerProbe probe;
    probe.set_own_network(network);
    probe.begin(host({"127.0.0.3"}, 2), refuses.place().port, kLong);
    EXPECT_EQ(answer_of(probe), network == 2 ? PeerProbe::Answer::dead : PeerProbe::Answer::refused);
    EXPECT_NE(probe.why(PeerProbe::Answer::dead).find("refuses connections"), std::string::npos);
  }
}

TEST(PeerProbe, WithoutAddressesThereIsNoAnswer) {
  PeerProbe probe;
  probe.begin({}, 1, kLong);
  EXPECT_FALSE(probe.asking());
  probe.begin(host({"127.0.0.1"}), 0, kLong);
  EXPECT_EQ(probe.look(), PeerProbe::Answer::none);
}

}  // namespace
}  // namespace ompl::conduit
