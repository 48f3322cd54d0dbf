// SPDX-License-Identifier: BSD-3-Clause
// Task Bench on the layer without tasks: workers with a part of the points each, which are ranks of one thread or the threads of
// ranks. An output goes by put_signal into the inbox of a worker of another rank, and is read in place by one of the same.
//
//   omplrun -n RANKS ./taskbench_bare [-threads N] TASK_BENCH_OPTIONS...
//
// Order. A worker signals another one once for each step in which that one needs outputs of its own, and is waited for as
// often. Outputs and inboxes have several versions, by step. A worker that has finished a step whose number is a multiple of
// half the versions tells those whose outputs it reads, and they wait for that before they write over what was read.
#include "graph.hpp"

#include "examples/cores.hpp"

#include <omnipgas/ompl.hpp>

#include <barrier>
#include <thread>

namespace taskbench {
namespace {

using omnipgas::check;

constexpr std::size_t kFlagBytes = 128;  // of a flag: lines that no other thread touches

// Outputs that go from one worker to another.
struct Channel {
  struct Item {
    long point, first, last;  // the output of `point` is for some of the points `first` to `last`
    [[nodiscard]] bool goes(Points before, Points now) const {
      return before.contains(point) && first < now.end && last >= now.first;
    }
  };
  long from = 0, to = 0;
  Points source;                         // of `from`
  std::vector<std::vector<Item>> items;  // by dependence set, in the order of the points
  uint64_t data = 0;                     // flag at `to`: outputs are there
  uint64_t credit = 0;                   // flag at `from`: older ones were read
  uint64_t inbox = 0;  // at `to`, if that is another rank: version by version as at `from`
  bool local = false;

  // Whether there is a signal for the step `now`, which takes inputs of the one `before`.
  [[nodiscard]] bool carries(std::size_t set, Points before, Points now) const {
    return std::any_of(items[set].begin(), items[set].end(),
                       [&](const Item& item) { return item.goes(before, now); });
  }
};

// A graph on all workers: who sends what to whom, and where it lies. The same on every rank.
class Layout {
 public:
  Layout(const TaskGraph& graph, long ranks, long threads)
      : graph_(graph),
        dependences_(graph),
        parts_{graph.max_width, ranks * threads},
        threads_(threads),
        stride_(padded(graph.output_bytes_per_task)) {
    for (long to = 0; to < parts_.workers; ++to) find_channels(to);
    place();
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  [[nodiscard]] const Dependences& dependences() const { return dependences_; }
  [[nodiscard]] const Parts& parts() const { return parts_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] uint32_t rank_of(long worker) const { return static_cast<uint32_t>(worker / threads_); }
  [[nodiscard]] const std::vector<Channel>& channels() const { return channels_; }
  [[nodiscard]] long keeps() const { return versions(stride_); }

 private:
  void find_channels(long to) {
    std::vector<Channel> from(static_cast<std::size_t>(parts_.workers));
    const Points mine = parts_.of(to);
    for (std::size_t set = 0; set < dependences_.sets(); ++set)
      for (long point = mine.first; point < mine.end; ++point)
        for (const long input : dependences_.inputs(set, point)) add(&from, set, input, point);
    for (std::size_t worker = 0; worker < from.size(); ++worker) {
      Channel& channel = from[worker];
      if (channel.items.empty() || static_cast<long>(worker) == to) continue;
      channel.from = static_cast<long>(worker);
      channel.to = to;
      channel.source = parts_.of(channel.from);
      channel.local = rank_of(channel.from) == rank_of(to);
      for (auto& items : channel.items)
        std::sort(items.begin(), items.end(),
                  [](const auto& a, const auto& b) { return a.point < b.point; });
      channels_.push_back(std::move(channel));
    }
  }
  void add(std::vector<Channel>* from, std::size_t set, long input, long point) const {
    auto& sets = (*from)[static_cast<std::size_t>(parts_.owner(input))].items;
    sets.resize(dependences_.sets());
    for (Channel::Item& item : sets[set])
      if (item.point == input) {
        item.last = std::max(item.last, point);
        return;
      }
    sets[set].push_back({input, point, point});
  }
  // Flags and inboxes, at the same place of every rank's segment.
  void place() {
    std::size_t bytes = 0;
    for (Channel& channel : channels_) {
      channel.data = bytes;
      channel.credit = bytes + kFlagBytes;
      bytes += 2 * kFlagBytes;
    }
    std::vector<std::size_t> filled(static_cast<std::size_t>(parts_.workers / threads_), bytes);
    for (Channel& channel : channels_) {
      if (channel.local) continue;
      std::size_t& at = filled[rank_of(channel.to)];
      channel.inbox = at;
      at += static_cast<std::size_t>(keeps()) * channel.source.count() * stride_;
    }
    uint64_t base = 0;
    check(ompl_alloc(std::max(bytes, *std::max_element(filled.begin(), filled.end())) + 1, &base));
    for (Channel& channel : channels_) {
      channel.data += base;
      channel.credit += base;
      channel.inbox += base;
    }
  }

  const TaskGraph graph_;
  const Dependences dependences_;
  const Parts parts_;
  const long threads_;
  const std::size_t stride_;
  std::vector<Channel> channels_;
};

// A thread's part of a graph.
class Worker {
 public:
  Worker(const Layout& layout, long number)
      : layout_(layout),
        graph_(layout.graph()),
        mine_(layout.parts().of(number)),
        scratch_(graph_, mine_.count()),
        keeps_(layout.keeps()),
        sources_(static_cast<std::size_t>(graph_.max_width)),
        inputs_(sources_.size()),
        bytes_(sources_.size(), graph_.output_bytes_per_task) {
    const std::size_t length = layout.stride() * mine_.count() * static_cast<std::size_t>(keeps_);
    outputs_.reset(static_cast<char*>(std::aligned_alloc(64, std::max<std::size_t>(64, length))));
    for (const Channel& channel : layout.channels()) {
      if (channel.to == number) in_.push_back(&channel);
      if (channel.from == number) out_.push_back(&channel);
    }
  }

  // Where each point's output is found here; once all workers of the rank are there.
  void connect(const std::vector<std::unique_ptr<Worker>>& workers, long first_of_rank) {
    add(mine_, outputs_.get());
    for (const Channel* const channel : in_) {
      const char* from =
          static_cast<const char*>(ompl_ptr(layout_.rank_of(channel->to), channel->inbox));
      if (channel->local)
        from = workers[static_cast<std::size_t>(channel->from - first_of_rank)]->outputs_.get();
      add(channel->source, from);
    }
  }

  void run() {
    const long half = keeps_ / 2;
    Points before;
    Points now = window(graph_, 0);
    std::size_t set = set_at(graph_, 0);
    for (long step = 0; step < graph_.timesteps; ++step) {
      const bool border = step % half == 0;
      if (border && step >= keeps_)
        for (const Channel* const channel : out_) check(ompl_wait(channel->credit));
      for (const Channel* const channel : in_)
        if (channel->carries(set, before, now)) check(ompl_wait(channel->data));
      for (long point = std::max(mine_.first, now.first); point < std::min(mine_.end, now.end); ++point)
        execute(step, point, set, before);
      const Points next = window(graph_, step + 1);
      const std::size_t next_set = set_at(graph_, step + 1);
      if (step + 1 < graph_.timesteps)
        for (const Channel* const channel : out_) send(*channel, step, next_set, now, next);
      if (border && step > 0)
        for (const Channel* const channel : in_)
          check(ompl_put_word(layout_.rank_of(channel->from), channel->credit));
      before = now;
      now = next;
      set = next_set;
    }
    if (graph_.timesteps > half)  // one credit more than was needed
      for (const Channel* const channel : out_) check(ompl_wait(channel->credit));
  }

 private:
  struct Source {
    const char* base = nullptr;
    std::size_t version = 0;  // bytes from one to the next
  };
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };

  void add(Points points, const char* base) {
    for (long point = points.first; point < points.end; ++point)
      sources_[static_cast<std::size_t>(point)] = {
          base + static_cast<std::size_t>(point - points.first) * layout_.stride(),
          points.count() * layout_.stride()};
  }
  [[nodiscard]] std::size_t version(long step) const { return static_cast<std::size_t>(step % keeps_); }
  [[nodiscard]] char* output(long step, long point) const {
    return outputs_.get() +
           (version(step) * mine_.count() + static_cast<std::size_t>(point - mine_.first)) *
               layout_.stride();
  }

  void execute(long step, long point, std::size_t set, Points before) {
    std::size_t count = 0;
    for (const long input : layout_.dependences().inputs(set, point)) {
      if (!before.contains(input)) continue;
      const Source& source = sources_[static_cast<std::size_t>(input)];
      inputs_[count++] = source.base + version(step - 1) * source.version;
    }
    graph_.execute_point(step, point, output(step, point), graph_.output_bytes_per_task, inputs_.data(),
                         bytes_.data(), count,
                         scratch_.of(static_cast<std::size_t>(point - mine_.first)), scratch_.bytes());
  }

  // The outputs of a step that the receiver needs for the next one: points beside each other in one put, the last ones with
  // the signal.
  void send(const Channel& channel, long step, std::size_t set, Points now, Points next) const {
    const uint32_t rank = layout_.rank_of(channel.to);
    Points run;
    bool any = false;
    for (const Channel::Item& item : channel.items[set]) {
      if (!item.goes(now, next)) continue;
      if (channel.local) {
        check(ompl_put_word(rank, channel.data));
        return;
      }
      if (any && item.point == run.end) {
        ++run.end;
        continue;
      }
      if (any)
        check(ompl_put(address(output(step, run.first)), rank, place(channel, step, run), length(run)));
      run = {item.point, item.point + 1};
      any = true;
    }
    if (any)
      check(ompl_put_signal(address(output(step, run.first)), rank, place(channel, step, run),
                            length(run), channel.data));
  }
  [[nodiscard]] std::size_t length(Points run) const {
    return (run.count() - 1) * layout_.stride() + graph_.output_bytes_per_task;
  }
  [[nodiscard]] uint64_t place(const Channel& channel, long step, Points run) const {
    return channel.inbox +
           (version(step) * mine_.count() + static_cast<std::size_t>(run.first - mine_.first)) *
               layout_.stride();
  }

  const Layout& layout_;
  const TaskGraph& graph_;
  const Points mine_;
  Scratch scratch_;
  const long keeps_;
  std::vector<const Channel*> in_, out_;
  std::unique_ptr<char, Free> outputs_;
  std::vector<Source> sources_;  // by point
  std::vector<const char*> inputs_;
  std::vector<std::size_t> bytes_;
};

// A graph on this rank.
struct Graph {
  Graph(const TaskGraph& graph, long ranks, long threads) : layout(graph, ranks, threads) {
    const long first = omnipgas::rank() * threads;
    for (long thread = 0; thread < threads; ++thread)
      workers.push_back(std::make_unique<Worker>(layout, first + thread));
    for (const auto& worker : workers) worker->connect(workers, first);
  }
  Layout layout;
  std::vector<std::unique_ptr<Worker>> workers;
};

// Runs all graphs twice, the first time to warm up. Returns the seconds of the second time.
double run(const std::vector<std::unique_ptr<Graph>>& graphs, long threads) {
  std::barrier together(threads);
  const cores::Cores all;
  double elapsed = 0;
  const auto work = [&](long thread) {
    all.bind(thread, threads);
    for (int iteration = 0; iteration < 2; ++iteration) {
      if (thread == 0) check(ompl_barrier());
      together.arrive_and_wait();
      const double begin = seconds();
      for (const auto& graph : graphs) graph->workers[static_cast<std::size_t>(thread)]->run();
      together.arrive_and_wait();
      if (thread != 0) continue;
      check(ompl_barrier());
      elapsed = seconds() - begin;
    }
  };
  std::vector<std::jthread> others;
  for (long thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
  return elapsed;
}

}  // namespace
}  // namespace taskbench

int main(int argc, char** argv) {
  omnipgas::Session session;
  const App app(argc, argv);
  const long threads = std::max(1L, taskbench::option(argc, argv, "-threads", 1));
  if (omnipgas::rank() == 0) app.display();
  std::vector<std::unique_ptr<taskbench::Graph>> graphs;
  for (const TaskGraph& graph : app.graphs)
    graphs.push_back(std::make_unique<taskbench::Graph>(graph, omnipgas::size(), threads));
  const double elapsed = taskbench::run(graphs, threads);
  if (omnipgas::rank() == 0) app.report_timing(elapsed);
  session.finalize();
  return 0;
}
