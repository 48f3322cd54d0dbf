// SPDX-License-Identifier: BSD-3-Clause
// A wire whose ranks are driven by hand, one progress() at a time, for the mock's own tests.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "conduit/mock/wire.hpp"

namespace ompl::conduit::mock {

inline constexpr std::size_t kCapacity = 1 << 16;
inline constexpr uint64_t kData = 1024;
inline constexpr uint64_t kFlag = 512;
inline constexpr int kMany = 1000;  // progress() calls after which everything possible has happened

struct Recorder final : Sink {
  void signal(uint32_t source, const Signal& record) override {
    sources.push_back(source);
    records.push_back(record);
    if (on_signal) on_signal();
  }
  std::vector<uint32_t> sources;
  std::vector<Signal> records;
  std::function<void()> on_signal;
};

// One rank with one endpoint per slot, all of its segment registered.
struct Node {
  Node(Wire& wire, uint32_t rank, uint32_t slots) : segment(kCapacity), conduit(make(wire)) {
    job.rank = rank;
    job.size = wire.size();
    job.segment = segment.data();
    job.capacity = segment.size();
    job.slots = slots;
    job.secret = "of the job";
    EXPECT_EQ(conduit->open(job), OMPL_OK);
    EXPECT_EQ(conduit->commit(0, kCapacity), OMPL_OK);
  }
  void start(const std::vector<std::unique_ptr<Node>>& nodes) {
    for (uint32_t peer = 0; peer < job.size; ++peer)
      EXPECT_TRUE(conduit->connect(peer, nodes[peer]->conduit->address()).usable);
    endpoints.resize(job.slots);
    for (uint32_t slot = 0; slot < job.slots; ++slot)
      EXPECT_EQ(conduit->endpoint(slot, &endpoints[slot]), OMPL_OK);
  }
  Endpoint& ep(uint32_t slot = 0) { return *endpoints[slot]; }
  int progress(int times = 1, uint32_t slot = 0) {
    int taken = 0;
    for (int i = 0; i < times; ++i) {
      const int got = ep(slot).progress(sink, 8);
      if (got < 0) return got;
      taken += got;
    }
    return taken;
  }

  std::vector<std::byte> segment;
  Job job;
  std::unique_ptr<Conduit> conduit;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  Recorder sink;
};

// A wire and its ranks.
struct Net {
  explicit Net(Hostility hostility, uint32_t ranks = 2, uint32_t slots = 1)
      : wire(ranks, std::move(hostility)) {
    for (uint32_t rank = 0; rank < ranks; ++rank)
      nodes.push_back(std::make_unique<Node>(wire, rank, slots));
    for (auto& node : nodes) node->start(nodes);
  }
  Node& operator[](uint32_t rank) { return *nodes[rank]; }
  void progress_all(int times = kMany) {
    for (int i = 0; i < times; ++i)
      for (auto& node : nodes)
        for (uint32_t slot = 0; slot < node->job.slots; ++slot) node->progress(1, slot);
  }
  // Posts again after a retry, everybody progressing meanwhile.
  template <class F>
  Post insist(F post) {
    for (int i = 0; i < kMany; ++i) {
      const Post answer = post();
      if (answer.state != Post::State::retry) return answer;
      progress_all(1);
    }
    ADD_FAILURE() << "still retry after " << kMany << " rounds, " << wire.hostility().describe();
    return {.state = Post::State::retry};
  }
  void open(uint32_t from, uint32_t to, uint32_t slot = 0) {  // connects without leaving traces
    insist([&] { return nodes[from]->ep(slot).signal(to, {.offset = kFlag}); });
    progress_all();
    for (auto& node : nodes) node->sink.records.clear();
  }

  Wire wire;
  std::vector<std::unique_ptr<Node>> nodes;
};

// Connected from the first rank to the second.
struct Connected final : Net {
  explicit Connected(Hostility hostility, uint32_t ranks = 2) : Net(std::move(hostility), ranks) {
    open(0, 1);
  }
};

inline Hostility prompt(
    Hostility but = {}) {  // no chance and no delay: each effect can be put on alone
  but.delivery_delay = but.completion_delay = but.connect_delay = but.spurious_retry = 0;
  but.scramble = false;
  return but;
}

inline std::vector<std::byte> bytes(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

inline bool readable(int fd) {
  pollfd ask{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&ask, 1, 0) == 1;
}

}  // namespace ompl::conduit::mock
