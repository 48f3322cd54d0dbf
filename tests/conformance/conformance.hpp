// SPDX-License-Identifier: BSD-3-Clause
//
// The conformance suite: one test per rule of docs/reference/protocol.md where possible, its number in the
// test's name (Signals_R5_...). Written once, in the *_rules.cpp beside this file; instantiated for a conduit
// by a file of a few lines (self_test.cpp shows the smallest) and one line in CMakeLists.txt.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "thread_world.hpp"
#include "util/log.hpp"
#include "util/status.hpp"
#include "world.hpp"

namespace ompl::conformance {

// A conduit under test, in one of its manners.
struct Case {
  std::string name;
  std::function<std::unique_ptr<Fabric>(uint32_t ranks)> fabric;
  uint32_t most_ranks = UINT32_MAX;           // that the conduit can join
  std::function<std::string()> why_not = {};  // this machine has no such conduit; "" if it has
  uint32_t least_ranks = 1;                   // that it joins: a test for fewer is skipped
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
inline std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

// The fabric of conduits that find each other by themselves: every rank has the same, in this order, and the settings
// that `tune` changes.
using Tune = std::function<void(uint32_t rank, Settings* settings)>;
template <class... Make>
std::unique_ptr<Fabric> fabric_of(Tune tune, Make... make) {
  class Plain final : public Fabric {
   public:
    Plain(Tune how, std::tuple<Make...> makers) : tune_(std::move(how)), makers_(makers) {}
    std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t /*rank*/) override {
      std::vector<std::unique_ptr<conduit::Conduit>> list;
      std::apply([&list](auto... each) { (list.push_back(each()), ...); }, makers_);
      return list;
    }
    void tune(uint32_t rank, Settings* settings) const override {
      if (tune_) tune_(rank, settings);
    }

   private:
    const Tune tune_;
    std::tuple<Make...> makers_;
  };
  return std::make_unique<Plain>(std::move(tune), std::tuple(make...));
}
template <class... Make>
std::function<std::unique_ptr<Fabric>(uint32_t)> every_rank(Make... make) {
  return [=](uint32_t /*ranks*/) { return fabric_of({}, make...); };
}

// Rules of plain data that one rank puts while another looks: ranks of a test are threads, and ThreadSanitizer takes that for a race.
#ifdef __SANITIZE_THREAD__
#define OMPL_NOT_UNDER_TSAN() \
  GTEST_SKIP() << "plain puts that are looked at are data races to ThreadSanitizer"
#else
#define OMPL_NOT_UNDER_TSAN() static_cast<void>(0)
#endif

class Conformance : public ::testing::TestWithParam<Case> {
 protected:
  // Errors that a test provokes are not worth a line each; the messages of failures quote the detail.
  void SetUp() override {
    log::set_level(log::Level::off);
    const std::string reason = GetParam().why_not ? GetParam().why_not() : "";
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  // A job of shape.ranks ranks, fewer where the conduit cannot have so many.
  std::unique_ptr<World> world(Shape shape = {}) {
    shape.ranks = std::min(shape.ranks, GetParam().most_ranks);
    if (shape.ranks < GetParam().least_ranks) skip("the job has more ranks");
    return std::make_unique<ThreadWorld>(GetParam().fabric(shape.ranks), shape);
  }

 private:
  [[noreturn]] static void skip(const char* why) {
    [&] { GTEST_SKIP() << why; }();
    throw testing::AssertionException({testing::TestPartResult::kSkip, nullptr, 0, why});
  }
};

}  // namespace ompl::conformance
