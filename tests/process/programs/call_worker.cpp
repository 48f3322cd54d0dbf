// SPDX-License-Identifier: BSD-3-Clause
// The program that calls.py runs as ranks: call_worker TASK [ARGUMENTS]. Exit code 0: done; 3: a rank's death was reported as
// documented; anything else: a failure, with a line on stderr.
#include <omnipgas/ompl_calls.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ranks_worker.hpp"

namespace {

constexpr int kPeerDied = 3;
constexpr uint32_t kMostThreads = 8;

uint32_t size() { return static_cast<uint32_t>(ompl_size()); }

uint32_t add(const char* name, ompl_call_fn code, void* user = nullptr) {
  uint32_t function = 0;
  ok(ompl_call_register(name, code, user, &function), "ompl_call_register");
  return function;
}

ompl_call_request request(uint32_t function, const void* arguments, std::size_t length) {
  ompl_call_request made = OMPL_CALL_INIT;
  made.function = function;
  made.arguments = arguments;
  made.length = length;
  return made;
}

// --- flood THREADS CALLS: every thread of every rank calls every rank, with arguments of every length. Each call runs once, those of a
// thread in order, and is whole; every other one calls back.

struct Message {
  uint32_t thread, number, length, sum;
};

uint32_t sum_of(const unsigned char* bytes, std::size_t length) {
  uint32_t sum = 1;
  for (std::size_t i = 0; i < length; ++i) sum = sum * 31 + bytes[i];
  return sum;
}

struct Flood {
  std::unique_ptr<std::atomic<uint32_t>[]> next;  // of each thread of each rank
  std::atomic<uint64_t> arrived{0};
  std::atomic<uint64_t> answered{0};
  uint32_t back = 0;
} g_flood;

uint64_t arrive(void* /*user*/, const ompl_call_context* call) {
  Message told{};
  expect(call->length >= sizeof told, "a call is shorter than it was");
  std::memcpy(&told, call->arguments, sizeof told);
  expect(call->length == sizeof told + told.length, "a call has another length");
  const auto* const bytes = static_cast<const unsigned char*>(call->arguments) + sizeof told;
  expect(sum_of(bytes, told.length) == told.sum, "a call is not whole");
  std::atomic<uint32_t>& next = g_flood.next[call->source * kMostThreads + told.thread];
  expect(next.fetch_add(1) == told.number, "a call of a thread overtook another, or ran twice");
  if (told.number % 2 == 0) {
    const ompl_call_request back = request(g_flood.back, bytes, told.length / 2);
    ok(ompl_call(call->context, call->source, &back, nullptr, OMPL_FOREVER), "a function's call");
  }
  ++g_flood.arrived;
  return told.sum;
}

uint64_t count_answer(void* /*user*/, const ompl_call_context* /*call*/) {
  ++g_flood.answered;
  return 0;
}

void flood_thread(uint32_t function, uint32_t thread, uint32_t calls) {
  std::vector<unsigned char> bytes(OMPL_CALL_ARGUMENTS);
  for (uint32_t number = 0; number < calls; ++number) {
    const uint32_t length = number % 37 == 0 ? number * 61 % (OMPL_CALL_ARGUMENTS - 16) : number % 120;
    unsigned char* const rest = bytes.data() + sizeof(Message);
    for (uint32_t i = 0; i < length; ++i)
      rest[i] = static_cast<unsigned char>(i * number + thread + rank());
    const Message told{
        .thread = thread, .number = number, .length = length, .sum = sum_of(rest, length)};
    std::memcpy(bytes.data(), &told, sizeof told);
    const ompl_call_request call = request(function, bytes.data(), sizeof told + length);
    for (uint32_t to = 0; to < size(); ++to) {
      uint64_t reply = 0;
      ok(ompl_call(OMPL_CTX_DEFAULT, to, &call, number % 16 == 5 ? &reply : nullptr, OMPL_FOREVER),
         "ompl_call");
      expect(number % 16 != 5 || reply == told.sum, "a reply is another call's");
    }
  }
}

int flood(char** arguments) {
  const auto threads = static_cast<uint32_t>(std::stoul(arguments[0]));
  const auto calls = static_cast<uint32_t>(std::stoul(arguments[1]));
  g_flood.next = std::make_unique<std::atomic<uint32_t>[]>(size() * kMostThreads);
  g_flood.back = add("count_answer", count_answer);
  const uint32_t function = add("arrive", arrive);
  std::vector<std::thread> pool;
  for (uint32_t thread = 0; thread < threads; ++thread)
    pool.emplace_back(flood_thread, function, thread, calls);
  for (std::thread& thread : pool) thread.join();
  const uint64_t all = uint64_t{size()} * threads * calls;
  const uint64_t even = uint64_t{size()} * threads * ((calls + 1) / 2);
  while (g_flood.arrived < all || g_flood.answered < even)
    expect(ompl_progress(OMPL_CTX_DEFAULT, 100'000'000) >= 0, "ompl_progress");
  ok(ompl_barrier(), "ompl_barrier");
  expect(g_flood.arrived == all && g_flood.answered == even, "more calls ran than were made");
  return 0;
}

// --- death: the last rank ends by a signal while all call each other. Every survivor's call ends with the error.

uint64_t echo(void* /*user*/, const ompl_call_context* call) { return call->source; }

int death(char** /*arguments*/) {
  const uint32_t function = add("echo", echo);
  const uint64_t number = 0;
  const ompl_call_request call = request(function, &number, sizeof number);
  for (uint32_t i = 0;; ++i) {
    if (rank() == size() - 1 && i == 500) ::raise(SIGKILL);
    for (uint32_t to = 0; to < size(); ++to) {
      uint64_t reply = 0;
      const int code =
          ompl_call(OMPL_CTX_DEFAULT, to, &call, i % 4 == 0 ? &reply : nullptr, OMPL_FOREVER);
      if (code == OMPL_ERR_PEER || code == OMPL_ERR_LINK) std::_Exit(kPeerDied);
      ok(code, "ompl_call");
    }
  }
}

// --- rings: the last rank takes the only ring of rank 0 and dies; the calls of rank 1, which has none, run before and after.
// With OMPL_CALL_MEMORY=1.

int rings(char** /*arguments*/) {
  const uint32_t function = add("echo", echo);
  const uint64_t flag = allocate(4);
  const ompl_call_request call = request(function, nullptr, 0);
  const uint32_t last = size() - 1;
  uint64_t reply = 99;
  if (rank() == last) {
    ok(ompl_call(OMPL_CTX_DEFAULT, 0, &call, &reply, OMPL_FOREVER), "the call of who dies");
    ok(ompl_put_word(1, flag), "ompl_put_word");
    ok(ompl_quiet(), "ompl_quiet");
    ok(ompl_wait(flag), "ompl_wait");
    ::raise(SIGKILL);
  }
  if (rank() == 1) {
    ok(ompl_wait(flag), "ompl_wait");
    ok(ompl_call(OMPL_CTX_DEFAULT, 0, &call, &reply, OMPL_FOREVER), "the call beside a ring");
    expect(reply == 1, "its reply");
    ok(ompl_put_word(last, flag), "ompl_put_word");
    size_t dead = 0;
    while (dead == 0) {
      ok(ompl_call(OMPL_CTX_DEFAULT, 0, &call, &reply, OMPL_FOREVER),
         "a call until the death is known");
      ok(ompl_failed_ranks(nullptr, 0, &dead), "ompl_failed_ranks");
    }
    for (int i = 0; i < 100; ++i)
      ok(ompl_call(OMPL_CTX_DEFAULT, 0, &call, i % 2 == 0 ? &reply : nullptr, OMPL_FOREVER),
         "a call after the death");
    expect(reply == 1, "the reply");
    ok(ompl_put_word(0, flag), "ompl_put_word");
    static_cast<void>(ompl_quiet());  // tells of what went to the rank that died, too
  } else {
    while (ompl_poll(flag) != 1) static_cast<void>(ompl_progress(OMPL_CTX_DEFAULT, 1'000'000));
  }
  std::_Exit(kPeerDied);
}

// --- throws: an exception that nobody can be told of.

uint64_t throws(void* /*user*/, const ompl_call_context* /*call*/) {
  throw std::runtime_error("no such thing");
}

int throws_unseen(char** /*arguments*/) {
  const uint32_t function = add("the_one_that_throws", throws);
  const ompl_call_request call = request(function, nullptr, 0);
  if (rank() == 0) ok(ompl_call(OMPL_CTX_DEFAULT, next(), &call, nullptr, OMPL_FOREVER), "ompl_call");
  for (;;) static_cast<void>(ompl_progress(OMPL_CTX_DEFAULT, 100'000'000));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string task = count > 1 ? arguments[1] : "";
  int (*run)(char**) = nullptr;
  if (task == "flood" && count == 4) run = flood;
  if (task == "death") run = death;
  if (task == "rings") run = rings;
  if (task == "throws") run = throws_unseen;
  if (run == nullptr) return 2;
  ok(ompl_init(), "ompl_init");
  const int code = run(arguments + 2);
  ok(ompl_finalize(), "ompl_finalize");
  return code;
}
