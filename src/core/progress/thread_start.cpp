// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/thread_start.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "omnipgas/ompl.h"
#include "util/status.hpp"

namespace ompl {

namespace {

// While it lives the calling thread, and so one that it starts, gets no signal of others.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t others;
    ::sigfillset(&others);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      ::sigdelset(&others, fault);
    ::pthread_sigmask(SIG_SETMASK, &others, &before_);
  }
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

int start_progress_thread(std::thread* thread, std::function<void()> work) {
  try {
    const WithoutSignals masked;
    *thread = std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return fail(OMPL_ERR_SYSTEM, "cannot start a progress thread: {}", error.what());
  }
  ::pthread_setname_np(thread->native_handle(), "ompl-progress");
  return OMPL_OK;
}

void bind_progress_thread(std::thread& thread, const arch::Core& processors) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const unsigned processor : processors) CPU_SET(processor, &wanted);
  static_cast<void>(::pthread_setaffinity_np(thread.native_handle(), sizeof wanted, &wanted));
}

Placement spare_core(const arch::Cores& cores, const Sharing& sharing) {
  const uint64_t count = cores.list.size();
  if (count == 0) return {.why = "the processors of this process are not known"};
  const uint64_t first = count * sharing.place / sharing.processes;
  const uint64_t end = count * (sharing.place + 1) / sharing.processes;
  Placement placement{.processors = cores.list[end > first ? end - 1 : std::min(first, count - 1)]};
  const std::string all = sharing.processes == 1 ? fmt::format("{} core(s) of this process", count)
                                                 : fmt::format("{} of {} cores that {} processes share",
                                                               end - first, count, sharing.processes);
  placement.spare = end - first > 1;
  if (placement.spare)
    placement.why = fmt::format("the last of {}", all);
  else if (end - first == 1)
    placement.why = fmt::format("{}: it computes there too, so shared may suit it better", all);
  else
    placement.why = fmt::format("{}: no core is left free, so shared may suit it better", all);
  return placement;
}

Placement node_core(const arch::Cores& cores) {
  if (cores.list.empty()) return spare_core(cores, {});
  return {.processors = cores.list.back(),
          .why = fmt::format("the last of {} core(s) of the process of the node's progress thread, for "
                             "all ranks of its node",
                             cores.list.size())};
}

}  // namespace ompl
