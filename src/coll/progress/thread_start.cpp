// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/thread_start.hpp"

#include <pthread.h>
#include <sched.h>

#include <system_error>
#include <utility>

#include "omnipgas/ompl.h"
#include "util/status.hpp"

namespace ompl::coll {

int start_progress_thread(std::thread* thread, std::function<void()> work) {
  try {
    *thread = std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return fail(OMPL_ERR_SYSTEM, "ompl_team_set_progress: cannot start a thread: {}", error.what());
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

}  // namespace ompl::coll
