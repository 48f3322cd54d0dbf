// SPDX-License-Identifier: BSD-3-Clause
// OpenSHMEM beside the layer's own functions, in one program on two PEs: `openshmem WHAT BYTES`, a line of JSON a round (omni
// figures), nanoseconds per call: "ompl" is the client's, "twin" the layer's. `openshmem hello`: any number of PEs begin and end.
#include <fmt/format.h>
#include <omnipgas/ompl_inline.h>
#include <shmemx.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr int kRounds = 41;
constexpr int kCalls = 20'000;

int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

template <class Call>
double time(Call call) {
  const int64_t begin = now_ns();
  for (int i = 0; i < kCalls; ++i) call();
  return static_cast<double>(now_ns() - begin) / kCalls;
}

void must(int code) {
  if (code >= OMPL_OK) return;
  std::fprintf(stderr, "%s: %s\n", ompl_strerror(code), ompl_error_detail());
  std::exit(1);
}

// One after the other, `kRounds` times.
template <class Client, class Layer>
void compare(Client client, Layer layer) {
  time(client);
  time(layer);
  for (int round = 0; round < kRounds; ++round) {
    const double mine = time(client);
    const double twin = time(layer);
    fmt::print("{{\"ompl\": {:.3f}, \"twin\": {:.3f}}}\n", mine, twin);
  }
}

struct Places {
  char* data;      // symmetric
  uint64_t* word;  // symmetric
  std::size_t length;
};

int measure(std::string_view what, const Places& at) {
  std::vector<char> own(at.length, 1);
  const uint64_t data = shmemx_offset(at.data);
  const uint64_t word = shmemx_offset(at.word);
  const auto local = reinterpret_cast<uintptr_t>(own.data());
  uint64_t before = 0;
  if (what == "put") {
    compare([&] { shmem_putmem(at.data, own.data(), at.length, 1); },
            [&] { must(ompl_put(local, 1, data, at.length)); });
  } else if (what == "get") {
    compare([&] { shmem_getmem(own.data(), at.data, at.length, 1); },
            [&] { must(ompl_get(local, 1, data, at.length)); });
  } else if (what == "atomic") {
    compare([&] { before = shmem_uint64_atomic_fetch_add(at.word, 1, 1); },
            [&] { must(ompl_fetch_add64(1, word, 1, &before)); });
  } else if (what == "put_signal") {
    const ompl_signal add = {.flag_addr = word, .value = 1, .op = OMPL_ADD64};
    compare(
        [&] { shmem_putmem_signal(at.data, own.data(), at.length, at.word, 1, SHMEM_SIGNAL_ADD, 1); },
        [&] {
          must(ompl_put(local, 1, data, at.length));
          must(ompl_ctx_signal(OMPL_CTX_DEFAULT, 1, &add, OMPL_FOREVER));
        });
  } else {
    std::fprintf(stderr, "put, get, atomic or put_signal\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  shmem_init();
  const std::size_t length = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 8;
  const Places at{.data = static_cast<char*>(shmem_calloc(length, 1)),
                  .word = static_cast<uint64_t*>(shmem_calloc(1, sizeof(uint64_t))),
                  .length = length};
  shmem_barrier_all();
  int status = 0;
  const std::string_view what = count > 1 ? arguments[1] : "";
  const int me = what == "hello" ? -1 : shmem_my_pe();
  if (me == 0) {
    status = measure(what, at);
    shmem_uint64_p(at.word, UINT64_MAX, 1);
  } else if (me == 1) {
    while (shmem_uint64_test(at.word, SHMEM_CMP_EQ, UINT64_MAX) == 0)
      ::usleep(1000);  // leaves the core alone
  }
  shmem_barrier_all();
  shmem_finalize();
  return status;
}
