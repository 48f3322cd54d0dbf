// SPDX-License-Identifier: BSD-3-Clause
// Worlds in which the network fails: only the mock can break a link at a chosen operation.
#pragma once

#include <sched.h>

#include <atomic>
#include <memory>

#include "conduit/mock/tests/fabric.hpp"

namespace ompl::conformance {

// A world of which the test holds the wire; it ends without finalize.
class Doomed {
 public:
  explicit Doomed(const conduit::mock::Hostility& hostility, const Shape& shape = {})
      : fabric_(std::make_unique<MockFabric>(shape.ranks, hostility)),
        wire_(fabric_->wire()),
        world_(std::move(fabric_), doomed(shape)) {
    log::set_level(log::Level::off);
  }
  void run(const Body& body, unsigned threads = 1) { world_.run(body, threads); }
  conduit::mock::Wire& wire() { return wire_; }

  // Returns once nothing is under way between the ranks, `count` in number, of all calls: a failure then takes only what
  // the test sends, and who leaves the layer holds up nobody.
  void settle(Rank& r, uint64_t flag, uint32_t count) {
    ok(r.quiet());
    ++settled_;
    while (settled_ < count) {
      EXPECT_GE(r.poll(flag), 0);  // 1 if another rank has settled already and goes on
      ::sched_yield();
    }
  }
  void settle(Rank& r, uint64_t flag) { settle(r, flag, r.size); }
  // Drives progress until the others are done with what needs it.
  void serve(Rank& r, uint64_t flag) {
    while (!done) {
      EXPECT_GE(r.poll(flag), 0);
      ::sched_yield();
    }
    for (int i = 0; i < 1000; ++i) EXPECT_GE(r.poll(flag), 0);
  }
  // Returns once `rank` knows that a connection of its own has failed.
  void await_failure(uint32_t rank) {
    while (world_.runtime(rank).failures.count() == 0) ::sched_yield();
  }
  std::atomic<bool> done{false};

 private:
  static Shape doomed(Shape shape) {
    shape.ends_well = false;
    return shape;
  }
  std::unique_ptr<MockFabric> fabric_;  // until the world has it
  conduit::mock::Wire& wire_;
  ThreadWorld world_;
  std::atomic<uint32_t> settled_{0};
};

inline bool is_failure(int code) { return code == OMPL_ERR_PEER || code == OMPL_ERR_LINK; }

}  // namespace ompl::conformance
