// SPDX-License-Identifier: BSD-3-Clause
// Rates of 8-byte put + flag over the stand-in device, which completes at once and delivers nothing meanwhile:
//   ompl_verbs_rate ompl THREADS SLOTS MILLISECONDS   threads of one rank, on a pool of so many endpoints
//   ompl_verbs_rate claims THREADS SLOTS MILLISECONDS the same, counting claims that failed
//   ompl_verbs_rate baseline THREADS - MILLISECONDS       bare queue pairs, one per thread: write with immediate, and polls
// prints one line of JSON (omni figures).
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "conduit/registry.hpp"
#include "conduit/verbs/library.hpp"
#include "conduit/verbs/tests/stub/stub_call.hpp"
#include "conformance/conformance.hpp"

namespace {

using namespace ompl::conformance;  // NOLINT(google-build-using-namespace)
using ompl::conduit::verbs::Library;
using ompl::conduit::verbs::Owned;
using Clock = std::chrono::steady_clock;

struct Task {
  unsigned threads, slots;
  std::chrono::milliseconds time;
};

// What each thread has done, on lines of their own.
struct alignas(64) Done {
  uint64_t messages = 0;
  uint64_t retries = 0;
};

// Calls `step` until the time is over; all threads begin together.
template <class Step>
uint64_t run_for(std::atomic<unsigned>& ready, const Task& task, Step step) {
  ++ready;
  while (ready < task.threads) std::this_thread::yield();
  const auto end = Clock::now() + task.time;
  uint64_t messages = 0;
  while (Clock::now() < end) {
    for (int i = 0; i < 1000; ++i) step();
    messages += 1000;
  }
  return messages;
}

void discard(bool on) {
  if (auto* const function = STUB(verbs_stub_discard); function != nullptr) function(on ? 1 : 0);
}

std::vector<Done> run_ompl(const Task& task, bool statistics) {
  std::vector<Done> done(task.threads);
  const auto fabric = every_rank(ompl::conduit::self::make, ompl::conduit::verbs::make);
  ThreadWorld world(fabric(2), {.ranks = 2, .endpoints = task.slots, .statistics = statistics});
  const uint64_t data = world.allocate(4096);
  const uint64_t flags = world.allocate(4096);
  const uint64_t end = world.allocate(64);
  std::atomic<unsigned> connected{0}, ready{0}, finished{0};
  world.run(
      [&](Rank& r) {
        if (r.rank == 1) {
          if (r.thread == 0) ok(r.wait(end));
          return;
        }
        const uint64_t value = 42, my_data = data + 64 * r.thread, my_flag = flags + 64 * r.thread;
        for (unsigned slot = 0; slot < task.slots;
             ++slot) {  // every endpoint connects and knows the key
          ok(ompl_put_signal(address(&value), 1, my_data, 8, my_flag));
          ok(ompl_quiet());
        }
        if (++connected == task.threads) discard(true);
        while (connected < task.threads) std::this_thread::yield();
        done[r.thread].messages = run_for(ready, task, [&] {
          ompl_put(address(&value), 1, my_data, 8);
          ompl_put_word(1, my_flag);
        });
        ompl_statistics counted = OMPL_STATISTICS_INIT;
        if (statistics) ok(ompl_ctx_statistics(OMPL_CTX_DEFAULT, &counted));
        done[r.thread].retries = counted.retries;
        if (++finished < task.threads) return;
        discard(false);
        ok(ompl_put_word(1, end));
      },
      task.threads);
  return done;
}

// A queue pair that is connected to itself: while the device discards, nobody has to receive.
struct Bare {
  Owned<ibv_cq> queue;
  Owned<ibv_qp> pair;
  uint64_t posted = 0, done = 0;

  Bare(const Library& library, ibv_context* context, ibv_pd* domain)
      : queue(library.create_cq(context, 256, nullptr, nullptr, 0), library.destroy_cq),
        pair(nullptr, library.destroy_qp) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap.max_send_wr = kDepth;
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_inline_data = 64;
    pair.reset(library.create_qp(domain, &wanted));
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      ibv_qp_attr to{};
      to.qp_state = state;
      to.dest_qp_num = pair->qp_num;
      library.modify_qp(pair.get(), &to, IBV_QP_STATE | IBV_QP_DEST_QPN);
    }
  }

  void message(const uint64_t* value) {
    ibv_sge piece{.addr = address(value), .length = sizeof *value, .lkey = 0};
    ibv_send_wr work{};
    ibv_send_wr* bad = nullptr;
    work.wr_id = ++posted;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    if (ibv_post_send(pair.get(), &work, &bad) != 0) std::abort();
    while (posted - done == kDepth) {
      ibv_wc completions[16];
      done += static_cast<uint64_t>(std::max(ibv_poll_cq(queue.get(), 16, completions), 0));
    }
  }

  static constexpr uint32_t kDepth = 128;
};

std::vector<Done> run_baseline(const Task& task) {
  std::vector<Done> done(task.threads);
  Library library;
  if (library.load() != 0) std::abort();
  int count = 0;
  ibv_device** const devices = library.get_device_list(&count);
  const Owned<ibv_context> context(library.open_device(devices[0]), library.close_device);
  const Owned<ibv_pd> domain(library.alloc_pd(context.get()), library.dealloc_pd);
  discard(true);
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < task.threads; ++i) {
    threads.emplace_back([&, i] {
      Bare bare(library, context.get(), domain.get());
      const uint64_t value = 42;
      done[i].messages = run_for(ready, task, [&] { bare.message(&value); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 5 ? argv[1] : "";
  if (what != "ompl" && what != "claims" && what != "baseline") {
    fmt::print(stderr, "usage: ompl_verbs_rate ompl|claims|baseline THREADS SLOTS MILLISECONDS\n");
    return 2;
  }
  const Task task{.threads = std::max(1U, static_cast<unsigned>(std::atoi(argv[2]))),
                  .slots = std::max(1U, static_cast<unsigned>(std::atoi(argv[3]))),
                  .time = std::chrono::milliseconds(std::atoi(argv[4]))};
  ompl::log::set_level(ompl::log::Level::error);
  const std::vector<Done> done =
      what == "baseline" ? run_baseline(task) : run_ompl(task, what == "claims");
  uint64_t messages = 0, retries = 0, least = UINT64_MAX;
  for (const Done& thread : done) {
    messages += thread.messages;
    retries += thread.retries;
    least = std::min(least, thread.messages);
  }
  fmt::print(
      "{{\"threads\": {}, \"slots\": {}, \"per_second\": {:.0f}, \"least\": {}, \"failed_claims\": "
      "{:.4f}}}\n",
      task.threads, task.slots,
      static_cast<double>(messages) / (static_cast<double>(task.time.count()) * 1e-3), least,
      static_cast<double>(retries) / static_cast<double>(std::max<uint64_t>(messages, 1)));
  return ::testing::Test::HasFailure() ? 1 : 0;
}
