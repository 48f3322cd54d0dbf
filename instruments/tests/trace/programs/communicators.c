/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators made in every way, each then used; trace_test.py checks their members. On 4 ranks. */
#include "expect.h"

#define WORLD MPI_COMM_WORLD

static int next_comm = 3; /* 1 and 2 are MPI_COMM_WORLD and MPI_COMM_SELF */
static int value;

/* A communicator that was just made by `call`, or MPI_COMM_NULL. */
static void made(const char* call, MPI_Comm comm) {
  const int id = comm == MPI_COMM_NULL ? 0 : next_comm++;
  expect(call, "\"comm\": 1, \"request\": %d", id);
  if (id == 0) return;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm);
  expect("Allreduce", "\"comm\": %d, \"bytes\": 4", id);
}

static void drop(MPI_Comm comm, int id) {
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_free(&comm);
  expect("CommFree", "\"comm\": %d", id);
}

static void groups(void) {
  MPI_Comm dup, half, shared, some, more, again;
  MPI_Group world, few;
  MPI_Request request;
  const int members[] = {2, 0};
  MPI_Comm_dup(WORLD, &dup);
  made("CommDup", dup);
  MPI_Comm_split(WORLD, rank_ % 2, -rank_, &half);
  made("CommSplit", half);
  drop(half, 4);
  MPI_Comm_split(WORLD, rank_ == 1 ? MPI_UNDEFINED : 0, 0, &half);
  made("CommSplit", half);
  MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
  made("CommSplitType", shared);
  MPI_Comm_group(WORLD, &world);
  MPI_Group_incl(world, 2, members, &few);
  MPI_Comm_create(WORLD, few, &some);
  made("CommCreate", some);
  if (rank_ == 0 || rank_ == 2) {
    MPI_Comm_create_group(WORLD, few, 77, &more);
    made("CommCreateGroup", more);
  }
  MPI_Comm_idup(WORLD, &again, &request);
  expect("CommIdup", "\"comm\": 1, \"posts\": 1, \"tag\": %d", next_comm++);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("Wait", "\"completes\": [1]");
  MPI_Barrier(again);
  expect("Barrier", "\"comm\": %d", next_comm - 1);
}

static void topologies(void) {
  const int sizes[] = {2, 2}, periods[] = {1, 0}, keep[] = {0, 1};
  const int index[] = {1, 2, 3, 4}, edges[] = {1, 0, 3, 2};
  const int left = (rank_ + ranks_ - 1) % ranks_, right = (rank_ + 1) % ranks_;
  const int degree = 1;
  MPI_Comm cart, row, graph, ring;
  MPI_Cart_create(WORLD, 2, sizes, periods, 0, &cart);
  made("CartCreate", cart);
  MPI_Cart_sub(cart, keep, &row);
  expect("CartSub", "\"comm\": %d, \"request\": %d", next_comm - 1, next_comm);
  ++next_comm;
  MPI_Graph_create(WORLD, 4, index, edges, 0, &graph);
  made("GraphCreate", graph);
  MPI_Dist_graph_create_adjacent(WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &ring);
  made("DistGraphCreateAdjacent", ring);
  MPI_Dist_graph_create(WORLD, 1, &rank_, &degree, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  made("DistGraphCreate", ring);
}

/* Even ranks beside odd ones. */
static void two_sides(void) {
  MPI_Comm side, both, merged;
  int got;
  MPI_Comm_split(WORLD, rank_ % 2, 0, &side);
  made("CommSplit", side);
  MPI_Intercomm_create(side, 0, WORLD, 1 - rank_ % 2, 55, &both);
  expect("IntercommCreate", "\"comm\": %d, \"request\": %d", next_comm - 1, next_comm);
  /* Intel MPI 2021.18 loses, at times, what comes over a communicator that the receiver does not have yet. */
  MPI_Barrier(WORLD);
  expect("Barrier", "\"comm\": 1");
  MPI_Sendrecv(&rank_, 1, MPI_INT, rank_ / 2, 3, &got, 1, MPI_INT, rank_ / 2, 3, both,
               MPI_STATUS_IGNORE);
  expect("Sendrecv", "\"comm\": %d, \"peer\": %d, \"matches\": [{\"peer\": %d}]", next_comm, rank_ / 2,
         rank_ / 2);
  MPI_Intercomm_merge(both, rank_ % 2, &merged);
  expect("IntercommMerge", "\"comm\": %d, \"request\": %d", next_comm, next_comm + 1);
  next_comm += 2;
}

int main(void) {
  expect_init(MPI_THREAD_SINGLE);
  groups();
  topologies();
  two_sides();
  expect_finalize();
  return 0;
}
