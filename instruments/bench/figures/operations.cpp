// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking puts, strided puts and fetch-add to a mapped rank that sleeps outside the library, each beside its
// baseline: one line of JSON a round, with nanoseconds per operation of both (omni figures).
#include <fmt/format.h>
#include <omnipgas/ompl_inline.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "raw/operations.h"

namespace {

constexpr std::size_t kPieces = 64;
constexpr std::size_t kPiece = 1024;
constexpr std::size_t kRows = 1000;
constexpr std::size_t kRow = kRows * sizeof(double);  // of the matrix whose column is put
constexpr std::size_t kCapacity = kRows * kRow;
constexpr int kRounds = 60;

void must(int code) {
  if (code == OMPL_OK) return;
  std::fprintf(stderr, "%s: %s\n", ompl_strerror(code), ompl_error_detail());
  std::exit(1);
}

// Nanoseconds per call, over about a millisecond.
template <class Call>
double time(int calls, Call call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / calls;
}

// The two in turn, which of them first changing from round to round.
template <class Mine, class Baseline>
void compare(const char* name, int calls, Mine mine, Baseline baseline) {
  for (int round = 0; round < kRounds; ++round) {
    double ns[2] = {0, 0};
    for (const int which : {round % 2, 1 - round % 2})
      ns[which] = which == 0 ? time(calls, mine) : time(calls, baseline);
    fmt::print("{{\"op\": \"{}\", \"ompl_ns\": {:.3f}, \"twin_ns\": {:.3f}}}\n", name, ns[0], ns[1]);
  }
}

void measure(uint64_t data, std::byte* raw) {
  std::vector<std::byte> bytes(kPieces * kPiece, std::byte{7});
  const std::vector<double> column(kRows, 3.5);
  const auto source = reinterpret_cast<uint64_t>(bytes.data());

  compare(
      "put_nb", 30,
      [&] {
        static ompl_handle handles[kPieces];
        for (std::size_t i = 0; i < kPieces; ++i)
          must(ompl_put_nb(OMPL_CTX_DEFAULT, source + i * kPiece, 1, data + i * kPiece, kPiece, nullptr,
                           0, &handles[i]));
        must(ompl_handle_wait_all(OMPL_CTX_DEFAULT, handles, kPieces, OMPL_FOREVER));
      },
      [&] { must(baseline_pieces(raw, kCapacity, bytes.data(), kPieces, kPiece)); });

  const std::size_t extent = kRows;
  const std::ptrdiff_t stride = kRow;
  const ompl_strided block{.element = sizeof(double),
                           .dimensions = 1,
                           .extents = &extent,
                           .local_strides = nullptr,
                           .remote_strides = &stride};
  compare(
      "strided", 60,
      [&] {
        must(ompl_ctx_put_strided(OMPL_CTX_DEFAULT, reinterpret_cast<uint64_t>(column.data()), 1, data,
                                  &block, nullptr, OMPL_FOREVER));
      },
      [&] { must(baseline_column(raw, kCapacity, kRow, column.data(), kRows)); });

  uint64_t before = 0;
  compare(
      "fetch_add", 50'000, [&] { must(ompl_fetch_add64(1, data, 1, &before)); },
      [&] { must(baseline_fetch_add(raw, kCapacity, 0, 1, &before)); });
}

}  // namespace

int main() {
  uint64_t data = 0;
  uint64_t done = 0;
  must(ompl_init());
  must(ompl_alloc(kCapacity, &data));
  must(ompl_alloc(sizeof(uint32_t), &done));
  if (ompl_size() != 2 || ompl_ptr(1, data) == nullptr) {
    std::fprintf(stderr, "needs two ranks that share memory\n");
    return 1;
  }
  if (ompl_rank() == 0) {
    void* raw = ::mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return 1;
    std::memset(raw, 0, kCapacity);
    measure(data, static_cast<std::byte*>(raw));
    must(ompl_put_word(1, done));
  } else {
    while (ompl_poll(done) == 0) ::usleep(20'000);  // asleep, so that its core is quiet
  }
  must(ompl_finalize());
  return 0;
}
