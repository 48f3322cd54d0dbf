// SPDX-License-Identifier: BSD-3-Clause
// The main program of a worker, for one adapter.
#pragma once

#include <sched.h>

#include <stdexcept>
#include <thread>

#include "adapter.hpp"
#include "control.hpp"
#include "flow.hpp"
#include "pingpong.hpp"
#include "rate.hpp"
#include "team.hpp"

namespace bench {

template <Adapter A>
class Worker {
 public:
  Worker(A& library, const Setup& setup, Control& control)
      : library_(library), control_(control), team_(setup.threads, library.rank()) {}

  void serve() {
    while (const auto command = control_.next()) {
      const double before = cpu_seconds();
      Report report = report_of(execute(*command));
      report.emplace_back("cpu_seconds", cpu_seconds() - before);
      control_.report(report);
      if (command->attend) attend();
    }
  }

 private:
  using Reports = std::vector<ThreadReport>;

  Reports execute(const Command& command) {
    if (command.what == "pingpong" || command.what == "flow") {
      if (command.op == "put") return exchange<PutFlag<A>>(command);
      if constexpr (Notifying<A>) {
        if (command.op == "putsignal") return exchange<PutSignal<A>>(command);
      }
      if constexpr (TwoSided<A>) {
        if (command.op == "sendrecv") return exchange<SendReceive<A>>(command);
      }
    }
    if (command.what == "rate") {
      return each(command, [&](int i) { return Stream<A>(library_, i, command).send(); });
    }
    if (command.what == "drain") {
      return each(command, [&](int i) {
        Stream<A>(library_, i, command)
            .drain(command.counts.at(static_cast<std::size_t>(i)), corrupt());
        return ThreadReport{};
      });
    }
    throw std::runtime_error("this worker cannot do " + command.what + " " + command.op);
  }

  template <class Link>
  Reports exchange(const Command& command) {
    return each(command, [&](int i) {
      if (command.what == "flow") {
        Flow<Link> flow({library_, i, command.size}, command, corrupt());
        return library_.rank() == 0 ? flow.lead() : flow.follow();
      }
      if (i == 0 && library_.rank() == 0 && command.asleep > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(command.asleep));
      Pair<Link> pair({library_, i, command.size}, command, corrupt());
      return library_.rank() == 0 ? pair.lead() : pair.follow();
    });
  }

  template <class Task>
  Reports each(const Command& command, const Task& task) {
    Reports reports(static_cast<std::size_t>(command.threads));
    team_.run(command.threads, [&](int i) {
      const auto before = failed_claims();
      ThreadReport& report = reports[static_cast<std::size_t>(i)] = task(i);
      if (before) report.failed_claims = *failed_claims() - *before;
    });
    return reports;
  }

  // By a measuring thread: libraries count threads to see how crowded the cores are.
  void attend() {
    if constexpr (Attending<A>) {
      team_.run(1, [this](int /*thread*/) {
        while (!control_.pending()) library_.attend(), sched_yield();
      });
    }
  }

  std::optional<uint64_t> failed_claims() {
    if constexpr (Counting<A>) return library_.failed_claims();
    return std::nullopt;
  }

  OnCorrupt corrupt() {
    return [this](const std::string& what) { control_.corrupt(what); };
  }

  A& library_;
  Control& control_;
  Team team_;
};

template <Adapter A>
int worker_main(int argc, char** argv) {
  return run_worker<A>(argc, argv, [](A& library, const Setup& setup, Control& control) {
    Worker<A>(library, setup, control).serve();
  });
}

}  // namespace bench
