// SPDX-License-Identifier: BSD-3-Clause
// pingpong.c in C++: rank 0 puts a message and raises rank 1's flag; rank 1 waits, puts it back and raises
// rank 0's. Errors are exceptions; memory is given back, and the job left, at the end of main.
//
//   omplrun -n 2 ./pingpong_cpp [bytes [iterations]]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <omnipgas/ompl.hpp>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

int pingpong(std::size_t size, unsigned iterations) {
  const omnipgas::Session session;
  if (omnipgas::size() != 2)
    throw std::runtime_error("pingpong needs two ranks: omplrun -n 2 ./pingpong_cpp");
  const uint32_t rank = omnipgas::rank(), partner = 1 - rank;
  const omnipgas::Array<unsigned char> inbox(size);
  const omnipgas::Array<uint32_t> word(1);
  const omnipgas::Flag flag(word);

  std::vector<unsigned char> message(size);
  const volatile unsigned char& last = inbox.local()[size - 1];
  unsigned wrong = 0;

  const auto begin = Clock::now();
  for (unsigned i = 0; i < iterations; ++i) {
    message[size - 1] = static_cast<unsigned char>(i);
    if (rank == 0) {
      omnipgas::put(message, partner, inbox);  // the data
      omnipgas::put_word(partner, flag);       // the flag
      omnipgas::wait(flag);
      wrong += last != static_cast<unsigned char>(i);
    } else {
      omnipgas::wait(flag);
      wrong += last != static_cast<unsigned char>(i);
      omnipgas::put(message, partner, inbox);
      omnipgas::put_word(partner, flag);
    }
  }
  const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
  const double one_way = elapsed.count() / iterations / 2;

  if (rank == 0)
    std::printf("%zu bytes: %.3f us one way, %.1f MB/s\n", size, one_way,
                static_cast<double>(size) / one_way);
  if (wrong > 0) std::fprintf(stderr, "rank %u: %u messages arrived damaged\n", rank, wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8;
  const auto iterations = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 10000U;
  if (size == 0 || iterations == 0) {
    std::fprintf(stderr, "usage: pingpong_cpp [bytes [iterations]], both positive\n");
    return EXIT_FAILURE;
  }
  try {
    return pingpong(size, iterations);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
