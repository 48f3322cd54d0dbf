// SPDX-License-Identifier: BSD-3-Clause
// A World whose ranks are threads of this process, each with its own Runtime over the conduits of a Fabric. Where the
// fabric joins processes one of the ranks is here, and the same test runs in every process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "conduit/conduit.hpp"
#include "core/job/runtime.hpp"
#include "world.hpp"

namespace ompl::conformance {

// What joins the ranks of one world: how the conduit under test is made.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // The conduits of one rank, in order of preference. Called once per rank.
  virtual std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t rank) = 0;
  // Where a process is one rank: how it joins the others.
  virtual std::unique_ptr<bootstrap::Bootstrap> join() { return nullptr; }
  // Settings of one rank that suit the conduit under test.
  virtual void tune(uint32_t /*rank*/, Settings* /*settings*/) const {}
  // Printed when a world hangs: what one needs to see it again.
  [[nodiscard]] virtual std::string describe() const { return {}; }
};

class ThreadWorld final : public World {
 public:
  ThreadWorld(std::unique_ptr<Fabric> fabric, const Shape& shape);
  ~ThreadWorld() override;
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;

  void run(const Body& body, unsigned threads = 1) override;

  Runtime& runtime(uint32_t rank) { return *runtimes_[rank]; }

 private:
  using Work = std::function<void(uint32_t rank, unsigned thread)>;

  void in_every_thread(unsigned threads, const Work& work);
  void finish(Rank& rank, std::atomic<unsigned>& running);
  [[noreturn]] void give_up();

  std::unique_ptr<Fabric> fabric_;
  const Shape shape_;
  uint32_t first_rank_ = 0;  // of those in this process
  uint32_t end_rank_;
  uint64_t scratch_ = 0;  // a flag nobody signals: polling it drives progress
  std::vector<std::unique_ptr<Runtime>> runtimes_;
};

}  // namespace ompl::conformance
