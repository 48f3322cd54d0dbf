// SPDX-License-Identifier: BSD-3-Clause
// What the examples on matrices in tiles share: where a tile lies, whose it is, and how a finished one gets to the ranks that need it.
#pragma once

#include <omnipgas/tasklet.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

#include "examples/run_bound.hpp"

namespace tiles {

using omnipgas::check;
namespace tasklet = omnipgas::tasklet;

// `count` x `count` tiles of `size` x `size` elements, row by row. Every rank has room for all: its own, and copies of others' in
// the same places.
template <class Element>
class Matrix {
 public:
  Matrix(int count, int size)
      : count_(count),
        size_(size),
        memory_(static_cast<std::size_t>(count) * static_cast<std::size_t>(count) * elements()) {}

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int rows() const { return count_ * size_; }
  [[nodiscard]] Element* tile(int i, int j) const { return memory_.local().data() + place(i, j); }
  [[nodiscard]] uint32_t owner(int i, int j) const {
    return static_cast<uint32_t>(i + j) % static_cast<uint32_t>(omnipgas::size());
  }
  [[nodiscard]] bool own(int i, int j) const { return owner(i, j) == rank_; }
  // An element of the tile that lies here.
  [[nodiscard]] Element& at(int row, int column) const {
    return tile(row / size_, column / size_)[row % size_ * size_ + column % size_];
  }

  // Finished tile (i, j) goes to the ranks that `needs` it: a put there, and a task that stands for its arrival. Within a task;
  // a tag is used for one tile at a time.
  template <class Needs>
  void share(int i, int j, uint32_t tag, Needs needs) const;

  // All of it at the calling rank, by rows.
  [[nodiscard]] std::vector<Element> whole() const {
    std::vector<Element> all(elements() * static_cast<std::size_t>(count_ * count_));
    for (int i = 0; i < count_; ++i)
      for (int j = 0; j < count_; ++j)
        check(ompl_get(reinterpret_cast<uint64_t>(tile(i, j)), owner(i, j), offset(i, j), bytes()));
    for (int row = 0; row < rows(); ++row)
      for (int column = 0; column < rows(); ++column)
        all[static_cast<std::size_t>(row) * static_cast<std::size_t>(rows()) +
            static_cast<std::size_t>(column)] = at(row, column);
    return all;
  }

 private:
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_);
  }
  [[nodiscard]] std::size_t bytes() const { return elements() * sizeof(Element); }
  [[nodiscard]] std::size_t place(int i, int j) const {
    return static_cast<std::size_t>(i * count_ + j) * elements();
  }
  [[nodiscard]] uint64_t offset(int i, int j) const {
    return memory_.offset() + place(i, j) * sizeof(Element);
  }

  const int count_, size_;
  const uint32_t rank_ = omnipgas::rank();
  omnipgas::Array<Element> memory_;
};

// Within a task: a task of a callable.
template <tasklet::TaskCode Code>
void make(Code code, std::initializer_list<ompl_tasklet_dependence> dependences, int priority = 0,
          const char* name = nullptr) {
  check(tasklet::create(std::move(code), {dependences.begin(), dependences.size()}, priority, name));
}

template <class Element>
template <class Needs>
void Matrix<Element>::share(int i, int j, uint32_t tag, Needs needs) const {
  Element* const data = tile(i, j);
  const uint32_t from = owner(i, j), ranks = omnipgas::size();
  const uint64_t dest = offset(i, j);
  for (uint32_t to = 0; to < ranks; ++to) {
    if (to == from || (rank_ != from && rank_ != to) || !needs(to)) continue;
    if (rank_ == to) {
      make([] { return 0; }, {tasklet::out(data), tasklet::put_ready(from, tag)}, 0, "arrival");
      continue;
    }
    const auto send = [data, to, dest, length = bytes()] {
      return ompl_tasklet_put(reinterpret_cast<uint64_t>(data), to, dest, length);
    };
    make(send, {tasklet::in(data), tasklet::put(to, tag)}, 2, "send");
  }
}

// The number at that place of the command line.
inline int argument(int argc, char** argv, int at, int otherwise) {
  return argc > at ? std::atoi(argv[at]) : otherwise;
}

// Runs a first task on every rank; its seconds.
inline double timed(int (*first)(void*), void* about) {
  omnipgas::barrier();
  const auto begin = std::chrono::steady_clock::now();
  check(cores::run_bound(first, about));
  omnipgas::barrier();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// An example, but for its command line: PROGRAM [TILES] [TILE_SIZE] [THREADS].
template <class Element>
struct Example {
  int tiles;                                                        // unless the command line says so
  int tags_per_tile;                                                // that are in use at once, at most
  Element (*entry)(int rows, int i, int j);                         // what the matrix begins with
  int (*first)(void* matrix);                                       // the first task
  bool (*is_right)(const Matrix<Element>& matrix, double seconds);  // at rank 0; prints what was found
};

// The exit status of the program.
template <class Element>
int run(const Example<Element>& example, int argc, char** argv) {
  omnipgas::Session session;
  const int count = argument(argc, argv, 1, example.tiles), size = argument(argc, argv, 2, 64);
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = argument(argc, argv, 3, 2);
  config.tags = static_cast<uint32_t>(example.tags_per_tile * count * count);
  check(ompl_tasklet_init(&config));
  bool right = true;
  {
    Matrix<Element> matrix(count, size);
    for (int i = 0; i < matrix.rows(); ++i)
      for (int j = 0; j < matrix.rows(); ++j)
        if (matrix.own(i / size, j / size)) matrix.at(i, j) = example.entry(matrix.rows(), i, j);
    const double seconds = timed(example.first, &matrix);
    if (omnipgas::rank() == 0) right = example.is_right(matrix, seconds);
    omnipgas::barrier();
  }
  check(ompl_tasklet_finalize());
  return right ? 0 : 1;
}

// Prints the residual of a factorization; whether it is small.
inline bool is_small(double residual, int rows, double seconds) {
  const bool small = residual < 1e-13;
  std::printf("%d x %d, %u ranks: %.6f s, residual %.1e%s\n", rows, rows, omnipgas::size(), seconds,
              residual, small ? "" : " is wrong");
  return small;
}

}  // namespace tiles
