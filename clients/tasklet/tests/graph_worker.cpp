// SPDX-License-Identifier: BSD-3-Clause
// A random graph of tasks over the ranks of a job, the same for one seed, and its serial run: both must leave the same
// numbers. Every rank goes through the whole sequence and makes the tasks that are its own.
//   graph_worker tasks=N seed=S threads=T cells=C tags=G openmp=0|1
#include <array>
#include <chrono>
#include <vector>

#include "worker.hpp"

namespace {

using omnipgas::tasklet::in;
using omnipgas::tasklet::inout;
using omnipgas::tasklet::out;

uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x9E3779B97F4A7C15;
  return x ^ (x >> 29);
}

struct Random {
  uint64_t state;
  uint64_t next(uint64_t below) { return mix(++state * 0xD1342543DE82EF95) % below; }
};

// Task i of the sequence: at `rank`, cell `to` becomes a number made of the old one, cell `from` and, if `remote` is another rank,
// a cell there, which arrives by a get or a put.
struct Step {
  uint64_t number;
  uint32_t rank, remote, to, from, far, landing, tag;
  bool by_put;
  int32_t priority;
};

struct Graph {
  uint64_t tasks, seed;
  uint32_t ranks, cells, tags;

  template <class Use>
  void walk(Use use) const {
    Random random{mix(seed)};
    for (uint64_t i = 0; i < tasks; ++i) {
      Step step{};
      step.number = i;
      step.rank = static_cast<uint32_t>(random.next(ranks));
      step.remote = random.next(3) == 0 ? static_cast<uint32_t>(random.next(ranks)) : step.rank;
      step.to = static_cast<uint32_t>(random.next(cells));
      step.from = static_cast<uint32_t>(random.next(cells));
      step.far = static_cast<uint32_t>(random.next(cells));
      step.landing = cells + static_cast<uint32_t>(random.next(cells));
      step.tag = static_cast<uint32_t>(random.next(tags));
      step.by_put = random.next(2) == 0;
      step.priority = random.next(10) == 0 ? static_cast<int32_t>(random.next(15)) - 7 : 0;
      use(step);
    }
  }
};

uint64_t combine(uint64_t number, uint64_t own, uint64_t from, uint64_t landed) {
  return mix(own + 3 * mix(from + 5 * mix(landed + number)));
}

struct Job {
  Graph graph;
  uint32_t rank;
  uint64_t offset;  // of the cells in every segment
  uint64_t* cells;
  std::vector<char> tag_order;
  [[nodiscard]] uint64_t at(uint32_t cell) const { return offset + 8 * uint64_t{cell}; }
};
Job g_job;

void make_transfer(const Step& s) {
  Job& j = g_job;
  const uint64_t source = reinterpret_cast<uint64_t>(&j.cells[s.by_put ? s.far : s.landing]);
  const ompl_tasklet_dependence order = inout(&j.tag_order[s.tag]);
  if (j.rank == s.remote) {  // gives
    if (s.by_put) {
      const auto put = [source, rank = s.rank, to = j.at(s.landing)] {
        return ompl_tasklet_put(source, rank, to, 8);
      };
      require(task(put, {in(&j.cells[s.far]), order, omnipgas::tasklet::put(s.rank, s.tag)}), "put");
    } else {
      require(task([] { return 0; },
                   {in(&j.cells[s.far]), order, omnipgas::tasklet::get_ready(s.rank, s.tag)}),
              "get_ready");
    }
  } else if (s.by_put) {
    require(task([] { return 0; },
                 {out(&j.cells[s.landing]), order, omnipgas::tasklet::put_ready(s.remote, s.tag)}),
            "put_ready");
  } else {
    const auto get = [source, rank = s.remote, from = j.at(s.far)] {
      return ompl_tasklet_get(source, rank, from, 8);
    };
    require(task(get, {out(&j.cells[s.landing]), order, omnipgas::tasklet::get(s.remote, s.tag)}),
            "get");
  }
}

void make_tasks(const Step& s) {
  Job& j = g_job;
  const bool far = s.remote != s.rank;
  if (far && (j.rank == s.rank || j.rank == s.remote)) make_transfer(s);
  if (j.rank != s.rank) return;
  const auto compute = [s, cells = j.cells] {
    if (s.number % 16 == 0) ompl_tasklet_yield();
    cells[s.to] =
        combine(s.number, cells[s.to], cells[s.from], s.remote != s.rank ? cells[s.landing] : 0);
    return 0;
  };
  require(
      task(compute, {inout(&j.cells[s.to]), in(&j.cells[s.from]), in(&j.cells[s.landing])}, s.priority),
      "compute");
}

bool equals_serial_run() {
  const Graph& g = g_job.graph;
  std::vector<std::vector<uint64_t>> cells(g.ranks, std::vector<uint64_t>(2 * g.cells));
  g.walk([&](const Step& s) {
    std::vector<uint64_t>& own = cells[s.rank];
    if (s.remote != s.rank) own[s.landing] = cells[s.remote][s.far];
    own[s.to] = combine(s.number, own[s.to], own[s.from], s.remote != s.rank ? own[s.landing] : 0);
  });
  return std::equal(cells[g_job.rank].begin(), cells[g_job.rank].end(), g_job.cells);
}

int first_task(void*) {
  g_job.graph.walk(make_tasks);
  return ompl_tasklet_wait_all();
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  require(ompl_init(), "ompl_init");
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = static_cast<int32_t>(arguments.get("threads", 2));
  config.tags = static_cast<uint32_t>(arguments.get("tags", 64));
  config.checked = static_cast<int32_t>(arguments.get("checked", 0));
  require(ompl_tasklet_init(&config), "ompl_tasklet_init");
  Job& j = g_job;
  j.graph = {arguments.get("tasks", 10000), arguments.get("seed", 1),
             static_cast<uint32_t>(ompl_size()), static_cast<uint32_t>(arguments.get("cells", 50)),
             config.tags};
  j.rank = static_cast<uint32_t>(ompl_rank());
  j.tag_order.resize(config.tags);
  require(ompl_alloc(16 * uint64_t{j.graph.cells}, &j.offset), "ompl_alloc");
  j.cells = static_cast<uint64_t*>(ompl_ptr(j.rank, j.offset));
  const auto begin = std::chrono::steady_clock::now();
  require(run(arguments, first_task, nullptr), "the tasks");
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT(equals_serial_run());
  if (j.rank == 0)
    std::printf("%.3f s, %.0f ns a step\n", time.count(), time.count() * 1e9 / double(j.graph.tasks));
  require(ompl_tasklet_finalize(), "ompl_tasklet_finalize");
  require(ompl_finalize(), "ompl_finalize");
  return 0;
}
