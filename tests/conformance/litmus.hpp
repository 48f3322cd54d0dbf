// SPDX-License-Identifier: BSD-3-Clause
// Litmus tests of the memory model (docs/explanation/memory-model.md): a few steps of two to four programs, and an outcome that
// must never be seen. A program is one text: steps separated by "; ", each the name of an operation and of a variable.
#pragma once

#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ompl::conformance {

// x and y hold data, f and g are flags; all begin at 0.
inline constexpr std::string_view kVariables = "xyfg";

enum class Action : uint8_t {
  put,
  get,
  store,
  load,
  signal,
  put_signal,
  wait,
  poll,
  add,
  fetch,
  fence
};
inline constexpr std::string_view kActions[] = {
    "put", "get", "store", "load", "signal", "put_signal", "wait", "poll", "add", "fetch", "fence"};

struct Step {
  Action action;
  std::size_t variable = 0;
  uint64_t value = 1;   // what is written
  bool fenced = false;  // the next step is a fence
  [[nodiscard]] bool reads() const {
    return action == Action::get || action == Action::load || action == Action::poll ||
           action == Action::fetch;
  }
};

struct Litmus {
  const char* name;
  std::vector<const char*> programs;
  // The outcome: what the programs read, in order, and after a slash x and y at the end; a point stands for any value.
  const char* never;
  // Where the variables lie: "x1y0". Empty: x and y in turn everywhere.
  const char* homes = "";
};

// What the table's fences stand for, in turn.
enum class Fence : uint8_t {
  none,  // for programs without
  quiet,
  flush,
  handle_test,  // the operation before the fence is nonblocking, and its handle is completed so
  handle_wait,
  handle_any,
  handle_some,
  handle_all,
  handle_all_inline,
  callback,
  fetch,  // from the rank of the operation before the fence
  fetch_atomic,
  fetch_add,
  fetch_add_inline,
  failed_compare_swap,
  fetch_nb,
  count
};

inline constexpr std::string_view kFences[] = {
    "none",       "quiet",        "flush",      "handle_test",       "handle_wait",
    "handle_any", "handle_some",  "handle_all", "handle_all_inline", "callback",
    "fetch",      "fetch_atomic", "fetch_add",  "fetch_add_inline",  "failed_compare_swap",
    "fetch_nb"};
static_assert(std::size(kFences) == static_cast<std::size_t>(Fence::count));

inline std::vector<Step> read_program(const char* text) {
  std::vector<Step> steps;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    Step step{};
    while (word.substr(0, word.find(';')) != kActions[static_cast<std::size_t>(step.action)])
      step.action = static_cast<Action>(static_cast<int>(step.action) + 1);
    if (step.action == Action::fence) {
      steps.back().fenced = true;
    } else {
      words >> word;
      step.variable = kVariables.find(word[0]);
      if (word.back() != ';' && words >> std::ws && std::isdigit(words.peek()) != 0) {
        words >> step.value >> word;
      }
    }
    steps.push_back(step);
  }
  return steps;
}

// The shapes are named as in Alglave, Maranget and Tautschnig, "Herding cats", TOPLAS 2014.
inline const std::vector<Litmus>& litmus_table() {
  static const std::vector<Litmus> table{
      {"SB", {"put x; fence; get y", "put y; fence; get x"}, "00"},
      {"MP", {"put x; fence; put y", "get y; fence; get x"}, "10"},
      {"LB", {"get x; fence; put y", "get y; fence; put x"}, "11"},
      {"S", {"put x 2; fence; put y", "get y; fence; put x 1"}, "1/2."},
      {"R", {"put x; fence; put y 1", "put y 2; fence; get x"}, "0/.2"},
      {"2+2W", {"put x 1; fence; put y 2", "put y 1; fence; put x 2"}, "/11"},
      {"WRC", {"put x", "get x; fence; put y", "get y; fence; get x"}, "110"},
      {"IRIW", {"put x", "put y", "get x; fence; get y", "get y; fence; get x"}, "1010"},
      // Stores and loads of the program's own, as C++20 atomics through ompl_ptr().
      {"SB+stores", {"store x; fence; get y", "store y; fence; get x"}, "00", "x0y1"},
      {"SB+loads", {"put x; fence; load y", "put y; fence; load x"}, "00", "x1y0"},
      // A fetch is a fence itself, for puts to its rank and for own stores.
      {"SB+fetches", {"put x; fetch y", "put y; fetch x"}, "00", "x0y0"},
      {"SB+fetches", {"put x; fetch y", "put y; fetch x"}, "00", "x1y1"},
      {"SB+stores+fetches", {"store x; fetch y", "store y; fetch x"}, "00", "x0y1"},
      {"MP+atomics", {"put x; add y", "fetch y; get x"}, "10", "x1y1"},
      // Signals, which only quiet completes.
      {"SB+signals", {"signal f; fence; poll g", "signal g; fence; poll f"}, "00", "f1g0"},
      {"MP+signal", {"put x; signal f", "wait f; load x"}, "0", "x1f1"},
      {"MP+put_signal", {"put_signal x", "wait f; load x"}, "0", "x1f1"},
      {"MP+poll", {"put x; signal f", "poll f; load x"}, "10", "x1f1"},
      {"MP+store+signal", {"store x; signal f", "wait f; get x"}, "0", "x0f1"},
      {"LB+signal", {"get x; signal f", "wait f; put x"}, "1", "x1f1"},
  };
  return table;
}

}  // namespace ompl::conformance
