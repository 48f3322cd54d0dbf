// SPDX-License-Identifier: BSD-3-Clause
// What one more rank costs: a program for each library, instruments/bench/connected/<library>.cpp, in which every thread of every rank
// puts into every other rank, so that whatever a library makes for a peer is there. Then all ranks stand still, and the
// driver looks at their memory. Nothing here is timed.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "adapter.hpp"
#include "gathering.hpp"

namespace bench {

// A library in a job of any number of ranks, with an endpoint of its own for each thread where it has such things.
// Constructor and destructor are collective, called by the main thread, and throw std::runtime_error as all do.
class Connected {
 public:
  // What each thread has in each rank's memory: a page to put from, one to put into, one with a word for every rank.
  static constexpr std::size_t kSource = 0;
  static constexpr std::size_t kTarget = kPage;
  static constexpr std::size_t kWords = 2 * kPage;
  static constexpr std::size_t kRegion = 3 * kPage;
  static constexpr int kMostRanks = kPage / sizeof(uint64_t);

  Connected() = default;
  virtual ~Connected() = default;
  Connected(const Connected&) = delete;
  Connected& operator=(const Connected&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] virtual Description describe() const = 0;
  // The region of a thread in this rank's memory: kRegion bytes, page-aligned, cleared at the start.
  [[nodiscard]] virtual std::byte* region(int thread) const { return memory_ + offset(thread); }
  // Puts `bytes` at `from` in the own region of the thread to `to` in that of the same thread at `peer`. Called by that
  // thread, as flush() is; the source stays as it is until that.
  virtual void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) = 0;
  // Returns when all puts of the thread are at their targets, or those of the others here: all ranks call it after the same.
  virtual void flush(int thread) = 0;
  // Makes progress for the other ranks, and visible what they have put. Called by the main thread while no other is here.
  virtual void progress() = 0;

 protected:
  // Where a thread's region begins in memory that has those of all, one behind the other.
  static std::size_t offset(int thread) { return static_cast<std::size_t>(thread) * kRegion; }
  // Such memory, cleared, which lasts as long as this.
  std::byte* make_regions(int threads);

  // This rank's own; the memory of a library that gives it for all threads at once.
  int rank_ = 0, ranks_ = 1;
  std::byte* memory_ = nullptr;

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> own_;
};

// A library without a start-up of its own.
class Gathered : public Connected {
 protected:
  explicit Gathered(const Setup& setup) : others_(setup) {
    rank_ = others_.rank();
    ranks_ = others_.ranks();
  }

  Gathering others_;
};

using Connect = std::unique_ptr<Connected> (*)(const Setup& setup, int& argc, char**& argv);

// main() of such a program; exit status as that of run_worker().
int connected_main(int argc, char** argv, Connect connect);

template <class Library>
int connected_main(int argc, char** argv) {
  return connected_main(
      argc, argv, [](const Setup& setup, int& count, char**& words) -> std::unique_ptr<Connected> {
        return std::make_unique<Library>(setup, count, words);
      });
}

}  // namespace bench
