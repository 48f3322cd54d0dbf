// SPDX-License-Identifier: BSD-3-Clause
// What every network conduit's endpoints must do, for two ranks in one process: written once, in
// endpoint_rules.cpp, and instantiated for each conduit beside what is its own.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "conformance/network_node.hpp"
#include "conformance/rounds.hpp"

namespace ompl::conduit::test {

inline constexpr uint64_t kFlag = 4096;
inline constexpr uint64_t kData = 1 << 20;

// A conduit under test, in one of its manners.
struct EndpointCase {
  std::string name;
  std::function<std::unique_ptr<Node>(uint32_t rank, uint32_t slots)> node;
  // Bytes from which on every put and get is pending first; 0: any may be done at once.
  std::size_t pending_from = 0;
  // Why an endpoint cannot be closed before its peer's, or why nobody is told of a death; "" if so.
  std::string no_early_close = {};
  std::string no_deaths = {};
};
inline void PrintTo(const EndpointCase& c, std::ostream* out) { *out << c.name; }

class EndpointRules : public testing::TestWithParam<EndpointCase> {
 protected:
  void SetUp() override { start(1, 1); }

  void start(uint32_t slots_a, uint32_t slots_b) {
    b.reset();
    a = GetParam().node(0, slots_a);
    b = GetParam().node(1, slots_b);
    if (a->opened == OMPL_ERR_UNSUPPORTED) GTEST_SKIP() << error_detail();
    ASSERT_EQ(a->opened, OMPL_OK) << error_detail();
    ASSERT_EQ(b->opened, OMPL_OK) << error_detail();
    introduce({a.get(), b.get()});
  }
  // So many bytes, or as many as one post takes.
  [[nodiscard]] std::size_t most(std::size_t length) const {
    return std::min(length, a->conduit->capabilities().max_message);
  }
  void step() {
    a->progress();
    b->progress();
  }
  Endpoint& from_a(uint32_t slot = 0) { return *a->endpoints[slot]; }
  Endpoint& from_b(uint32_t slot = 0) { return *b->endpoints[slot]; }

  // Puts, and waits until the source may be reused.
  void put(Endpoint& from, uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
    const Post post = insist([&] { return from.put(rank, source, offset, length); }, [&] { step(); });
    ASSERT_NE(post.state, Post::State::failed);
    finish(from, rank, post);
  }
  void finish(Endpoint& from, uint32_t rank, const Post& post) {
    if (post.state != Post::State::pending) return;
    ASSERT_GT(post.ticket, 0U);
    ASSERT_TRUE(until([&] { return from.completed(rank) >= post.ticket; }, [&] { step(); }));
  }
  void signal(Endpoint& from, uint32_t rank, const Signal& record) {
    const Post post = insist([&] { return from.signal(rank, record); }, [&] { step(); });
    ASSERT_EQ(post.state, Post::State::done);
  }
  // Descriptors of this process that are connected sockets.
  static std::set<int> sockets();
  // Slot 2 of three talks to slot 0 of two, which talks back to slot 0; then what the first has connected breaks: so many
  // sockets. That is a loss to the other side, whose own connection works.
  void lose_a_connection_that_only_a_sends_on(int* broken);
  // Whatever is no address of another rank is refused with a reason: nothing, parts, more, and `also`.
  void expect_addresses_refused(const std::vector<std::string>& also = {});
  static std::string changed_in_the_middle(std::string address);

  std::unique_ptr<Node> a, b;
};

}  // namespace ompl::conduit::test
