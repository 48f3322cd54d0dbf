// SPDX-License-Identifier: BSD-3-Clause
// One rank of a job that has nothing but one network conduit: its segment, its conduit, its endpoints, and a
// sink that applies what arrives. Several of them may live in one process.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conduit/conduit.hpp"
#include "core/data/update.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::test {

inline constexpr std::size_t kSegment = std::size_t{64} << 20;
inline constexpr auto kPatience =
    std::chrono::seconds(200);  // nothing here takes a second on an idle machine

struct Arrival {
  uint32_t source;
  Signal record;
};

// Applies updates to the flags of a segment and keeps the list.
class Applier final : public Sink {
 public:
  explicit Applier(std::byte* segment) : segment_(segment) {}

  void signal(uint32_t source, const Signal& record) override {
    if (is_update(record.op)) update(segment_ + record.offset, record);
    if (on_arrival) on_arrival({source, record});
    ++count;
    last = {source, record};
  }

  std::function<void(const Arrival&)> on_arrival;
  uint64_t count = 0;
  Arrival last{};

 private:
  std::byte* segment_;
};

class Node {
 public:
  Node(std::unique_ptr<Conduit> made, uint32_t rank, uint32_t size, uint32_t slots = 1,
       Settings settings = {}, const std::string& secret = "a secret of the job")
      : settings_(std::move(settings)),
        memory_(static_cast<std::byte*>(mmap(nullptr, kSegment, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        sink(memory_),
        conduit(std::move(made)) {
    job_ = {.rank = rank,
            .size = size,
            .host = {},
            .secret = secret,
            .settings = &settings_,
            .segment = memory_};
    job_.capacity = kSegment;
    job_.slots = slots;
    opened = conduit->open(job_);
  }
  ~Node() {
    endpoints.clear();
    conduit.reset();
    munmap(memory_, kSegment);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void open_endpoints() {
    endpoints.resize(job_.slots);
    for (uint32_t i = 0; i < job_.slots; ++i)
      ASSERT_EQ(conduit->endpoint(i, &endpoints[i]), OMPL_OK) << error_detail();
  }
  void progress() {
    for (auto& endpoint : endpoints) ASSERT_GE(endpoint->progress(sink, 32), 0) << error_detail();
  }

  template <class T = std::byte>
  T* at(uint64_t offset) {
    return reinterpret_cast<T*>(memory_ + offset);
  }
  uint32_t flag(uint64_t offset) { return *at<uint32_t>(offset); }

 private:
  Settings settings_;
  Job job_;
  std::byte* memory_;

 public:
  Applier sink;
  std::unique_ptr<Conduit> conduit;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  int opened = OMPL_ERR_STATE;
};

// Each learns the address of each, then opens its endpoints.
inline void introduce(const std::vector<Node*>& nodes) {
  for (uint32_t a = 0; a < nodes.size(); ++a) {
    for (uint32_t b = 0; b < nodes.size(); ++b) {
      if (a == b) continue;
      const Reach reach = nodes[a]->conduit->connect(b, nodes[b]->conduit->address());
      ASSERT_TRUE(reach.usable) << reach.why;
    }
  }
  for (Node* node : nodes) ASSERT_NO_FATAL_FAILURE(node->open_endpoints());
}

// Repeats `step` until `done`; false when that takes too long.
template <class Done, class Step>
bool until(Done&& done, Step&& step) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    step();
    std::this_thread::yield();
  }
  return true;
}

// Posts until the answer is not a retry.
template <class PostFunction, class Step>
Post insist(PostFunction&& post, Step&& step) {
  Post answer;
  const bool answered = until(
      [&] {
        answer = post();
        return answer.state != Post::State::retry;
      },
      step);
  EXPECT_TRUE(answered) << "still retry, reason " << static_cast<int>(answer.reason);
  return answer;
}

}  // namespace ompl::conduit::test
