// SPDX-License-Identifier: BSD-3-Clause
// Task Bench on MPI+OpenMP with MPI_THREAD_MULTIPLE: each thread sends, receives and executes what its own part of the points
// needs, and the threads of a rank meet at a barrier after each step. Task Bench's own MPI+OpenMP program communicates in one
// thread alone.
//
//   OMP_NUM_THREADS=THREADS mpiexec -n RANKS ./mpi-multiple TASK_BENCH_OPTIONS...
#include <mpi.h>
#include <omp.h>

#include "taskbench/graph.hpp"

#include <cstdio>

namespace {

using namespace taskbench;

constexpr long kMostPoints = 181;  // MPI promises tags up to 32767: two points make one

// A graph on this rank; its threads share the outputs.
struct Graph {
  Graph(const TaskGraph& task_graph, int rank, int ranks, int threads)
      : graph(task_graph),
        dependences(task_graph),
        of_ranks{task_graph.max_width, ranks},
        of_threads{task_graph.max_width, long{ranks} * threads},
        mine(of_ranks.of(rank)),
        scratch(task_graph, mine.count()),
        stride(padded(task_graph.output_bytes_per_task)),
        outputs(2 * mine.count() * stride) {}
  [[nodiscard]] char* output(long step, long point) {
    const auto place = static_cast<std::size_t>(step % 2) * mine.count() +
                       static_cast<std::size_t>(point - mine.first);
    return &outputs[place * stride];
  }

  TaskGraph graph;
  Dependences dependences;
  Parts of_ranks, of_threads;
  Points mine;
  Scratch scratch;
  std::size_t stride;
  std::vector<char> outputs;
};

// A thread's part of it.
class Worker {
 public:
  Worker(Graph* graph, long worker) : shared_(*graph), mine_(graph->of_threads.of(worker)) {
    const std::size_t most = mine_.count() * static_cast<std::size_t>(graph->graph.max_width);
    arrived_.resize(most * graph->stride);
    bytes_.assign(static_cast<std::size_t>(graph->graph.max_width), graph->graph.output_bytes_per_task);
    inputs_.resize(mine_.count());
  }

  void step(long step) {
    const Points before = window(shared_.graph, step - 1), now = window(shared_.graph, step);
    const std::size_t set = set_at(shared_.graph, step);
    requests_.clear();
    receive(step, set, before, now);
    send(step, set, before, now);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (long point = std::max(mine_.first, now.first); point < std::min(mine_.end, now.end); ++point) {
      std::vector<const char*>& inputs = inputs_[static_cast<std::size_t>(point - mine_.first)];
      shared_.graph.execute_point(
          step, point, shared_.output(step, point), shared_.graph.output_bytes_per_task, inputs.data(),
          bytes_.data(), inputs.size(),
          shared_.scratch.of(static_cast<std::size_t>(point - shared_.mine.first)),
          shared_.scratch.bytes());
    }
  }

 private:
  [[nodiscard]] int bytes() const { return static_cast<int>(shared_.graph.output_bytes_per_task); }
  [[nodiscard]] int rank_of(long point) const {
    return static_cast<int>(shared_.of_ranks.owner(point));
  }
  [[nodiscard]] int tag(long from, long to) const {
    return static_cast<int>(from * shared_.graph.max_width + to);
  }

  void receive(long step, std::size_t set, Points before, Points now) {
    std::size_t place = 0;
    for (long point = std::max(mine_.first, now.first); point < std::min(mine_.end, now.end); ++point) {
      std::vector<const char*>& inputs = inputs_[static_cast<std::size_t>(point - mine_.first)];
      inputs.clear();
      for (const long input : shared_.dependences.inputs(set, point)) {
        if (!before.contains(input)) continue;
        if (shared_.mine.contains(input)) {
          inputs.push_back(shared_.output(step - 1, input));
          continue;
        }
        char* const into = &arrived_[place++ * shared_.stride];
        inputs.push_back(into);
        requests_.emplace_back();
        MPI_Irecv(into, bytes(), MPI_BYTE, rank_of(input), tag(input, point), MPI_COMM_WORLD,
                  &requests_.back());
      }
    }
  }
  void send(long step, std::size_t set, Points before, Points now) {
    for (long point = std::max(mine_.first, before.first); point < std::min(mine_.end, before.end);
         ++point)
      for (const long taker : shared_.dependences.outputs(set, point)) {
        if (!now.contains(taker) || shared_.mine.contains(taker)) continue;
        requests_.emplace_back();
        MPI_Isend(shared_.output(step - 1, point), bytes(), MPI_BYTE, rank_of(taker), tag(point, taker),
                  MPI_COMM_WORLD, &requests_.back());
      }
  }

  Graph& shared_;
  Points mine_;
  std::vector<char> arrived_;
  std::vector<std::vector<const char*>> inputs_;  // by point
  std::vector<std::size_t> bytes_;
  std::vector<MPI_Request> requests_;
};

// All graphs once; its seconds.
double run(const std::vector<std::unique_ptr<Graph>>& graphs, int rank, int threads) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
#pragma omp parallel num_threads(threads)
  for (const auto& graph : graphs) {
    Worker worker(graph.get(), long{rank} * threads + omp_get_thread_num());
    for (long step = 0; step < graph->graph.timesteps; ++step) {
      worker.step(step);
#pragma omp barrier
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const App app(argc, argv);
  const char* refusal =
      provided < MPI_THREAD_MULTIPLE ? "this MPI has no MPI_THREAD_MULTIPLE" : nullptr;
  for (const TaskGraph& graph : app.graphs)
    if (graph.max_width > kMostPoints) refusal = "more than 181 points; give -width 181 or less";
  if (refusal != nullptr) {
    std::fprintf(stderr, "mpi-multiple: %s\n", refusal);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) app.display();
  const int threads = omp_get_max_threads();
  std::vector<std::unique_ptr<Graph>> graphs;
  for (const TaskGraph& graph : app.graphs)
    graphs.push_back(std::make_unique<Graph>(graph, rank, ranks, threads));
  run(graphs, rank, threads);  // to warm up
  const double elapsed = run(graphs, rank, threads);
  if (rank == 0) app.report_timing(elapsed);
  MPI_Finalize();
  return 0;
}
