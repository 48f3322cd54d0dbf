// SPDX-License-Identifier: BSD-3-Clause
// The memory model: every litmus test of the table (litmus.hpp), with everything that may stand for its fences. Compiled
// without OMPL_BUILDS_LIBRARY, so that what ompl_inline.h expands is tested too; Rank calls the library.
#include "omnipgas/ompl_inline.h"

#include <sched.h>

#include <array>
#include <barrier>
#include <cstdlib>
#include <functional>

#include "arch/clock.hpp"
#include "conformance/conformance.hpp"
#include "conformance/litmus.hpp"

namespace ompl::conformance {
namespace {

constexpr int64_t kPatience_ns = 10'000;  // of a trial, for each of its rounds
constexpr std::size_t kCells = 256;       // of a variable: each round of a batch has one of its own
constexpr std::size_t kCell = 64;
constexpr std::size_t kSpare = 32;  // in a cell: a word that nobody writes
constexpr std::size_t kVariable = kCells * kCell;

// Rounds of each test and fence. Over memory some hundred find a fence that is not there. Over networks it is the waiting
// for each other that counts, and ranks may sleep in it.
std::size_t rounds_of(bool mapped, std::size_t programs) {
  const char* const asked = std::getenv("OMPL_TEST_LITMUS_ROUNDS");
  if (asked != nullptr) return std::strtoul(asked, nullptr, 10);
  if (mapped) return 4 * kCells;
  return programs == 2 ? 4 : 2;
}

// Gives the calling thread, which runs a program, a core of its own, if there are enough: threads that share one never run
// at once.
bool bind(std::size_t program, std::size_t programs) {
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return false;
  if (static_cast<std::size_t>(CPU_COUNT(&all)) < programs) return false;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all) || program-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

bool is_handle(Fence fence) { return fence >= Fence::handle_test && fence <= Fence::callback; }

// Whether the fence can stand where the programs have one.
bool suits(const std::vector<std::vector<Step>>& programs, Fence fence) {
  bool any = false;
  for (const std::vector<Step>& steps : programs) {
    for (const Step& step : steps) {
      if (!step.fenced) continue;
      any = true;
      if (step.action == Action::signal && fence != Fence::quiet) return false;
      if (step.action == Action::store && is_handle(fence)) return false;
    }
  }
  return any == (fence != Fence::none);
}

struct Batch {
  std::array<uint32_t, kVariables.size()> home{};
  uint64_t data = 0;
  std::size_t round = 0;

  [[nodiscard]] uint64_t cell(const Step& step) const {
    return data + step.variable * kVariable + round * kCell;
  }
  [[nodiscard]] uint32_t rank(const Step& step) const { return home.at(step.variable); }
};

Batch batch_of(const Litmus& test, uint64_t data, uint32_t size, std::size_t number) {
  Batch batch{.data = data};
  const std::string_view homes = test.homes;
  for (std::size_t i = 0; i < homes.size(); i += 2)
    batch.home.at(kVariables.find(homes[i])) = static_cast<uint32_t>(homes[i + 1] - '0') % size;
  if (homes.empty()) {
    batch.home[0] = static_cast<uint32_t>(number + 1) % size;
    batch.home[1] = static_cast<uint32_t>(number / 2) % size;
  }
  return batch;
}

// Runs the steps of one program.
class Program {
 public:
  Program(Rank& rank, const std::vector<Step>& steps, Fence fence)
      : rank_(rank), steps_(steps), fence_(fence) {}

  // Appends what it read to `seen`.
  void run(const Batch& b, std::vector<char>* seen) {
    for (const Step& step : steps_) {
      if (step.action == Action::fence) continue;
      uint64_t value = step.value;
      if (step.fenced && is_handle(fence_)) {
        run_nonblocking(b, step, &value);
      } else {
        run_blocking(b, step, &value);
        if (step.fenced) run_fence(b.rank(step), b.cell(step) + kSpare);
      }
      if (step.reads()) seen->push_back(static_cast<char>('0' + value));
    }
  }

 private:
  std::atomic_ref<uint64_t> word(const Batch& b, const Step& step) {
    return std::atomic_ref(*static_cast<uint64_t*>(rank_.pointer(b.rank(step), b.cell(step))));
  }

  void run_blocking(const Batch& b, const Step& step, uint64_t* value) {
    const uint32_t at = b.rank(step);
    const uint64_t cell = b.cell(step);
    switch (step.action) {
      case Action::put:
        return ok(ompl_put(address(value), at, cell, sizeof *value));
      case Action::get:
        return ok(ompl_get(address(value), at, cell, sizeof *value));
      case Action::store:
        return word(b, step).store(*value, std::memory_order_relaxed);
      case Action::load:
        *value = word(b, step).load(std::memory_order_relaxed);
        return;
      case Action::signal:
        return ok(ompl_put_word(at, cell));
      case Action::put_signal:
        return ok(
            rank_.put_signal(value, at, cell, sizeof *value, b.cell({.action = {}, .variable = 2})));
      case Action::wait:
        return ok(rank_.wait(cell));
      case Action::poll:
        *value = rank_.poll(cell) == 1 ? 1 : 0;
        return;
      case Action::add:
        return ok(ompl_add64(at, cell, *value));
      case Action::fetch:
        return ok(ompl_fetch64(at, cell, value));
      case Action::fence:
        return;
    }
  }

  // `spare`: a word of that rank.
  void run_fence(uint32_t at, uint64_t spare) {
    uint64_t before = 0;
    ompl_handle handle = OMPL_HANDLE_INIT;
    switch (fence_) {
      case Fence::quiet:
        return ok(rank_.quiet());
      case Fence::flush:
        return ok(rank_.flush());
      case Fence::fetch:
        return ok(ompl_fetch64(at, spare, &before));
      case Fence::fetch_atomic:
        return ok(
            ompl_ctx_atomic64(rank_.ctx(), at, spare, OMPL_ATOMIC_FETCH, 0, 0, &before, OMPL_FOREVER));
      case Fence::fetch_add:
        return ok(
            ompl_ctx_atomic64(rank_.ctx(), at, spare, OMPL_ATOMIC_ADD, 0, 0, &before, OMPL_FOREVER));
      case Fence::fetch_add_inline:
        return ok(ompl_fetch_add64(at, spare, 0, &before));
      case Fence::failed_compare_swap:
        return ok(ompl_compare_swap64(at, spare, 1, 2, &before));
      default:
        post([&] {
          return ompl_atomic64_nb(rank_.ctx(), at, spare, OMPL_ATOMIC_FETCH, 0, 0, &before, &handle);
        });
        return ok(ompl_handle_wait(rank_.ctx(), &handle, OMPL_FOREVER));
    }
  }

  template <class Attempt>
  void post(Attempt attempt) {
    int code = attempt();
    while (code >= OMPL_RETRY_FULL) {
      ompl_progress(rank_.ctx(), 0);
      code = attempt();
    }
    ok(code == OMPL_PENDING ? OMPL_OK : code);
  }

  void run_nonblocking(const Batch& b, const Step& step, uint64_t* value) {
    ompl_handle handle = OMPL_HANDLE_INIT;
    post([&] {
      return step.action == Action::put ? ompl_put_nb(rank_.ctx(), address(value), b.rank(step),
                                                      b.cell(step), sizeof *value, nullptr, 0, &handle)
                                        : ompl_get_nb(rank_.ctx(), address(value), b.rank(step),
                                                      b.cell(step), sizeof *value, &handle);
    });
    complete(&handle);
  }

  void complete(ompl_handle* handle) {
    std::size_t which = 0;
    std::size_t found = 0;
    const auto library_wait_all = &ompl_handle_wait_all;
    switch (fence_) {
      case Fence::handle_test:
        while (ompl_handle_test(rank_.ctx(), handle) == 0) {
        }
        return;
      case Fence::handle_wait:
        return ok(ompl_handle_wait(rank_.ctx(), handle, OMPL_FOREVER));
      case Fence::handle_any:
        return ok(ompl_handle_wait_any(rank_.ctx(), handle, 1, &which, OMPL_FOREVER));
      case Fence::handle_some:
        return ok(ompl_handle_wait_some(rank_.ctx(), handle, 1, &which, &found, OMPL_FOREVER));
      case Fence::handle_all:
        return ok(library_wait_all(rank_.ctx(), handle, 1, OMPL_FOREVER));
      case Fence::handle_all_inline:
        return ok(ompl_handle_wait_all(rank_.ctx(), handle, 1, OMPL_FOREVER));
      default:
        break;
    }
    bool over = false;
    ok(ompl_handle_then(
        handle, [](void* told, int) { *static_cast<bool*>(told) = true; }, &over));
    while (!over) ompl_progress(rank_.ctx(), 0);
  }

  Rank& rank_;
  const std::vector<Step>& steps_;
  const Fence fence_;
};

// One test with one fence. Each program runs in a rank of its own or, where there is one rank, in a thread of it.
class Trial {
 public:
  Trial(World& world, const Litmus& test, Fence fence)
      : world_(world),
        test_(test),
        fence_(fence),
        meeting_(static_cast<std::ptrdiff_t>(test.programs.size())) {
    for (const char* text : test.programs) programs_.push_back(read_program(text));
    const std::string_view never = test.never;
    registers_ = std::min(never.find('/'), never.size());
    finals_ = never.substr(std::min(registers_ + 1, never.size()));
  }

  [[nodiscard]] bool suits() const { return conformance::suits(programs_, fence_); }

  // `data`: room for all variables, then for what the programs see.
  void run(uint64_t data, uint32_t size, bool mapped, std::size_t rounds) {
    world_.run(
        [&](Rank& r) {
          const bool apart = mapped && bind(r.threads > 1 ? r.thread : r.rank, programs_.size());
          std::size_t left = rounds;
          int64_t left_ns = apart ? kPatience_ns * static_cast<int64_t>(rounds) : 0;
          for (auto number = static_cast<std::size_t>(fence_); left > 0; ++number) {
            const std::size_t count = std::min(left, kCells);
            run_batch(r, batch_of(test_, data, size, number), count, &left_ns);
            left -= count;
          }
        },
        size == 1 ? static_cast<unsigned>(programs_.size()) : 1);
  }

 private:
  void meet(Rank& r) {
    if (r.threads > 1)
      meeting_.arrive_and_wait();
    else
      ok(r.barrier());
  }

  // Where a program says which round it has come to.
  static uint64_t step_word(const Batch& batch, std::size_t program) {
    return results(batch, program) + kVariable - kCell;
  }

  // Through memory the programs begin each round together, as far as the time goes that a trial may spend on waiting for
  // one that has no core.
  class Pace {
   public:
    Pace(Rank& r, const Batch& batch, std::size_t programs, int64_t* left_ns) : left_ns_(left_ns) {
      for (std::size_t p = 0; p<programs&& * left_ns> 0; ++p)
        words_.push_back(static_cast<uint64_t*>(
            r.pointer(r.threads > 1 ? r.rank : static_cast<uint32_t>(p), step_word(batch, p))));
    }
    void begin(std::size_t mine, uint64_t round) {
      if (*left_ns_ <= 0) return;
      std::atomic_ref(*words_[mine]).store(round, std::memory_order_seq_cst);
      for (uint64_t* const other : words_) {
        if (!meet(*other, round)) return;
      }
    }

   private:
    bool meet(uint64_t& other, uint64_t round) {
      constexpr int kLooks = 100;  // before a look at the clock
      int64_t since = 0;
      for (int looks = 0; std::atomic_ref(other).load(std::memory_order_acquire) < round; ++looks) {
        arch::pause();
        if (looks % kLooks != kLooks - 1) continue;
        const int64_t now = now_ns();
        if (since != 0 && (*left_ns_ -= now - since) <= 0) return false;
        since = now;
      }
      return true;
    }

    std::vector<uint64_t*> words_;
    int64_t* const left_ns_;
  };

  void run_batch(Rank& r, Batch batch, std::size_t count, int64_t* left_ns) {
    const std::size_t mine = r.threads > 1 ? r.thread : r.rank;
    if (r.thread == 0)
      std::memset(r.own(batch.data), 0, (kVariables.size() + programs_.size()) * kVariable);
    meet(r);
    std::vector<char> seen;
    if (mine < programs_.size()) {
      Program program(r, programs_[mine], fence_);
      Pace pace(r, batch, programs_.size(), left_ns);
      for (batch.round = 0; batch.round < count; ++batch.round) {
        pace.begin(mine, batch.round + 1);
        program.run(batch, &seen);
      }
    }
    ok(r.quiet());
    if (!seen.empty()) ok(r.put(seen.data(), 0, results(batch, mine), seen.size()));
    ok(r.flush());
    meet(r);
    if (mine == 0) judge(r, batch, count);
    meet(r);
  }

  static uint64_t results(const Batch& batch, std::size_t program) {
    return batch.data + (kVariables.size() + program) * kVariable;
  }

  void judge(Rank& r, const Batch& batch, std::size_t count) {
    std::array<std::vector<char>, 2> finals;
    for (std::size_t v = 0; v < finals_.size(); ++v) {
      finals.at(v).resize(kVariable);
      ok(r.get(finals.at(v).data(), batch.home.at(v), batch.data + v * kVariable, kVariable));
    }
    std::size_t times = 0;
    for (std::size_t round = 0; round < count; ++round) {
      std::string outcome;
      for (std::size_t p = 0; p < programs_.size(); ++p) {
        const auto reads = static_cast<std::size_t>(std::ranges::count_if(programs_[p], &Step::reads));
        const auto* const seen = reinterpret_cast<const char*>(r.own(results(batch, p)));
        outcome.append(seen + round * reads, reads);
      }
      if (!finals_.empty()) outcome += '/';
      for (std::size_t v = 0; v < finals_.size(); ++v)
        outcome += static_cast<char>('0' + finals.at(v)[round * kCell]);
      times += matches(outcome) ? 1 : 0;
    }
    EXPECT_EQ(times, 0U) << test_.name << ", fence " << kFences[static_cast<std::size_t>(fence_)]
                         << ": " << test_.never << " was seen in so many of " << count << " rounds";
  }

  [[nodiscard]] bool matches(const std::string& outcome) const {
    const std::string_view never = test_.never;
    EXPECT_EQ(outcome.size(), never.size()) << outcome;
    for (std::size_t i = 0; i < never.size(); ++i)
      if (never[i] != '.' && never[i] != outcome[i]) return false;
    return true;
  }

  World& world_;
  const Litmus& test_;
  const Fence fence_;
  std::barrier<> meeting_;  // of the threads of one rank
  std::vector<std::vector<Step>> programs_;
  std::size_t registers_ = 0;
  std::string_view finals_;
};

void run_table(World& world, std::size_t least, std::size_t most) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "litmus tests are data races, which ThreadSanitizer would report";
#endif
  const uint64_t data = world.allocate((kVariables.size() + most) * kVariable);
  std::atomic<uint32_t> size{0};
  std::atomic<bool> mapped{true};
  world.run([&](Rank& r) {
    size = r.size;
    for (uint32_t other = 0; other < r.size; ++other)
      if (r.pointer(other, data) == nullptr) mapped = false;
  });
  for (const Litmus& test : litmus_table()) {
    if (test.programs.size() < least || test.programs.size() > most) continue;
    if (size > 1 && test.programs.size() > size) continue;
    for (auto fence = Fence::none; fence < Fence::count;
         fence = static_cast<Fence>(static_cast<int>(fence) + 1)) {
      Trial trial(world, test, fence);
      if (trial.suits()) trial.run(data, size, mapped, rounds_of(mapped, test.programs.size()));
    }
  }
}

TEST_P(Conformance, Litmus_R25_TwoPrograms) {
  const auto w = world();
  run_table(*w, 2, 2);
}

TEST_P(Conformance, Litmus_R25_ThreeAndFourPrograms) {
  const auto w = world({.ranks = 4});
  run_table(*w, 3, 4);
}

}  // namespace
}  // namespace ompl::conformance
