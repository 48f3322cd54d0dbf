// SPDX-License-Identifier: BSD-3-Clause
// Every collective by its MPI_ name, which the interposer serves, beside its PMPI_ name, which is MPI's own: the same results, to
// the byte, since all numbers are small integers. Then programs that stand still if messages and collectives do not drive each
// other. Prints "fine" on rank 0.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace {

int g_rank = 0;

[[noreturn]] void wrong(const std::string& what) {
  std::fprintf(stderr, "rank %d: %s\n", g_rank, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

struct Group {
  MPI_Comm comm;
  const char* name;
  int rank = 0, size = 0;
  Group(MPI_Comm c, const char* n) : comm(c), name(n) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
};

// A memory for each form: filled alike, it must be alike after both.
using Bytes = std::vector<int>;
Bytes filled(int rank, std::size_t count) {
  Bytes some(count);
  for (std::size_t i = 0; i < count; ++i)
    some[i] = static_cast<int>((static_cast<std::size_t>(rank) * 31 + i * 7) % 13);
  return some;
}

// A wait by each of MPI's functions in turn.
void wait(MPI_Request* request) {
  static int turn = 0;
  int flag = 0;
  int index = 0;
  switch (turn++ % 5) {
    case 0:
      MPI_Wait(request, MPI_STATUS_IGNORE);
      break;
    case 1:
      MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
      break;
    case 2:
      MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
      break;
    case 3:
      while (flag == 0) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
      break;
    default:
      for (int found = 0; found == 0;) MPI_Waitsome(1, request, &found, &index, MPI_STATUSES_IGNORE);
  }
  if (*request != MPI_REQUEST_NULL) wrong("a request that was waited for is left");
}

using Form = std::function<void(void* send, void* receive, MPI_Request* request)>;

// `given` blocking, nonblocking and by MPI itself; in place if `send` is to be what is received.
void same(const Group& g, const std::string& what, std::size_t sent, std::size_t received,
          const Form& served, const Form& own) {
  Bytes results[3];
  for (int form = 0; form < 3; ++form) {
    Bytes send = filled(g.rank, sent);
    Bytes receive = filled(g.rank + 5, received);
    MPI_Request request = MPI_REQUEST_NULL;
    if (form == 2) {
      own(send.data(), receive.data(), nullptr);
    } else {
      served(send.data(), receive.data(), form == 1 ? &request : nullptr);
      if (form == 1) wait(&request);
    }
    results[form] = receive;
    results[form].insert(results[form].end(), send.begin(), send.end());
  }
  for (int form = 0; form < 2; ++form) {
    if (results[form] == results[2]) continue;
    const auto differs = std::ranges::mismatch(results[form], results[2]);
    wrong(what + (form == 0 ? "" : ", nonblocking,") + " on " + g.name + " of " +
          std::to_string(received) + " integers: " + std::to_string(*differs.in1) + " at " +
          std::to_string(differs.in1 - results[form].begin()) + " where MPI has " +
          std::to_string(*differs.in2));
  }
}

// Both names of a collective with these arguments before the communicator.
#define SAME(Name, Iname, sent, received, ...)                         \
  same(                                                                \
      g, #Name, sent, received,                                        \
      [&](void* s, void* r, MPI_Request* request) {                    \
        static_cast<void>(s), static_cast<void>(r);                    \
        request != nullptr ? MPI_##Iname(__VA_ARGS__, g.comm, request) \
                           : MPI_##Name(__VA_ARGS__, g.comm);          \
      },                                                               \
      [&](void* s, void* r, MPI_Request*) {                            \
        static_cast<void>(s), static_cast<void>(r);                    \
        PMPI_##Name(__VA_ARGS__, g.comm);                              \
      })

void reductions(const Group& g, int count) {
  const auto n = static_cast<std::size_t>(count);
  const std::size_t all = n * static_cast<std::size_t>(g.size);
  const int root = count % g.size;
  SAME(Reduce, Ireduce, n, n, s, r, count, MPI_INT, MPI_SUM, root);
  SAME(Reduce, Ireduce, n, n, g.rank == root ? MPI_IN_PLACE : s, r, count, MPI_FLOAT, MPI_MIN, root);
  SAME(Allreduce, Iallreduce, n, n, s, r, count, MPI_INT, MPI_BXOR);
  SAME(Allreduce, Iallreduce, n, n, MPI_IN_PLACE, r, count, MPI_UNSIGNED, MPI_MAX);
  SAME(Allreduce, Iallreduce, n, n, s, r, count, MPI_CHAR, MPI_SUM);
  SAME(Scan, Iscan, n, n, s, r, count, MPI_INT, MPI_SUM);
  SAME(Exscan, Iexscan, n, n, s, r, count, MPI_INT, MPI_SUM);
  SAME(Reduce_scatter_block, Ireduce_scatter_block, all, n, s, r, count, MPI_INT, MPI_SUM);
  const std::vector<int> equal(static_cast<std::size_t>(g.size), count);
  SAME(Reduce_scatter, Ireduce_scatter, all, n, s, r, equal.data(), MPI_INT, MPI_SUM);
}

void movements(const Group& g, int count, MPI_Datatype type, std::size_t extent) {
  const std::size_t n = static_cast<std::size_t>(count) * extent;
  const std::size_t all = n * static_cast<std::size_t>(g.size);
  const int root = (count + 1) % g.size;
  const bool is_root = g.rank == root;
  SAME(Bcast, Ibcast, 0, n, r, count, type, root);
  SAME(Gather, Igather, n, all, s, count, type, r, count, type, root);
  SAME(Gather, Igather, n, all, is_root ? MPI_IN_PLACE : s, count, type, r, count, type, root);
  SAME(Scatter, Iscatter, all, n, s, count, type, r, count, type, root);
  SAME(Scatter, Iscatter, all, n, s, count, type, is_root ? MPI_IN_PLACE : r, count, type, root);
  SAME(Allgather, Iallgather, n, all, s, count, type, r, count, type);
  SAME(Allgather, Iallgather, n, all, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, count, type);
  SAME(Alltoall, Ialltoall, all, all, s, count, type, r, count, type);
  SAME(Alltoall, Ialltoall, all, all, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, count, type);
}

// Each member has a part of its own length, with a gap behind it.
void parts(const Group& g, int count, MPI_Datatype type, std::size_t extent) {
  std::vector<int> counts, places, mine(static_cast<std::size_t>(g.size), count + g.rank), at;
  int end = 0;
  for (int i = 0; i < g.size; ++i) {
    counts.push_back(count + i);
    places.push_back(end);
    end += count + i + 1;
    at.push_back(i * (count + g.rank + 1));
  }
  const int own = count + g.rank;
  const std::size_t n = static_cast<std::size_t>(own) * extent;
  const std::size_t all = static_cast<std::size_t>(end) * extent;
  const std::size_t most = static_cast<std::size_t>(g.size * (count + g.rank + 1)) * extent;
  const int root = g.size - 1;
  SAME(Gatherv, Igatherv, n, all, s, own, type, r, counts.data(), places.data(), type, root);
  SAME(Scatterv, Iscatterv, all, n, s, counts.data(), places.data(), type, r, own, type, root);
  SAME(Allgatherv, Iallgatherv, n, all, s, own, type, r, counts.data(), places.data(), type);
  SAME(Alltoallv, Ialltoallv, most, all, s, mine.data(), at.data(), type, r, counts.data(),
       places.data(), type);
}

void all_of(const Group& g) {
  MPI_Datatype column = MPI_DATATYPE_NULL;  // two of every three integers
  MPI_Type_vector(2, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Barrier(g.comm);
  for (const int count : {0, 1, 7, 1000, 40000}) {
    reductions(g, count);
    movements(g, count, MPI_INT, 1);
    parts(g, count, MPI_INT, 1);
  }
  for (const int count : {1, 50}) {
    movements(g, count, column, 3);
    movements(g, count, MPI_DOUBLE_INT, 4);
    parts(g, count, column, 3);
  }
  MPI_Type_free(&column);
}

// Associative: (1 + x) (1 + y) = 1 + what becomes of y.
void of_the_program(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  const auto* const x = static_cast<const uint32_t*>(in);
  auto* const y = static_cast<uint32_t*>(inout);
  for (int i = 0; i < *length; ++i) y[i] += x[i] + x[i] * y[i];
}

// What the layer has not is MPI's.
void passed_on(const Group& g) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(of_the_program, 0, &op);
  SAME(Reduce, Ireduce, 9, 9, s, r, 9, MPI_INT, op, 0);
  struct {
    double value;
    int place;
  } mine{1.0 + g.rank, g.rank}, best{};
  MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, g.comm);
  if (best.place != g.size - 1) wrong("MPI_MAXLOC");
  MPI_Op_free(&op);
}

// Rank 0 is in a collective while its message waits to be taken, and in a receive while its collective waits to go on.
void drive_each_other(const Group& g) {
  std::vector<char> large(std::size_t{4} << 20, 'x');
  std::vector<char> taken(large.size());
  const int length = static_cast<int>(large.size());
  int sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (g.rank == 0) MPI_Irecv(taken.data(), length, MPI_CHAR, 1, 1, g.comm, &request);
  if (g.rank == 1) MPI_Send(large.data(), length, MPI_CHAR, 0, 1, g.comm);
  MPI_Allreduce(&g.rank, &sum, 1, MPI_INT, MPI_SUM, g.comm);
  if (g.rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (g.rank == 0 && taken != large) wrong("a message that came during a collective");

  std::vector<int> some(100000, 1), sums(some.size());
  MPI_Iallreduce(some.data(), sums.data(), static_cast<int>(some.size()), MPI_INT, MPI_SUM, g.comm,
                 &request);
  if (g.rank == 0) MPI_Recv(taken.data(), 1, MPI_CHAR, 1, 2, g.comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (g.rank == 1) MPI_Send(large.data(), 1, MPI_CHAR, 0, 2, g.comm);
  if (sums.back() != g.size) wrong("a sum that others waited for");

  MPI_Op op = MPI_OP_NULL;  // a collective of MPI's behind one that it does not know
  MPI_Op_create(of_the_program, 0, &op);
  MPI_Iallreduce(some.data(), sums.data(), static_cast<int>(some.size()), MPI_INT, MPI_SUM, g.comm,
                 &request);
  if (g.rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  int result = 0;
  MPI_Reduce(&sum, &result, 1, MPI_INT, op, 0, g.comm);
  if (g.rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Op_free(&op);
}

// Many at once, beside messages, completed in any order; one whose communicator is freed first.
void many_at_once(const Group& g) {
  constexpr int kMany = 20;
  std::vector<MPI_Request> requests(kMany + 2);
  std::vector<int> results(kMany), token(2);
  for (int i = 0; i < kMany; ++i)
    MPI_Iallreduce(&g.rank, &results[static_cast<std::size_t>(i)], 1, MPI_INT,
                   i % 2 == 0 ? MPI_SUM : MPI_MAX, g.comm, &requests[static_cast<std::size_t>(i)]);
  MPI_Irecv(&token[1], 1, MPI_INT, (g.rank + g.size - 1) % g.size, 3, g.comm, &requests[kMany]);
  token[0] = g.rank;
  MPI_Isend(token.data(), 1, MPI_INT, (g.rank + 1) % g.size, 3, g.comm, &requests[kMany + 1]);
  for (int left = kMany + 2; left > 0; --left) {
    int index = 0;
    MPI_Waitany(kMany + 2, requests.data(), &index, MPI_STATUS_IGNORE);
    if (index == MPI_UNDEFINED) wrong("requests are missing");
  }
  for (int i = 0; i < kMany; ++i) {
    const int expected = i % 2 == 0 ? g.size * (g.size - 1) / 2 : g.size - 1;
    if (results[static_cast<std::size_t>(i)] != expected) wrong("one of many at once");
  }
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(g.comm, &copy);
  MPI_Request last = MPI_REQUEST_NULL;
  int maximum = -1;
  MPI_Iallreduce(&g.rank, &maximum, 1, MPI_INT, MPI_MAX, copy, &last);
  MPI_Comm_free(&copy);
  MPI_Wait(&last, MPI_STATUS_IGNORE);
  if (maximum != g.size - 1) wrong("the last of a communicator that was freed");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  const Group world(MPI_COMM_WORLD, "the world");
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm turned = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, 0, &half);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank, &turned);
  for (const Group& g : {world, Group(half, "a half"), Group(turned, "all, turned")}) all_of(g);
  passed_on(world);
  if (world.size > 1) drive_each_other(world);
  many_at_once(world);
  MPI_Comm_free(&half);
  MPI_Comm_free(&turned);
  if (g_rank == 0) std::printf("fine\n");
  MPI_Finalize();
  return 0;
}
