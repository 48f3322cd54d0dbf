// SPDX-License-Identifier: BSD-3-Clause
// Remote calls, which other libraries have as active messages: a program for each, instruments/bench/calls/<library>.cpp. A
// call of thread i carries its payload to the other rank, where whichever thread is in the library runs a function: it copies
// the payload into the target buffer of channel i and counts. `pingpong` is the latency of a call, `flow` the rate of calls to
// threads that take them as they come.
#pragma once

#include <cstring>

#include "harness/control.hpp"
#include "harness/flow.hpp"
#include "harness/pingpong.hpp"
#include "harness/team.hpp"
#include "harness/window.hpp"

namespace bench {

// What the programs have in common. Constructors and destructors are collective, called by the main thread; call() and take()
// are called by thread i for channel i.
class Calls : public WindowAdapter {
 public:
  explicit Calls(const Setup& setup) : WindowAdapter(setup) { window_.allocate(); }

  // What the function does at its target, in any thread.
  void arrive(int channel, const void* payload, std::size_t bytes) const {
    std::memcpy(target(channel), payload, bytes);
    __atomic_fetch_add(window_.flag(channel), 1, __ATOMIC_RELEASE);
  }
};

// A library that has them: call() has the other rank run the function; the source buffer may be used again on return. take()
// makes progress until one more call of the channel has run here. rest(), if there is one, sends what waits for room.
template <class A>
concept Calling = std::derived_from<A, Calls> && requires(A a, int channel, std::size_t bytes) {
  { a.describe() } -> std::same_as<Description>;
  a.call(channel, bytes);
  a.take(channel);
};

template <Calling A>
struct RemoteCall {
  A& library;
  int channel;
  std::size_t size;
  void post() { library.call(channel, size); }
  void take() { library.take(channel); }
};

template <Calling A>
void serve_calls(A& library, const Setup& setup, Control& control) {
  Team team(setup.threads, library.rank());
  const OnCorrupt corrupt = [&](const std::string& what) { control.corrupt(what); };
  while (const auto command = control.next()) {
    const double before = cpu_seconds();
    std::vector<ThreadReport> reports(static_cast<std::size_t>(command->threads));
    const auto run = [&](auto side, int i) {
      reports[static_cast<std::size_t>(i)] = library.rank() == 0 ? side.lead() : side.follow();
    };
    team.run(command->threads, [&](int i) {
      const RemoteCall<A> link{library, i, command->size};
      if (command->what == "flow")
        run(Flow(link, *command, corrupt), i);
      else
        run(Pair(link, *command, corrupt), i);
      if constexpr (requires { library.rest(i); }) library.rest(i);
    });
    Report report = report_of(reports);
    report.emplace_back("cpu_seconds", cpu_seconds() - before);
    control.report(report);
  }
}

template <Calling A>
int calls_main(int argc, char** argv) {
  return run_worker<A>(argc, argv, serve_calls<A>);
}

}  // namespace bench
