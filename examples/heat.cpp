// SPDX-License-Identifier: BSD-3-Clause
// heat.c in C++: heat on a ring. Every rank puts its two edge cells into the neighbours' halos and raises their
// flags; no barrier in the loop. Halos come in two sets, used in turn, since a neighbour may be one step ahead.
//
//   omplrun -n 4 ./heat_cpp [steps]
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numbers>
#include <omnipgas/ompl.hpp>

namespace {

constexpr std::size_t kCells = 64, kLeft = 0, kRight = 1;

double heat(unsigned steps) {
  const omnipgas::Session session;
  const uint32_t rank = omnipgas::rank(), size = omnipgas::size();
  const std::array<uint32_t, 2> neighbour{(rank + size - 1) % size, (rank + 1) % size};
  const omnipgas::Array<double> halos(4);  // what the neighbours write: [set][side]
  const omnipgas::Array<uint32_t> flags(2);
  const auto mine = halos.local();

  // One cosine wave around the ring; the scheme damps it by a known factor per step.
  const double r = 0.25;  // diffusion number
  const double angle = 2 * std::numbers::pi / (static_cast<double>(size) * kCells);
  const double factor = 1 - 2 * r * (1 - std::cos(angle));
  const auto wave = [=](std::size_t i) {
    return std::cos(angle * static_cast<double>(rank * kCells + i));
  };
  std::array<double, kCells + 2> u{};
  for (std::size_t i = 1; i <= kCells; ++i) u[i] = wave(i);

  for (unsigned step = 0; step < steps; ++step) {
    const std::size_t set = step % 2;
    for (const std::size_t side : {kLeft, kRight}) {
      // my left edge is the right halo of my left neighbour
      const double edge = side == kLeft ? u[1] : u[kCells];
      omnipgas::put_value(edge, neighbour[side], halos[2 * set + (1 - side)]);
      omnipgas::put_word(neighbour[side], omnipgas::Flag(flags[1 - side]));
    }
    for (const std::size_t side : {kLeft, kRight}) omnipgas::wait(omnipgas::Flag(flags[side]));
    u[0] = mine[2 * set + kLeft];
    u[kCells + 1] = mine[2 * set + kRight];
    const auto old = u;
    for (std::size_t i = 1; i <= kCells; ++i)
      u[i] = old[i] + r * (old[i - 1] - 2 * old[i] + old[i + 1]);
  }

  double worst = 0;
  for (std::size_t i = 1; i <= kCells; ++i)
    worst = std::fmax(worst, std::fabs(u[i] - std::pow(factor, steps) * wave(i)));
  std::printf("rank %u: %u steps, farthest from the exact solution by %.1e\n", rank, steps, worst);
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const double worst =
        heat(argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 500U);
    return worst < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
