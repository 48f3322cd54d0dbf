// SPDX-License-Identifier: BSD-3-Clause
// What our programs for Task Bench share: points in parts, and the dependences of a graph as lists. Task Bench is that of
// Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime Performance" (SC 2020); its core.h
// comes from its own sources.
#pragma once

#include <core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace taskbench {

// Points `first` to `end` - 1.
struct Points {
  long first = 0, end = 0;
  [[nodiscard]] bool contains(long point) const { return first <= point && point < end; }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(end - first); }
};

// Those of a step; none before step 0.
inline Points window(const TaskGraph& graph, long step) {
  const long first = graph.offset_at_timestep(step);
  return {first, first + graph.width_at_timestep(step)};
}

// The points of a graph, divided among `workers` as Task Bench's own programs do.
struct Parts {
  long width, workers;
  [[nodiscard]] Points of(long worker) const {
    return {worker * width / workers, (worker + 1) * width / workers};
  }
  [[nodiscard]] long owner(long point) const {
    long worker = point * workers / width;  // nearly
    while (point < of(worker).first) --worker;
    while (point >= of(worker).end) ++worker;
    return worker;
  }
  [[nodiscard]] std::size_t most() const {
    return static_cast<std::size_t>((width + workers - 1) / workers);
  }
};

// Which points a point takes its inputs from, and who takes its output, by dependence set.
class Dependences {
 public:
  explicit Dependences(const TaskGraph& graph) {
    sets_.resize(static_cast<std::size_t>(std::max(1L, graph.max_dependence_sets())));
    for (std::size_t set = 0; set < sets_.size(); ++set)
      for (long point = 0; point < graph.max_width; ++point) {
        const auto number = static_cast<long>(set);
        sets_[set].inputs.push_back(listed(graph.dependencies(number, point)));
        sets_[set].outputs.push_back(listed(graph.reverse_dependencies(number, point)));
      }
  }
  [[nodiscard]] std::size_t sets() const { return sets_.size(); }
  [[nodiscard]] const std::vector<long>& inputs(std::size_t set, long point) const {
    return sets_[set].inputs[static_cast<std::size_t>(point)];
  }
  [[nodiscard]] const std::vector<long>& outputs(std::size_t set, long point) const {
    return sets_[set].outputs[static_cast<std::size_t>(point)];
  }

 private:
  struct Set {
    std::vector<std::vector<long>> inputs, outputs;  // by point
  };
  static std::vector<long> listed(const std::vector<std::pair<long, long>>& intervals) {
    std::vector<long> points;
    for (const auto& [first, last] : intervals)
      for (long point = first; point <= last; ++point) points.push_back(point);
    return points;
  }
  std::vector<Set> sets_;
};

// What the points of a step depend on.
inline std::size_t set_at(const TaskGraph& graph, long step) {
  return static_cast<std::size_t>(graph.dependence_set_at_timestep(step));
}

// What each point of a part works on beside its inputs, by its place in the part.
class Scratch {
 public:
  Scratch(const TaskGraph& graph, std::size_t points)
      : bytes_(graph.scratch_bytes_per_task), memory_(bytes_ * points) {
    if (!memory_.empty()) TaskGraph::prepare_scratch(memory_.data(), memory_.size());
  }
  [[nodiscard]] char* of(std::size_t point) {
    return memory_.empty() ? nullptr : &memory_[bytes_ * point];
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::vector<char> memory_;
};

// How many versions of an output are kept, an even number, so that nobody waits for readers of the last step; few of large ones,
// which would not stay in the cache.
inline long versions(std::size_t bytes) { return bytes <= 4096 ? 16 : 4; }

// Bytes of an output in memory that several threads write: whole cache lines.
inline std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

inline uint64_t address(const void* memory) { return reinterpret_cast<uint64_t>(memory); }

// The number after an option of ours among Task Bench's, which leaves those alone.
inline long option(int argc, char** argv, const char* name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::atol(argv[i + 1]);
  return otherwise;
}

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace taskbench
