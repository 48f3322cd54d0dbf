// SPDX-License-Identifier: BSD-3-Clause
// Adapter of the rival design of the related work (Tsugane et al.; Endo et al.): threads do not call MPI, they leave
// requests with one communication thread that does, at MPI_THREAD_FUNNELED. A thread that waits for a flag looks at its
// memory; one that sends or receives waits until the communication thread says that it is done.
#include <sched.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "harness/requests.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "mpi_caller.hpp"

namespace {

using Line = bench::Requests;
using What = bench::Request::What;

class Delegate : public bench::WindowAdapter {
 public:
  Delegate(const bench::Setup& setup, int argc, char** argv)
      : WindowAdapter(setup, 1),
        lines_(static_cast<std::size_t>(setup.threads)),
        mpi_(window_, lines_.size()) {
    std::promise<void> opened;
    caller_ = std::thread([&, argc, argv]() mutable { communicate(argc, argv, opened); });
    try {
      opened.get_future().get();
      rank_ = mpi_.rank;
    } catch (...) {
      caller_.join();
      throw;
    }
  }
  ~Delegate() {
    stop_ = true;
    caller_.join();
  }

  [[nodiscard]] bench::Description describe() const {
    return {mpi_.version,
            "chosen by the library",
            1,
            {{"thread level asked", "MPI_THREAD_FUNNELED"},
             {"thread level granted", bench::mpi_level(mpi_.granted)},
             {"threads that call MPI", "one, besides those that measure"}}};
  }

  // The source may be used again after the next flush, or once the other side has answered.
  void put(int i, std::size_t offset, std::size_t bytes) { at(i).add({What::put, offset, bytes}); }
  void signal(int i) { at(i).add({What::signal}); }
  void flush(int i) { ask(i, {What::flush}); }
  void look(int i) { flush(i); }
  void send(int i, std::size_t bytes) { ask(i, {What::send, 0, bytes}); }
  void receive(int i, std::size_t bytes) { ask(i, {What::receive, 0, bytes}); }

 private:
  void ask(int i, const bench::Request& request) {
    at(i).add(request);
    at(i).wait(window_.crowded());
  }

  // The communication thread.
  void communicate(int argc, char** argv, std::promise<void>& opened) {
    try {
      mpi_.open(argc, argv);
    } catch (...) {
      return opened.set_exception(std::current_exception());
    }
    opened.set_value();
    while (!stop_) serve();
    mpi_.close();
  }

  // One request of each thread that has one; if there is none, progress for the other rank.
  void serve() {
    bool idle = true;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (const bench::Request* request = lines_[i].next()) {
        idle = false;
        if (mpi_.carry_out(static_cast<int>(i), *request)) lines_[i].done();
      }
    }
    if (!idle) return;
    mpi_.progress();
    if (window_.crowded()) sched_yield();
  }

  Line& at(int i) { return lines_[static_cast<std::size_t>(i)]; }

  std::vector<Line> lines_;
  bench::MpiCaller mpi_;  // the communication thread's, but for what it says of itself
  std::atomic<bool> stop_ = false;
  std::thread caller_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Delegate>(argc, argv); }
