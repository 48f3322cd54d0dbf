/* SPDX-License-Identifier: BSD-3-Clause
 * Windows of each kind and every access to them. On 2 ranks. */
#include "expect.h"

enum { kLength = 100 };
#define WORLD MPI_COMM_WORLD
#define AT(win) "\"comm\": " #win

static long memory[kLength], here[kLength], there[kLength];

static void fenced(MPI_Win win) {
  const int peer = 1 - rank_;
  MPI_Win_fence(0, win);
  expect("WinFence", AT(1));
  MPI_Put(here, 10, MPI_LONG, peer, 0, 10, MPI_LONG, win);
  expect("Put", AT(1) ", \"peer\": %d, \"bytes\": 80", peer);
  MPI_Win_fence(0, win);
  expect("WinFence", AT(1));
  MPI_Get(there, 9, MPI_LONG, peer, 0, 9, MPI_LONG, win);
  expect("Get", AT(1) ", \"peer\": %d, \"bytes\": 72", peer);
  MPI_Win_fence(0, win);
  expect("WinFence", AT(1));
  MPI_Accumulate(here, 8, MPI_LONG, peer, 0, 8, MPI_LONG, MPI_SUM, win);
  expect("Accumulate", AT(1) ", \"peer\": %d, \"bytes\": 64", peer);
  MPI_Win_fence(0, win);
  expect("WinFence", AT(1));
}

static void locked(MPI_Win win) {
  const int peer = 1 - rank_;
  MPI_Request request;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, win);
  expect("WinLock", AT(2) ", \"peer\": %d", peer);
  MPI_Fetch_and_op(here, there, MPI_LONG, peer, 0, MPI_SUM, win);
  expect("FetchAndOp", AT(2) ", \"peer\": %d, \"bytes\": 8", peer);
  MPI_Win_flush(peer, win);
  expect("WinFlush", AT(2) ", \"peer\": %d", peer);
  MPI_Compare_and_swap(here, here + 1, there, MPI_LONG, peer, 0, win);
  expect("CompareAndSwap", AT(2) ", \"peer\": %d, \"bytes\": 8", peer);
  MPI_Win_unlock(peer, win);
  expect("WinUnlock", AT(2) ", \"peer\": %d", peer);
  MPI_Win_lock_all(0, win);
  expect("WinLockAll", AT(2));
  MPI_Rput(here, 5, MPI_LONG, peer, 0, 5, MPI_LONG, win, &request);
  expect("Rput", AT(2) ", \"peer\": %d, \"bytes\": 40, \"posts\": 1", peer);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("Wait", "\"completes\": [1], \"peer\": -3");
  MPI_Get_accumulate(here, 4, MPI_LONG, there, 4, MPI_LONG, peer, 10, 4, MPI_LONG, MPI_SUM, win);
  expect("GetAccumulate", AT(2) ", \"peer\": %d, \"bytes\": 32", peer);
  MPI_Win_flush_all(win);
  expect("WinFlushAll", AT(2));
  MPI_Win_unlock_all(win);
  expect("WinUnlockAll", AT(2));
}

static void posted(MPI_Win win) {
  const int peer = 1 - rank_;
  MPI_Group world, other;
  MPI_Comm_group(WORLD, &world);
  MPI_Group_incl(world, 1, &peer, &other);
  MPI_Win_post(other, 0, win);
  expect("WinPost", AT(1) ", \"ids\": [%d]", peer);
  MPI_Win_start(other, 0, win);
  expect("WinStart", AT(1) ", \"ids\": [%d]", peer);
  MPI_Put(here, 1, MPI_LONG, peer, 0, 1, MPI_LONG, win);
  expect("Put", AT(1) ", \"peer\": %d, \"bytes\": 8", peer);
  MPI_Win_complete(win);
  expect("WinComplete", AT(1));
  MPI_Win_wait(win);
  expect("WinWait", AT(1));
  MPI_Group_free(&other);
  MPI_Group_free(&world);
}

int main(void) {
  MPI_Win made, allocated;
  long* base;
  expect_init(MPI_THREAD_SINGLE);
  MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, WORLD, &made);
  expect("WinCreate", "\"comm\": 1, \"request\": 1, \"bytes\": %d", (int)sizeof memory);
  fenced(made);
  posted(made);
  MPI_Win_allocate(800, sizeof(long), MPI_INFO_NULL, WORLD, &base, &allocated);
  expect("WinAllocate", "\"comm\": 1, \"request\": 2, \"bytes\": 800");
  locked(allocated);
  MPI_Win_free(&allocated);
  expect("WinFree", AT(2));
  MPI_Win_free(&made);
  expect("WinFree", AT(1));
  expect_finalize();
  return 0;
}
