// SPDX-License-Identifier: BSD-3-Clause
#include "connected.hpp"

#include <sched.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "control.hpp"

namespace bench {
namespace {

constexpr int kMessages =
    64;  // of a page, to each peer: enough that buffers made in advance are in use

// Never 0; what a rank writes into the word that a peer has for it.
uint64_t word_of(int rank, int thread) {
  return (static_cast<uint64_t>(rank) << 32U) + static_cast<uint64_t>(thread) + 1;
}
std::size_t word_at(int rank) {
  return Connected::kWords + static_cast<std::size_t>(rank) * sizeof(uint64_t);
}

// One thread's talk with every other rank, beginning with the next one.
void talk(Connected& library, int thread) {
  const int rank = library.rank();
  const uint64_t word = word_of(rank, thread);
  std::memcpy(library.region(thread) + word_at(rank), &word, sizeof word);
  for (int step = 1; step < library.ranks(); ++step) {
    const int peer = (rank + step) % library.ranks();
    for (int i = 0; i < kMessages; ++i)
      library.put(thread, peer, Connected::kSource, Connected::kTarget, kPage);
    library.put(thread, peer, word_at(rank), word_at(rank), sizeof word);
  }
  library.flush(thread);
}

// What is wrong with what came from the others; nothing if all is there.
std::string missing(const Connected& library, int threads) {
  for (int thread = 0; thread < threads; ++thread) {
    for (int peer = 0; peer < library.ranks(); ++peer) {
      uint64_t word = 0;
      std::memcpy(&word, library.region(thread) + word_at(peer), sizeof word);
      if (word != word_of(peer, thread))
        return "thread " + std::to_string(thread) + " has nothing from rank " + std::to_string(peer);
    }
  }
  return {};
}

void together(int threads, Connected& library) {
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(threads));
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    team.emplace_back([&library, &failures, i] {
      try {
        talk(library, i);
      } catch (...) {
        failures[static_cast<std::size_t>(i)] = std::current_exception();
      }
    });
  }
  for (std::thread& each : team) each.join();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace

std::byte* Connected::make_regions(int threads) {
  own_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, offset(threads))));
  if (own_ == nullptr) throw std::runtime_error("no memory");
  std::memset(own_.get(), 0, offset(threads));
  return memory_ = own_.get();
}

int connected_main(int argc, char** argv, Connect connect) {
  try {
    const Setup setup = parse_setup(argc, argv);
    const auto library = connect(setup, argc, argv);
    if (library->ranks() > Connected::kMostRanks) throw std::runtime_error("too many ranks");
    Control control(setup, library->rank(), library->describe());
    while (const auto command = control.next()) {
      if (command->what == "talk") {
        together(setup.threads, *library);
        control.report({});
        while (!control.pending()) library->progress(), sched_yield();
      } else {
        library->progress();
        if (const auto what = missing(*library, setup.threads); !what.empty()) control.corrupt(what);
        control.report({});
      }
    }
    return 0;
  } catch (const std::exception& error) {
    say_error(argv[0], error);
    return 2;
  }
}

}  // namespace bench
