// SPDX-License-Identifier: BSD-3-Clause
// Beginning and end of an image.
#include <dlfcn.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "core/state.hpp"

namespace caf {

State& state() {
  static State* now = new State;  // threads may outlive static objects
  return *now;
}

namespace {

pid_t process = 0;

// What the images tell each other at the start.
struct Introduction {
  uint64_t base, end, block, counters, seed;
};

[[noreturn]] void cannot_begin(const char* what) {
  std::fprintf(stderr, "coarrays: %s: %s\n", what, ompl_error_detail());
  std::_Exit(1);
}

void check(int code, const char* what) {
  if (code != OMPL_OK) cannot_begin(what);
}

uint64_t random_number() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<uint64_t>(::getpid()) * 0x9E3779B97F4A7C15U;
  return number;
}

// The tracer of the layer's calls is in the process. It sees no copies, so transfers are calls then; and a wait whose time limit passes is
// computation to it, so limits are long.
bool is_traced() {
  constexpr int64_t kLongLook = 10'000'000'000;
  if (::dlsym(RTLD_DEFAULT, "ompl_tracer") == nullptr) return false;
  state().look = kLongLook;
  return true;
}

void meet_the_others(ompl_team* world, uint64_t symmetric, uint64_t end) {
  State& now = state();
  const bool traced = is_traced();
  const auto* const own = static_cast<std::byte*>(ompl_ptr(now.me, symmetric));
  const Introduction mine{as_number(own) - symmetric, as_number(own) - symmetric + end, as_number(own),
                          as_number(own) + sizeof(Block), random_number()};
  std::vector<Introduction> all(now.size);
  check(ompl_allgather(world, &mine, all.data(), sizeof mine, nullptr, nullptr),
        "the images cannot tell each other their addresses");
  now.seed = all[0].seed;
  for (uint32_t rank = 0; rank < now.size; ++rank) {
    auto* const mapped = traced ? nullptr : static_cast<std::byte*>(ompl_ptr(rank, symmetric));
    now.peers[rank] = {all[rank].base, all[rank].end, mapped == nullptr ? nullptr : mapped - symmetric};
    now.initial->blocks.push_back(all[rank].block);
    now.counters_at.push_back(all[rank].counters);
  }
}

// A program that ends by exit() without STOP: in order if with 0, else in error, as the runtime library of a compiler does.
void at_exit(int status, void* /*unused*/) {
  if (process != ::getpid() || state().ended) return;
  if (status != 0) error_stop(status, "an image has ended with an error");
  end_program();
}

}  // namespace

// Who sets OMPL_PROGRESS decides.
void serve_requests() {
  static bool served = false;
  if (served || std::getenv("OMPL_PROGRESS") != nullptr) return;
  served = true;
  if (ompl_set_progress_thread(1) != OMPL_OK)
    std::fprintf(stderr, "coarrays: other images wait while this one computes: %s\n",
                 ompl_error_detail());
}

void begin() {
  State& now = state();
  if (now.initial != nullptr) return;
  begin_mpi();
  if (ompl_init() != OMPL_OK && ompl_rank() < 0) cannot_begin("the layer does not begin");
  now.me = static_cast<uint32_t>(ompl_rank());
  now.size = static_cast<uint32_t>(ompl_size());
  now.peers.resize(now.size);
  now.synced.resize(now.size);
  now.failed.resize(now.size);
  now.stopped.resize(now.size);
  ompl_team* world = nullptr;
  check(ompl_team_world(&world), "no team of all images");
  uint64_t symmetric = 0;
  check(ompl_alloc(sizeof(Block) + sizeof(uint32_t) * now.size, &symmetric), "no memory");
  auto* const own = static_cast<std::byte*>(ompl_ptr(now.me, symmetric));
  now.counters = reinterpret_cast<uint32_t*>(own + sizeof(Block));
  now.initial = now.current = new Team;
  now.initial->block = reinterpret_cast<Block*>(own);
  now.initial->me = now.me;
  for (uint32_t rank = 0; rank < now.size; ++rank) {
    now.initial->members.push_back(rank);
    now.initial->index[rank] = rank;
  }
  now.initial->close = is_close(*now.initial);
  uint64_t end = 0;
  if (start_components(&end) != kOk) cannot_begin("no memory");
  now.initial->layer = world;
  meet_the_others(world, symmetric, end);
  if (start_services() != kOk) cannot_begin("requests cannot be registered");
  if (ompl_node_size() != ompl_size()) serve_requests();  // memory that all map needs nobody
  check(ompl_barrier(), "the images do not meet");
  process = ::getpid();
  ::on_exit(&at_exit, nullptr);
}

namespace {

// Images mostly end at about the same time. Until then nobody is told that another has stopped, if all come soon.
void await_the_others() {
  constexpr auto kPatience = std::chrono::milliseconds(200);
  constexpr int64_t kPause = 200'000;  // ns
  State& now = state();
  Team& all = *now.initial;
  std::atomic_ref<uint64_t>(all.block->leaving).store(1);
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  for (uint32_t rank = 0; rank < now.size;) {
    uint64_t leaving = 0;
    const uint64_t address = all.blocks[rank] + (as_number(&all.block->leaving) - as_number(all.block));
    if (now.failed[rank] || now.stopped[rank] || get(rank, address, &leaving, sizeof leaving) != kOk ||
        leaving != 0) {
      ++rank;
      continue;
    }
    if (std::chrono::steady_clock::now() > limit) return;
    ompl_progress(OMPL_CTX_DEFAULT, kPause);
    learn();
  }
}

void leave(bool at_once) {
  State& now = state();
  if (now.initial == nullptr || now.ended) return;
  now.ended = true;
  complete();
  if (!at_once) await_the_others();
  ompl_stop();
  ompl_finalize();
  end_mpi();
}

}  // namespace

void end_program() { leave(false); }

void stop(int code) {
  leave(true);
  std::exit(code);
}

void error_stop(int code, const std::string& reason) {
  state().ended = true;
  std::fflush(nullptr);
  if (code == 0) ompl_job_exit(0);
  ompl_abort((code & 0xff) == 0 ? 1 : code & 0xff, reason.c_str());
  std::_Exit(code);  // the layer had not begun
}

void fail_image() {
  std::fflush(nullptr);
  state().ended = true;
  std::_Exit(0);
}

uint64_t job_seed() { return state().seed; }

}  // namespace caf
