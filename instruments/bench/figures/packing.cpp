// SPDX-License-Identifier: BSD-3-Clause
// A strided put of 1,000 x 8 bytes over a network, until it is visible, beside one contiguous put of as many bytes; with the
// argument "get" a get beside one get. One line of JSON a round, with nanoseconds of both (omni figures). With the argument
// "rows" puts also by the length of a row, packed or not as OMPL_PACK says.
#include <fmt/format.h>
#include <omnipgas/ompl_ext.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kRows = 1000;
constexpr std::size_t kRow = 8;
constexpr std::size_t kStride = 64;
constexpr std::size_t kCapacity = std::size_t{4} << 20;
constexpr int kRounds = 60;
constexpr int kCalls = 20;

void must(int code) {
  if (code == OMPL_OK) return;
  std::fprintf(stderr, "%s: %s\n", ompl_strerror(code), ompl_error_detail());
  std::exit(1);
}

template <class Call>
double time(Call call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / kCalls;
}

// `rows` pieces of `row` bytes, `stride` apart at the target, beside one piece. Which comes first changes from round to round.
void compare(bool put, const char* name, uint64_t data, std::size_t rows, std::size_t row,
             std::size_t stride, int rounds) {
  std::vector<std::byte> source(rows * row, std::byte{7});
  const auto from = reinterpret_cast<uint64_t>(source.data());
  const auto distance = static_cast<std::ptrdiff_t>(stride);
  const ompl_strided block{.element = row,
                           .dimensions = 1,
                           .extents = &rows,
                           .local_strides = nullptr,
                           .remote_strides = &distance};
  const auto strided = [&] {
    if (!put) return must(ompl_ctx_get_strided(OMPL_CTX_DEFAULT, from, 1, data, &block, OMPL_FOREVER));
    must(ompl_ctx_put_strided(OMPL_CTX_DEFAULT, from, 1, data, &block, nullptr, OMPL_FOREVER));
    must(ompl_flush());
  };
  const auto whole = [&] {
    if (!put) return must(ompl_get(from, 1, data, source.size()));
    must(ompl_put(from, 1, data, source.size()));
    must(ompl_flush());
  };
  strided();  // connects
  for (int round = 0; round < rounds; ++round) {
    double ns[2] = {0, 0};
    for (const int which : {round % 2, 1 - round % 2})
      ns[which] = which == 0 ? time(strided) : time(whole);
    fmt::print("{{\"op\": \"{}\", \"row\": {}, \"rows\": {}, \"ompl\": {:.1f}, \"twin\": {:.1f}}}\n",
               name, row, rows, ns[0], ns[1]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t data = 0;
  uint64_t done = 0;
  must(ompl_init());
  must(ompl_alloc(kCapacity, &data));
  must(ompl_alloc(sizeof(uint32_t), &done));
  if (ompl_size() != 2 || ompl_ptr(1 - static_cast<uint32_t>(ompl_rank()), data) != nullptr) {
    std::fprintf(stderr, "needs two ranks that a network joins\n");
    return 1;
  }
  if (ompl_rank() == 0) {
    const std::string_view what = argc > 1 ? argv[1] : "put";
    compare(what != "get", "strided", data, kRows, kRow, kStride, kRounds);
    if (what == "rows") {
      for (std::size_t row = 8; row <= 8192; row *= 2)
        for (const std::size_t rows : {2, 4, 16, 64})
          compare(true, "rows", data, rows, row, 2 * row, kRounds / 4);
    }
    must(ompl_put_word(1, done));
  } else {
    must(ompl_wait(done));
  }
  must(ompl_finalize());
  return 0;
}
