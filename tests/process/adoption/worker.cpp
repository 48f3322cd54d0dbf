// SPDX-License-Identifier: BSD-3-Clause
// A program whose static data, initialised and not, becomes part of the segment, at whatever address it was loaded:
// worker [together | alone]. Exit status 0: all held.
#include <omnipgas/ompl_memory.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

extern "C" {
extern char __data_start;  // NOLINT(bugprone-reserved-identifier): the linker's
extern char _end;          // NOLINT(bugprone-reserved-identifier)
}

namespace {

constexpr std::size_t kMany = std::size_t{1} << 20;

// Global, so that the compiler does not know who else changes them.
volatile uint64_t initialised[1000] = {11, 22, 33};
volatile uint64_t zero[100];
uint32_t flag;
uint64_t many[kMany];  // 8 MiB

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "rank %d: %s does not hold: %s\n", ompl_rank(), what, ompl_error_detail());
  std::_Exit(1);
}
#define REQUIRE(condition) require(condition, #condition)

uint64_t address(const volatile void* memory) { return reinterpret_cast<uintptr_t>(memory); }

uint32_t me() { return static_cast<uint32_t>(ompl_rank()); }
uint32_t size() { return static_cast<uint32_t>(ompl_size()); }

struct Pages {
  char* begin;
  std::size_t length;
};

Pages static_data() {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = address(&__data_start) / page * page;
  const uintptr_t end = (address(&_end) + page - 1) / page * page;
  return {reinterpret_cast<char*>(begin), end - begin};  // NOLINT(performance-no-int-to-ptr)
}

// Where each rank's data begin, if every rank adopts alone.
uint64_t tell(uint64_t table, uint64_t mine, uint32_t of) {
  uint64_t all[64] = {};
  for (uint32_t rank = 0; rank < size(); ++rank)
    REQUIRE(ompl_put(address(&mine), rank, table + me() * sizeof mine, sizeof mine) == OMPL_OK);
  REQUIRE(ompl_barrier() == OMPL_OK);
  std::memcpy(all, ompl_ptr(me(), table), sizeof all);
  return all[of];
}

// A fork's child has data of its own.
void check_fork() {
  zero[7] = 70;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool same = zero[7] == 70 && many[kMany - 1] == kMany && initialised[1] == 22;
    zero[7] = 71;
    many[5] = 1;
    ::_exit(same && zero[7] == 71 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  REQUIRE(zero[7] == 70 && many[5] == 6);
}

// Writes the right neighbour's data, and finds its own written by the left one.
void exchange(uint64_t base, uint64_t theirs) {
  const auto at = [](uint64_t from, const volatile void* word) {
    return from + (address(word) - address(static_data().begin));
  };
  const uint32_t right = (me() + 1) % size();
  const uint32_t left = (me() + size() - 1) % size();
  const uint64_t number = 1000 + me();
  REQUIRE(ompl_put(address(&number), right, at(theirs, &initialised[2]), 8) == OMPL_OK);
  REQUIRE(ompl_put(address(&number), right, at(theirs, &zero[99]), 8) == OMPL_OK);
  auto* const data = static_cast<uint64_t*>(std::malloc(kMany / 2 * sizeof(uint64_t)));
  std::iota(data, data + kMany / 2, number);
  REQUIRE(ompl_put(address(data), right, at(theirs, &many[kMany / 4]), kMany / 2 * sizeof(uint64_t)) ==
          OMPL_OK);
  REQUIRE(ompl_put_word(right, at(theirs, &flag)) == OMPL_OK);
  REQUIRE(ompl_wait(at(base, &flag)) == OMPL_OK);
  REQUIRE(initialised[0] == 11 && initialised[2] == 1000 + left && zero[99] == 1000 + left);
  for (std::size_t i = 0; i < kMany / 2; ++i) REQUIRE(many[kMany / 4 + i] == 1000 + left + i);
  REQUIRE(many[0] == 1 && many[kMany - 1] == kMany);
  many[3] = number;  // a store at the program's address is what others get
  REQUIRE(ompl_barrier() == OMPL_OK);
  uint64_t got = 0;
  REQUIRE(ompl_get(address(&got), right, at(theirs, &many[3]), 8) == OMPL_OK && got == 1000 + right);
  uint64_t before = 0;
  REQUIRE(ompl_fetch_add64(right, at(theirs, &zero[1]), 5, &before) == OMPL_OK && before == 0);
  REQUIRE(ompl_barrier() == OMPL_OK);
  REQUIRE(zero[1] == 5);
  std::free(data);
}

void check_refusals(const Pages& pages) {
  uint64_t offset = 7;
  REQUIRE(ompl_adopt_local(pages.begin + 1, pages.length, &offset) == OMPL_ERR_ARG);
  REQUIRE(ompl_adopt_local(pages.begin, 100, &offset) == OMPL_ERR_ARG);
  REQUIRE(ompl_adopt_local(pages.begin, 0, &offset) == OMPL_ERR_ARG);
  REQUIRE(ompl_adopt_local(pages.begin, pages.length, nullptr) == OMPL_ERR_ARG);
  REQUIRE(ompl_adopt_local(nullptr, pages.length, &offset) == OMPL_ERR_ARG);
  REQUIRE(offset == 7 && ompl_unadopt_local(4096) == OMPL_ERR_OFFSET);
}

}  // namespace

int main(int count, char** arguments) {
  const bool alone = count > 1 && std::strcmp(arguments[1], "alone") == 0;
  std::iota(many, many + kMany, 1);
  if (ompl_init() != OMPL_OK) return 1;
  const Pages pages = static_data();
  const uint32_t right = (me() + 1) % size();
  uint64_t table = 0;
  REQUIRE(ompl_alloc(64 * sizeof(uint64_t), &table) == OMPL_OK);
  check_refusals(pages);
  for (int round = 0; round < 2; ++round) {  // adopted, given back and adopted again
    uint64_t base = 0;
    if (alone) {
      if (me() == 0) REQUIRE(ompl_alloc_local(100'000, &base) == OMPL_OK);  // other offsets
      REQUIRE(ompl_adopt_local(pages.begin, pages.length, &base) == OMPL_OK);
    } else {
      REQUIRE(ompl_adopt(pages.begin, pages.length, &base) == OMPL_OK);
      REQUIRE(ompl_free(base) == OMPL_ERR_OFFSET);
    }
    uint64_t again = 0;
    REQUIRE(ompl_adopt_local(pages.begin, pages.length, &again) == OMPL_ERR_ARG);  // it is shared
    REQUIRE(initialised[1] == 22 && zero[5] == 0 && many[kMany / 8] == kMany / 8 + 1);
    const uint64_t theirs = alone ? tell(table, base, right) : base;
    exchange(base, theirs);
    check_fork();
    REQUIRE(ompl_barrier() == OMPL_OK);
    if (round == 1) break;  // the end of the job gives it back
    REQUIRE((alone ? ompl_unadopt_local(base) : ompl_unadopt(base)) == OMPL_OK);
    REQUIRE((alone ? ompl_unadopt_local(base) : ompl_unadopt(base)) == OMPL_ERR_OFFSET);
    initialised[2] = 33;
    REQUIRE(zero[1] == 5 && many[kMany - 1] == kMany);
    zero[1] = 0;
    zero[7] = 0;
    REQUIRE(ompl_barrier() == OMPL_OK);
  }
  REQUIRE(ompl_finalize() == OMPL_OK);
  require(zero[1] == 5 && zero[7] == 70 && initialised[1] == 22 && many[kMany - 1] == kMany,
          "contents");
  many[9] = 1;
  return many[9] == 1 ? 0 : 1;
}
