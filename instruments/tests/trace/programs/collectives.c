/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives, blocking and nonblocking, with and without counts, on any number of ranks. */
#include "expect.h"

enum { kMost = 64 };
#define WORLD MPI_COMM_WORLD

static int out[kMost * kMost], in[kMost * kMost];
static int counts[kMost], displs[kMost], same[kMost];
static MPI_Datatype types[kMost];
static int next_request;

/* "[4, 8, ...]": the bytes of i + 1 ints for each rank i. */
static const char* bytes_list(void) {
  static char text[1024];
  int at = sprintf(text, "[");
  for (int i = 0; i < ranks_; ++i) at += sprintf(text + at, "%s%d", i > 0 ? ", " : "", 4 * (i + 1));
  sprintf(text + at, "]");
  return text;
}

static const char* repeated(int bytes) {
  static char text[1024];
  int at = sprintf(text, "[%d", bytes);
  for (int i = 1; i < ranks_; ++i) at += sprintf(text + at, ", %d", bytes);
  sprintf(text + at, "]");
  return text;
}

static int is(int root) { return rank_ == root; }

static void regular(int root) {
  MPI_Bcast(out, 5, MPI_INT, root, WORLD);
  expect("Bcast", "\"comm\": 1, \"peer\": %d, \"bytes\": 20, \"flags\": []", root);
  MPI_Reduce(out, in, 6, MPI_INT, MPI_SUM, root, WORLD);
  expect("Reduce", "\"peer\": %d, \"bytes\": 24", root);
  MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, root, WORLD);
  expect("Gather", "\"peer\": %d, \"bytes\": 8", root);
  MPI_Gather(is(root) ? MPI_IN_PLACE : (void*)out, 2, MPI_INT, in, 2, MPI_INT, root, WORLD);
  expect("Gather", "\"peer\": %d, \"bytes\": 8, \"flags\": [%s]", root, is(root) ? "\"in_place\"" : "");
  MPI_Scatter(out, 3, MPI_INT, in, 3, MPI_INT, root, WORLD);
  expect("Scatter", "\"peer\": %d, \"bytes\": 12", root);
  MPI_Allgather(out, 4, MPI_INT, in, 4, MPI_INT, WORLD);
  expect("Allgather", "\"peer\": -3, \"bytes\": 16");
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 4, MPI_INT, WORLD);
  expect("Allgather", "\"bytes\": 16, \"flags\": [\"in_place\"]");
  MPI_Alltoall(out, 5, MPI_INT, in, 5, MPI_INT, WORLD);
  expect("Alltoall", "\"bytes\": 20");
  MPI_Allreduce(out, in, 7, MPI_INT, MPI_MAX, WORLD);
  expect("Allreduce", "\"bytes\": 28, \"flags\": []");
  MPI_Allreduce(MPI_IN_PLACE, in, 7, MPI_INT, MPI_MAX, WORLD);
  expect("Allreduce", "\"bytes\": 28, \"flags\": [\"in_place\"]");
  MPI_Scan(out, in, 8, MPI_INT, MPI_SUM, WORLD);
  expect("Scan", "\"bytes\": 32");
  MPI_Exscan(out, in, 9, MPI_INT, MPI_SUM, WORLD);
  expect("Exscan", "\"bytes\": 36");
  MPI_Reduce_scatter_block(out, in, 10, MPI_INT, MPI_SUM, WORLD);
  expect("ReduceScatterBlock", "\"bytes\": 40");
  MPI_Barrier(WORLD);
  expect("Barrier", "\"comm\": 1, \"bytes\": 0");
}

/* Rank i sends or receives i + 1 ints, in each of the forms with counts. */
static void with_counts(int root) {
  const int own = counts[rank_];
  int total = 0;
  for (int i = 0; i < ranks_; ++i) total += 4 * counts[i];
  MPI_Gatherv(out, own, MPI_INT, in, counts, displs, MPI_INT, root, WORLD);
  expect("Gatherv", "\"peer\": %d, \"bytes\": %d, \"sent\": [], \"received\": %s", root, 4 * own,
         is(root) ? bytes_list() : "[]");
  MPI_Scatterv(out, counts, displs, MPI_INT, in, own, MPI_INT, root, WORLD);
  expect("Scatterv", "\"peer\": %d, \"bytes\": %d, \"sent\": %s, \"received\": []", root,
         is(root) ? total : 0, is(root) ? bytes_list() : "[]");
  MPI_Allgatherv(out, own, MPI_INT, in, counts, displs, MPI_INT, WORLD);
  expect("Allgatherv", "\"bytes\": %d, \"sent\": [], \"received\": %s", 4 * own, bytes_list());
  MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, WORLD);
  expect("ReduceScatter", "\"bytes\": %d, \"received\": %s", total, bytes_list());
  for (int i = 0; i < ranks_; ++i) same[i] = own; /* from each rank as much as this one sends to all */
  MPI_Alltoallv(out, counts, displs, MPI_INT, in, same, displs, MPI_INT, WORLD);
  expect("Alltoallv", "\"bytes\": %d, \"sent\": %s, \"received\": %s", total, bytes_list(),
         repeated(4 * own));
}

static void at_once(int root) {
  MPI_Request requests[4];
  const int first = next_request + 1;
  MPI_Ibarrier(WORLD, &requests[0]);
  expect("Ibarrier", "\"comm\": 1, \"posts\": %d", ++next_request);
  MPI_Ibcast(out, 5, MPI_INT, root, WORLD, &requests[1]);
  expect("Ibcast", "\"peer\": %d, \"bytes\": 20, \"posts\": %d", root, ++next_request);
  MPI_Iallreduce(out, in, 6, MPI_INT, MPI_SUM, WORLD, &requests[2]);
  expect("Iallreduce", "\"bytes\": 24, \"posts\": %d", ++next_request);
  MPI_Iallgatherv(out, counts[rank_], MPI_INT, in + 1000, counts, displs, MPI_INT, WORLD, &requests[3]);
  expect("Iallgatherv", "\"bytes\": %d, \"posts\": %d, \"received\": %s", 4 * counts[rank_],
         ++next_request, bytes_list());
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  expect("Wait", "\"completes\": [%d], \"peer\": -3", first + 1);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  expect("Waitall", "\"includes\": %d", first);
  MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, WORLD, &requests[0]);
  expect("Ialltoall", "\"bytes\": 4, \"posts\": %d", ++next_request);
  MPI_Igather(out, 1, MPI_INT, in + 1000, 1, MPI_INT, root, WORLD, &requests[1]);
  expect("Igather", "\"peer\": %d, \"bytes\": 4, \"posts\": %d", root, ++next_request);
  MPI_Iscatter(out, 1, MPI_INT, in + 2000, 1, MPI_INT, root, WORLD, &requests[2]);
  expect("Iscatter", "\"peer\": %d, \"bytes\": 4, \"posts\": %d", root, ++next_request);
  MPI_Ireduce(out, in + 3000, 1, MPI_INT, MPI_SUM, root, WORLD, &requests[3]);
  expect("Ireduce", "\"peer\": %d, \"bytes\": 4, \"posts\": %d", root, ++next_request);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  expect("Waitall", "\"bytes\": 4, \"completes\": [%d, %d, %d, %d]", first + 4, first + 5, first + 6,
         first + 7);
}

static void many_types(void) {
  for (int i = 0; i < ranks_; ++i) {
    types[i] = i % 2 ? MPI_DOUBLE : MPI_CHAR;
    displs[i] = 8 * 100 * i;
  }
  for (int i = 0; i < ranks_; ++i) counts[i] = 4;
  MPI_Datatype mine[kMost];
  for (int i = 0; i < ranks_; ++i) mine[i] = types[rank_];
  MPI_Alltoallw(out, counts, displs, types, in, counts, displs, mine, WORLD);
  expect("Alltoallw", "\"bytes\": %d", 4 * (ranks_ / 2) * 8 + 4 * (ranks_ - ranks_ / 2));
}

/* A neighbour to each side in a ring. */
static void neighbours(void) {
  int size = ranks_, periodic = 1;
  const int pair[2] = {1, 2}, at[2] = {0, 8};
  MPI_Comm ring;
  MPI_Cart_create(WORLD, 1, &size, &periodic, 0, &ring);
  expect("CartCreate", "\"comm\": 1, \"request\": 3");
  MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, ring);
  expect("NeighborAllgather", "\"comm\": 3, \"bytes\": 12");
  MPI_Neighbor_alltoall(out, 4, MPI_INT, in, 4, MPI_INT, ring);
  expect("NeighborAlltoall", "\"comm\": 3, \"bytes\": 16");
  MPI_Neighbor_alltoallv(out, pair, at, MPI_INT, in, (const int[]){2, 1}, at, MPI_INT, ring);
  expect("NeighborAlltoallv", "\"comm\": 3, \"bytes\": 12, \"sent\": [4, 8], \"received\": [8, 4]");
  MPI_Comm_free(&ring);
  expect("CommFree", "\"comm\": 3");
}

int main(void) {
  expect_init(MPI_THREAD_SINGLE);
  for (int i = 0; i < kMost; ++i) counts[i] = i + 1, displs[i] = kMost * i;
  for (int root = 0; root < ranks_; root += ranks_ - 1) {
    regular(root);
    with_counts(root);
    at_once(root);
  }
  many_types();
  neighbours();
  expect_finalize();
  return 0;
}
