// SPDX-License-Identifier: BSD-3-Clause
// ompl_calls.hpp on two ranks: arguments and results of several types, a lambda as an argument, functions that call back, errors.
#include <atomic>
#include <omnipgas/ompl_calls.hpp>
#include <stdexcept>

#include "ranks.hpp"

using namespace omnipgas;  // NOLINT(google-build-using-namespace)
using ranks::expect_error;
using ranks::partner;

namespace {

struct Point {
  double x, y;
};

TEST(CppCalls, ArgumentsAndResultsHaveTheirTypes) {
  const RemoteFunction<double(Point, float, char)> sum("sum", [](Point p, float f, char c) {
    return p.x + p.y + static_cast<double>(f) + static_cast<double>(c);
  });
  const RemoteFunction<uint32_t()> caller(
      "caller", [](const ompl_call_context& call) { return 10 + call.source; });
  EXPECT_EQ(sum.ask(partner(), {1.5, 2}, 0.25F, 'A'), 68.75);
  EXPECT_EQ(sum.ask(rank(), {1, 2}, 0, 1), 4);
  EXPECT_EQ(caller.ask(partner()), 10 + rank());
}

TEST(CppCalls, ALambdaWithItsCapturesIsAnArgument) {
  uint32_t mine = rank();
  auto work = [mine](uint32_t there) { return 100 * mine + there; };
  const RemoteFunction<uint32_t(decltype(work))> run("run", [](auto code) { return code(rank()); });
  EXPECT_EQ(run.ask(partner(), work), 100 * mine + partner());
}

TEST(CppCalls, AFunctionCallsBack) {
  std::atomic<uint32_t> heard{0};
  const RemoteFunction<void(uint32_t)> answer("answer", [&](uint32_t number) { heard += number; });
  const RemoteFunction<void(uint32_t)> ask("ask", [&](const ompl_call_context& call, uint32_t number) {
    answer.call(call.source, number + 1);
  });
  for (uint32_t i = 0; i < 300; ++i) ask.call(partner(), i);
  while (heard != 300 * 301 / 2) progress(std::chrono::milliseconds(1));
  barrier();
}

TEST(CppCalls, ErrorsAreExceptions) {
  const RemoteFunction<int32_t()> bad("bad", []() -> int32_t { throw std::runtime_error("bad"); });
  expect_error(OMPL_ERR_SYSTEM, "threw", [&] { bad.ask(partner()); });
  expect_error(OMPL_ERR_RANK, "rank 2", [&] { bad.call(2); });
  barrier();
}

}  // namespace

int main(int argc, char** argv) { return ranks::run(argc, argv); }
