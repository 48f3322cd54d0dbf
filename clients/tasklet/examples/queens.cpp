// SPDX-License-Identifier: BSD-3-Clause
// N queens: how many ways there are to place N queens on a board so that none attacks another. Rank 0 has all the work at first;
// a rank without work steals from another one by a remote call, whose function gives away the oldest of its boards. Tasks of a
// rank search its boards; a search ends when no rank has a board.
//
//   omplrun -n 2 ./tasklet_queens [N] [THREADS]
#include <omnipgas/tasklet.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>

namespace {

using omnipgas::check;

struct Board {  // bits of the columns and diagonals that are attacked in row `row`
  uint32_t row, columns, left, right;
};

constexpr uint32_t kSplitRows =
    4;  // boards of fewer rows are split into tasks, others searched at once
uint32_t g_rank, g_ranks, g_size = 10, g_steal;
// Offset of a word of rank 0: boards that are anywhere, not searched yet. It may be 0 for a moment too early: a rank that sees that
// stops stealing, and searches what it has.
uint64_t g_open;
uint64_t g_spoils;
std::mutex g_mutex;
std::deque<Board> g_boards;
std::atomic<uint64_t> g_solutions{0}, g_stolen{0};

uint32_t all() { return (1U << g_size) - 1; }
Board below(const Board& board, uint32_t column) {
  return {board.row + 1, board.columns | column, (board.left | column) << 1,
          (board.right | column) >> 1};
}
template <class Use>
void each_place(const Board& board, Use use) {
  for (uint32_t free = all() & ~(board.columns | board.left | board.right); free != 0; free &= free - 1)
    use(free & -free);
}

uint64_t search(const Board& board) {
  if (board.row == g_size) return 1;
  uint64_t found = 0;
  each_place(board, [&](uint32_t column) { found += search(below(board, column)); });
  return found;
}

void add(const Board& board) {
  const std::lock_guard lock(g_mutex);
  g_boards.push_back(board);
}
bool take(Board* board, bool oldest) {
  const std::lock_guard lock(g_mutex);
  if (g_boards.empty()) return false;
  *board = oldest ? g_boards.front() : g_boards.back();
  if (oldest) {
    g_boards.pop_front();
  } else {
    g_boards.pop_back();
  }
  return true;
}

// At the victim: 1 and the board in the caller's memory, or 0. It holds the mutex for no call of the layer.
uint64_t give(void*, const ompl_call_context* call) {
  Board board;
  uint64_t to = 0;
  std::memcpy(&to, call->arguments, sizeof to);
  if (!take(&board, true)) return 0;
  check(ompl_ctx_put(call->context, reinterpret_cast<uint64_t>(&board), call->source, to, sizeof board,
                     OMPL_FOREVER));
  return 1;
}

void work(const Board& board) {
  int64_t more = -1;  // boards that there are afterwards
  if (board.row < kSplitRows) {
    each_place(board, [&](uint32_t column) {
      add(below(board, column));
      ++more;
    });
  } else {
    g_solutions += search(board);
  }
  check(ompl_ctx_atomic64(OMPL_CTX_DEFAULT, 0, g_open, OMPL_ATOMIC_ADD, static_cast<uint64_t>(more), 0,
                          nullptr, OMPL_FOREVER));
}

// One of the searching tasks of a rank: its own boards, else one of another rank, until there is none anywhere.
int searcher(uint64_t own) {
  for (uint32_t victim = g_rank;;) {
    Board board;
    if (take(&board, false)) {
      work(board);
      check(ompl_tasklet_yield());  // lets others steal: progress is made here
      continue;
    }
    victim = (victim + 1) % g_ranks;
    uint64_t got = 0;
    if (victim != g_rank) {
      ompl_call_request request = OMPL_CALL_INIT;
      const uint64_t to = g_spoils + own * sizeof(Board);
      request.function = g_steal;
      request.arguments = &to;
      request.length = sizeof to;
      check(ompl_tasklet_call(victim, &request, &got));
    }
    if (got != 0) {
      std::memcpy(&board, ompl_ptr(g_rank, g_spoils + own * sizeof board), sizeof board);
      ++g_stolen;
      work(board);
      continue;
    }
    uint64_t open = 0;
    ompl_handle handle = OMPL_HANDLE_INIT;
    const int code =
        ompl_atomic64_nb(ompl_tasklet_context(), 0, g_open, OMPL_ATOMIC_FETCH, 0, 0, &open, &handle);
    if (check(code) == OMPL_PENDING) check(ompl_tasklet_wait_handle(&handle));
    if (code <= OMPL_PENDING && open == 0) return 0;
    ompl_tasklet_yield();
  }
}

int first_task(void*) {
  const int threads = ompl_tasklet_threads();
  for (int i = 0; i < threads; ++i) {
    const auto code = [i] { return searcher(static_cast<uint64_t>(i)); };
    check(omnipgas::tasklet::create(code));
  }
  return ompl_tasklet_wait_all();
}

uint64_t sum_over_ranks(uint64_t own) {
  ompl_team* world = nullptr;
  uint64_t sum = 0;
  check(ompl_team_world(&world));
  check(ompl_allreduce(world, &own, &sum, 1, OMPL_UINT64, OMPL_SUM, nullptr, nullptr));
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::array<uint64_t, 14> kKnown = {1,  1,  0,   0,   2,    10,    4,
                                               40, 92, 352, 724, 2680, 14200, 73712};
  omnipgas::Session session;
  if (argc > 1) g_size = static_cast<uint32_t>(std::atoi(argv[1]));
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = argc > 2 ? std::atoi(argv[2]) : 2;
  check(ompl_tasklet_init(&config));
  g_rank = omnipgas::rank();
  g_ranks = omnipgas::size();
  check(ompl_alloc(8, &g_open));
  check(ompl_alloc(sizeof(Board) * static_cast<std::size_t>(config.threads), &g_spoils));
  check(ompl_call_register("give", give, nullptr, &g_steal));
  if (g_rank == 0) {
    add({0, 0, 0, 0});
    omnipgas::check(ompl_set64(0, g_open, 1));
  }
  check(ompl_quiet());
  check(ompl_barrier());
  check(ompl_tasklet_run(first_task, nullptr));
  const uint64_t solutions = sum_over_ranks(g_solutions), stolen = sum_over_ranks(g_stolen);
  const bool wrong = g_size < kKnown.size() && solutions != kKnown[g_size];
  if (g_rank == 0)
    std::printf("%u queens, %u ranks: %llu solutions%s, %llu boards stolen\n", g_size, g_ranks,
                static_cast<unsigned long long>(solutions), wrong ? " are wrong" : "",
                static_cast<unsigned long long>(stolen));
  check(ompl_tasklet_finalize());
  return wrong ? 1 : 0;
}
