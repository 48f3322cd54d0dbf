// SPDX-License-Identifier: BSD-3-Clause
// Heat in a rod, in blocks over the ranks: a task for each block and step, which waits for its two neighbours' edges alone. Blocks
// run ahead of each other as far as their edges allow; there is no barrier between steps.
//
//   omplrun -n 2 ./tasklet_heat [BLOCKS_PER_RANK] [CELLS_PER_BLOCK] [STEPS] [THREADS]
#include <omnipgas/tasklet.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

namespace {

using namespace omnipgas::tasklet;
using omnipgas::check;

uint32_t g_rank, g_ranks;
int g_blocks = 8, g_cells = 1000, g_steps = 100;
uint64_t g_halo;  // of every rank: the edges that come from its left and its right neighbour
double* g_edges;  // this rank's
std::vector<std::vector<double>> g_now, g_next;

double beginning(long cell) { return cell % 97 == 0 ? 100.0 : 0.0; }

void step(const std::vector<double>& now, std::vector<double>* next, double left, double right) {
  const std::size_t n = now.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double before = i == 0 ? left : now[i - 1], after = i + 1 == n ? right : now[i + 1];
    (*next)[i] = now[i] + 0.25 * (before - 2 * now[i] + after);
  }
}

void make(std::initializer_list<ompl_tasklet_dependence> dependences, TaskCode auto code,
          int priority = 0) {
  check(create(code, {dependences.begin(), dependences.size()}, priority));
}

// The edge of a block at the end of this rank's part goes to the neighbour, whose edge comes. `side`: 0 left, 1 right.
void exchange(int side) {
  if (side == 0 ? g_rank == 0 : g_rank + 1 == g_ranks) return;
  const uint32_t neighbour = side == 0 ? g_rank - 1 : g_rank + 1;
  const std::vector<double>& block = side == 0 ? g_now.front() : g_now.back();
  const double* const edge = side == 0 ? &block.front() : &block.back();
  const auto to = [=] {
    return ompl_tasklet_put(reinterpret_cast<uint64_t>(edge), neighbour,
                            g_halo + 8U * static_cast<uint64_t>(1 - side), 8);
  };
  const auto own = static_cast<uint32_t>(side), other = 1 - own;  // the tag of what goes to that side
  static char order[2];
  make({in(&block), inout(&order[side]), put(neighbour, own)}, to, 1);
  make(
      {out(&g_edges[side]), put_ready(neighbour, other)}, [] { return 0; }, 1);
}

int simulate(void*) {
  for (int s = 0; s < g_steps; ++s) {
    exchange(0);
    exchange(1);
    for (int b = 0; b < g_blocks; ++b) {
      const auto at = static_cast<std::size_t>(b);
      const std::vector<double>*const now = &g_now[at], *const left = b == 0 ? nullptr : now - 1,
                                      *const right = b + 1 == g_blocks ? nullptr : now + 1;
      std::vector<double>* const next = &g_next[at];
      const void* const left_memory = left != nullptr ? static_cast<const void*>(left) : &g_edges[0];
      const void* const right_memory = right != nullptr ? static_cast<const void*>(right) : &g_edges[1];
      const auto compute = [=] {
        step(*now, next, left != nullptr ? left->back() : g_edges[0],
             right != nullptr ? right->front() : g_edges[1]);
        return 0;
      };
      make({in(now), in(left_memory), in(right_memory), out(next)}, compute);
    }
    std::swap(g_now, g_next);  // the vectors that tasks point to stay where they are
  }
  return ompl_tasklet_wait_all();
}

// The same on the whole rod, at once; the largest difference to this rank's blocks.
double difference() {
  std::vector<double> now(static_cast<std::size_t>(g_ranks) *
                          static_cast<std::size_t>(g_blocks * g_cells)),
      next(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = beginning(static_cast<long>(i));
  for (int s = 0; s < g_steps; ++s) {
    step(now, &next, 0, 0);
    std::swap(now, next);
  }
  double worst = 0;
  std::size_t at = g_rank * static_cast<std::size_t>(g_blocks * g_cells);
  for (const std::vector<double>& block : g_now)
    for (const double cell : block) worst = std::max(worst, std::abs(cell - now[at++]));
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  omnipgas::Session session;
  if (argc > 1) g_blocks = std::atoi(argv[1]);
  if (argc > 2) g_cells = std::atoi(argv[2]);
  if (argc > 3) g_steps = std::atoi(argv[3]);
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = argc > 4 ? std::atoi(argv[4]) : 2;
  config.tags = 2;
  check(ompl_tasklet_init(&config));
  g_rank = omnipgas::rank();
  g_ranks = omnipgas::size();
  check(ompl_alloc(2 * sizeof(double), &g_halo));
  g_edges = static_cast<double*>(ompl_ptr(g_rank, g_halo));
  g_now.assign(static_cast<std::size_t>(g_blocks),
               std::vector<double>(static_cast<std::size_t>(g_cells)));
  g_next = g_now;
  long cell = static_cast<long>(g_rank) * g_blocks * g_cells;
  for (std::vector<double>& block : g_now)
    for (double& value : block) value = beginning(cell++);
  check(ompl_tasklet_run(simulate, nullptr));
  const double found = difference();
  if (!(found < 1e-12) || g_rank == 0)
    std::printf("rank %u: %d blocks of %d cells, %d steps: difference %.1e\n", g_rank, g_blocks,
                g_cells, g_steps, found);
  check(ompl_tasklet_finalize());
  return found < 1e-12 ? 0 : 1;
}
