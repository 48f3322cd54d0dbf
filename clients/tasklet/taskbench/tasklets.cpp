// SPDX-License-Identifier: BSD-3-Clause
// Task Bench as tasks across nodes: a task for each point and step, which depends on its inputs by memory, and on those of other
// ranks by tags.
//
//   omplrun -n RANKS ./taskbench_tasklets [-threads N] TASK_BENCH_OPTIONS...
//
// Outputs have several versions, by step, so a task waits for the readers of an old version alone. An output that a point of
// another rank needs goes there once: the task puts it at its end, and a task there with `put_ready` stands for its arrival.
#include "graph.hpp"

#include "examples/run_bound.hpp"

#include <omnipgas/tasklet.hpp>

#include <atomic>

namespace taskbench {
namespace {

using namespace omnipgas::tasklet;
using omnipgas::check;

constexpr long kAhead = 64;  // steps that are made before the oldest of them is done

// A graph on this rank.
class Graph {
 public:
  explicit Graph(const TaskGraph& graph)
      : graph_(graph),
        dependences_(graph),
        parts_{graph.max_width, static_cast<long>(omnipgas::size())},
        rank_(omnipgas::rank()),
        mine_(parts_.of(rank_)),
        keeps_(versions(graph.output_bytes_per_task)),
        stride_(padded(graph.output_bytes_per_task)),
        scratch_(graph, mine_.count()),
        bytes_(static_cast<std::size_t>(graph.max_width), graph.output_bytes_per_task) {
    // The place of each point's output on this rank: where it is made, or arrives.
    check(ompl_alloc(static_cast<std::size_t>(graph.max_width * keeps_) * stride_, &outputs_));
    base_ = static_cast<char*>(ompl_ptr(rank_, outputs_));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // The tags that the ranks use with each other: one for each point of a rank and version.
  [[nodiscard]] static uint32_t tags(const TaskGraph& graph, long ranks) {
    return static_cast<uint32_t>(Parts{graph.max_width, ranks}.most()) *
           static_cast<uint32_t>(versions(graph.output_bytes_per_task));
  }

  // Makes all tasks, within a task. They are done once ompl_tasklet_wait() returns.
  void make() {
    done_ = 0;
    long made = 0;
    for (long step = 0; step < graph_.timesteps; ++step) {
      const Points now = window(graph_, step);
      if (step > 0) receive(step);
      for (long point = std::max(mine_.first, now.first); point < std::min(mine_.end, now.end);
           ++point) {
        make(step, point);
        ++made;
      }
      while (made - done_.load(std::memory_order_relaxed) > kAhead * static_cast<long>(mine_.count()))
        check(ompl_tasklet_yield());
    }
  }

 private:
  [[nodiscard]] uint64_t offset(long step, long point) const {
    return static_cast<uint64_t>(step % keeps_ * graph_.max_width + point) * stride_;
  }
  [[nodiscard]] char* output(long step, long point) const { return base_ + offset(step, point); }
  [[nodiscard]] uint32_t tag(long step, long point) const {
    const long first = parts_.of(parts_.owner(point)).first;
    return static_cast<uint32_t>((point - first) * keeps_ + step % keeps_);
  }

  // The ranks that need the output of an own point in the step after; each once.
  void find_takers(long step, long point) {
    takers_.clear();
    if (step + 1 >= graph_.timesteps) return;
    const Points next = window(graph_, step + 1);
    for (const long taker : dependences_.outputs(set_at(graph_, step + 1), point)) {
      if (!next.contains(taker) || mine_.contains(taker)) continue;
      const auto rank = static_cast<uint32_t>(parts_.owner(taker));
      if (std::find(takers_.begin(), takers_.end(), rank) == takers_.end()) takers_.push_back(rank);
    }
  }

  // Tasks for what arrives for a step.
  void receive(long step) {
    const Points now = window(graph_, step), before = window(graph_, step - 1);
    const std::size_t set = set_at(graph_, step);
    arrivals_.clear();
    for (long point = std::max(mine_.first, now.first); point < std::min(mine_.end, now.end); ++point)
      for (const long input : dependences_.inputs(set, point))
        if (before.contains(input) && !mine_.contains(input) &&
            std::find(arrivals_.begin(), arrivals_.end(), input) == arrivals_.end())
          arrivals_.push_back(input);
    for (const long input : arrivals_) {
      const auto from = static_cast<uint32_t>(parts_.owner(input));
      const ompl_tasklet_dependence needs[] = {out(output(step - 1, input)),
                                               put_ready(from, tag(step - 1, input))};
      check(create([] { return 0; }, needs));
    }
  }

  void make(long step, long point) {
    needs_.clear();
    const Points before = window(graph_, step - 1);
    for (const long input : dependences_.inputs(set_at(graph_, step), point))
      if (before.contains(input)) needs_.push_back(in(output(step - 1, input)));
    needs_.push_back(out(output(step, point)));
    find_takers(step, point);
    for (const uint32_t rank : takers_) needs_.push_back(put(rank, tag(step, point)));
    // Nobody but this task knows who needs its output: the list of ranks is one bit each.
    uint64_t ranks = 0;
    for (const uint32_t rank : takers_) ranks |= uint64_t{1} << rank;
    const auto work = [this, step, point, ranks] { return execute(step, point, ranks); };
    check(create(work, needs_));
  }

  int execute(long step, long point, uint64_t ranks) {
    thread_local std::vector<const char*> inputs;
    inputs.clear();
    const Points before = window(graph_, step - 1);
    for (const long input : dependences_.inputs(set_at(graph_, step), point))
      if (before.contains(input)) inputs.push_back(output(step - 1, input));
    graph_.execute_point(step, point, output(step, point), graph_.output_bytes_per_task, inputs.data(),
                         bytes_.data(), inputs.size(),
                         scratch_.of(static_cast<std::size_t>(point - mine_.first)), scratch_.bytes());
    for (uint32_t rank = 0; ranks != 0; ++rank, ranks >>= 1)
      if ((ranks & 1) != 0)
        check(ompl_tasklet_put(address(output(step, point)), rank, outputs_ + offset(step, point),
                               graph_.output_bytes_per_task));
    done_.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }

  const TaskGraph graph_;
  const Dependences dependences_;
  const Parts parts_;
  const uint32_t rank_;
  const Points mine_;
  const long keeps_;
  const std::size_t stride_;
  Scratch scratch_;
  const std::vector<std::size_t> bytes_;
  uint64_t outputs_ = 0;
  char* base_ = nullptr;
  std::atomic<long> done_{0};
  // The task that makes the others uses these.
  std::vector<ompl_tasklet_dependence> needs_;
  std::vector<uint32_t> takers_;
  std::vector<long> arrivals_;
};

struct Run {
  std::vector<std::unique_ptr<Graph>> graphs;
  double elapsed = 0;  // of the second time; the first one warms up
};

int first_task(void* argument) {
  Run& run = *static_cast<Run*>(argument);
  for (int iteration = 0; iteration < 2; ++iteration) {
    check(ompl_tasklet_wait_all());
    const double begin = seconds();
    for (const auto& graph : run.graphs) {
      graph->make();
      check(ompl_tasklet_wait());
    }
    check(ompl_tasklet_wait_all());
    run.elapsed = seconds() - begin;
  }
  return 0;
}

}  // namespace
}  // namespace taskbench

int main(int argc, char** argv) {
  omnipgas::Session session;
  const App app(argc, argv);
  if (omnipgas::size() > 64) {
    std::fprintf(stderr, "taskbench_tasklets: %u ranks; it is made for at most 64\n", omnipgas::size());
    return 1;
  }
  if (omnipgas::rank() == 0) app.display();
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = static_cast<int32_t>(std::max(1L, taskbench::option(argc, argv, "-threads", 1)));
  config.tags = 1;
  for (const TaskGraph& graph : app.graphs)
    config.tags = std::max(config.tags, taskbench::Graph::tags(graph, omnipgas::size()));
  omnipgas::check(ompl_tasklet_init(&config));
  taskbench::Run run;
  for (const TaskGraph& graph : app.graphs)
    run.graphs.push_back(std::make_unique<taskbench::Graph>(graph));
  omnipgas::check(cores::run_bound(taskbench::first_task, &run));
  if (omnipgas::rank() == 0) app.report_timing(run.elapsed);
  omnipgas::check(ompl_tasklet_finalize());
  session.finalize();
  return 0;
}
