// SPDX-License-Identifier: BSD-3-Clause
#include "teams.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "requests.hpp"
#include "statistics.hpp"

namespace ompl::mpi_collectives {
namespace {

struct State {
  ompl_team* world = nullptr;
  bool several_threads = false;  // MPI_THREAD_MULTIPLE
  std::mutex mutex;
  std::unordered_map<MPI_Comm, ompl_team*> others;
};

State& state() {
  static State one;
  return one;
}

// Whether it holds at every member.
bool everywhere(MPI_Comm comm, bool here) {
  int mine = here ? 1 : 0;
  int all = 0;
  return PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all != 0;
}

// The members' ranks in the world, or nothing if some process is outside of it.
std::vector<uint32_t> ranks_of(MPI_Comm comm) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  int size = 0;
  PMPI_Comm_size(comm, &size);
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Comm_group(comm, &some);
  std::vector<int> here(static_cast<std::size_t>(size));
  std::vector<int> there(here.size());
  for (int i = 0; i < size; ++i) here[static_cast<std::size_t>(i)] = i;
  PMPI_Group_translate_ranks(some, size, here.data(), all, there.data());
  PMPI_Group_free(&some);
  PMPI_Group_free(&all);
  std::vector<uint32_t> ranks;
  for (const int rank : there) {
    if (rank == MPI_UNDEFINED) return {};
    ranks.push_back(static_cast<uint32_t>(rank));
  }
  return ranks;
}

}  // namespace

void begin() {
  State& s = state();
  int level = 0;
  PMPI_Query_thread(&level);
  s.several_threads = level == MPI_THREAD_MULTIPLE;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ompl_team* world = nullptr;
  int code = ompl_init();
  // One that has begun leaves by itself if another could not.
  const bool begun = everywhere(MPI_COMM_WORLD, code == OMPL_OK && ompl_rank() == rank);
  if (begun) code = ompl_team_world(&world);
  if (begun && everywhere(MPI_COMM_WORLD, code == OMPL_OK)) {
    s.world = world;
    return;
  }
  if (code != OMPL_OK || rank == 0)
    std::fprintf(stderr, "libompl-coll: rank %d: collectives stay MPI's: %s\n", rank,
                 code != OMPL_OK ? ompl_error_detail() : "another rank could not begin");
}

void end() {
  State& s = state();
  finish_requests();
  if (s.world == nullptr) return;
  statistics().print();
  s.world = nullptr;
  s.others.clear();
  // Whoever leaves first must not take its memory from those that are still in a collective.
  PMPI_Barrier(MPI_COMM_WORLD);
  if (const int code = ompl_finalize(); code != OMPL_OK)
    std::fprintf(stderr, "libompl-coll: the end of the layer: %s\n", ompl_error_detail());
}

void add(MPI_Comm comm) {
  State& s = state();
  int between = 0;
  // Threads may make communicators at once, in another order at another rank, but not teams.
  if (comm == MPI_COMM_NULL || s.world == nullptr || s.several_threads) return;
  if (PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between != 0) return;
  const std::vector<uint32_t> ranks = ranks_of(comm);
  if (ranks.empty()) return;
  ompl_team* team = nullptr;
  const int code = ompl_team_create(ranks.data(), ranks.size(), nullptr, &team);
  if (!everywhere(comm, code == OMPL_OK)) return;  // what one may have is lost; it is rare
  const std::lock_guard lock(s.mutex);
  s.others[comm] = team;
}

void remove(MPI_Comm comm) {
  State& s = state();
  ompl_team* const team = comm == MPI_COMM_WORLD ? nullptr : team_of(comm);
  if (team == nullptr) return;
  finish_requests(comm);
  {
    const std::lock_guard lock(s.mutex);
    s.others.erase(comm);
  }
  ompl_team_destroy(team);
}

ompl_team* team_of(MPI_Comm comm) {
  State& s = state();
  if (comm == MPI_COMM_WORLD || s.world == nullptr) return s.world;
  if (s.several_threads) return nullptr;
  const auto found = s.others.find(comm);
  return found == s.others.end() ? nullptr : found->second;
}

bool several_threads() { return state().several_threads; }

int fail(MPI_Comm comm, const char* function, int code) {
  std::fprintf(stderr, "libompl-coll: %s: %s: %s\n", function, ompl_strerror(code),
               ompl_error_detail());
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

namespace {

// Behind MPI's function that makes a communicator; returns what that did.
int add_made(int code, const MPI_Comm* made) {
  if (code == MPI_SUCCESS) add(*made);
  return code;
}

}  // namespace
}  // namespace ompl::mpi_collectives

using namespace ompl::
    mpi_collectives;  // NOLINT(google-build-using-namespace): the functions below are MPI's

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int MPI_Finalize() {
  end();
  return PMPI_Finalize();
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return add_made(PMPI_Comm_dup(comm, made), made); }

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  return add_made(PMPI_Comm_dup_with_info(comm, info, made), made);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return add_made(PMPI_Comm_split(comm, color, key, made), made);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  return add_made(PMPI_Comm_split_type(comm, type, key, info, made), made);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return add_made(PMPI_Comm_create(comm, group, made), made);
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                    MPI_Comm* made) {
  return add_made(PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made), made);
}

int MPI_Cart_sub(MPI_Comm comm, const int kept[], MPI_Comm* made) {
  return add_made(PMPI_Cart_sub(comm, kept, made), made);
}

int MPI_Comm_free(MPI_Comm* comm) {
  if (comm != nullptr && *comm != MPI_COMM_NULL) remove(*comm);
  return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm* comm) {
  if (comm != nullptr && *comm != MPI_COMM_NULL) remove(*comm);
  return PMPI_Comm_disconnect(comm);
}

}  // extern "C"
