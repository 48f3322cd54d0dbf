// SPDX-License-Identifier: BSD-3-Clause
#include "api/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "arch/cancellation.hpp"
#include "arch/futex.hpp"
#include "bootstrap/bootstrap.hpp"
#include "conduit/registry.hpp"
#include "core/job/runtime.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

extern "C" {
__thread struct ompl_windows ompl_thread_windows;

// In the tracer that is preloaded (instruments/trace/ompl/interposer.cpp), else nowhere. Then what ompl_inline.h compiles into
// callers finds no window, and calls the functions.
OMPL_API __attribute__((weak)) extern const char ompl_tracer;  // NOLINT(readability-identifier-naming)
}

namespace ompl::api {

thread_local constinit Context* t_context = nullptr;

namespace {

enum class State { fresh, running, finalized, forked };

std::mutex g_mutex;  // init and finalize
std::atomic<State> g_state{State::fresh};
// Never destroyed: threads may end, and name their contexts, after finalize. Also read by the signal handler.
std::atomic<Runtime*> g_runtime{nullptr};

// A thread's implicit context is also a value of this key: thread-specific data end after the destructors of thread-local objects,
// and again if those of other data use the library.
pthread_key_t g_thread_end;
thread_local constinit int t_ends = 0;  // how often its context was given back

// Gives the implicit context of a thread that ends back.
void give_back_context(void* context) {
  ++t_ends;
  t_context = nullptr;
  auto* const c = static_cast<Context*>(context);
  c->runtime->contexts.abandon(c);
}

thread_local constinit ompl_windows t_hidden_windows{};

// SIGUSR1 asks for a hang report. Blocked threads look every slice of their sleep; with none, say so here.
void on_report_signal(int /*number*/) {
  Runtime* runtime = g_runtime.load();
  if (runtime == nullptr || g_state.load() != State::running) return;
  if (runtime->contexts.anyone_blocked()) {
    runtime->report_requested.store(true, std::memory_order_relaxed);
    return;
  }
  constexpr std::string_view kNone = "ompl hang report: no thread is blocked in the library\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kNone.data(), kNone.size());
}

// True in the thread that forks, while the memory of the runtime is kept still for it.
thread_local bool g_fork_held = false;

void before_fork() {
  if (g_state.load() != State::running) return;
  g_runtime.load()->memory.before_fork();
  g_fork_held = true;
}

void in_forking_parent() {
  if (std::exchange(g_fork_held, false)) g_runtime.load()->memory.after_fork_in_parent();
}

// The child of a fork shares its parent's segment and connections, and must use neither.
void in_forked_child() {
  if (std::exchange(g_fork_held, false)) g_runtime.load()->memory.after_fork_in_child();
  if (g_state.load() != State::running) return;
  g_state.store(State::forked);
  g_runtime.load()->contexts.disown();
  t_context = nullptr;
  ::pthread_setspecific(g_thread_end, nullptr);
}

// The process ends without ompl_finalize: libraries of networks are about to end, and the progress thread must not be in them.
void end_thread_at_exit() {
  if (g_state.load() == State::running) g_runtime.load()->progress.end_at_exit();
}

// Only where the program has not its own use for the signal.
void install_report_signal() {
  struct sigaction current {};
  if (::sigaction(SIGUSR1, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
  struct sigaction ours {};
  ours.sa_handler = on_report_signal;
  ours.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &ours, nullptr);
}

int start() {
  Settings settings;
  Settings::apply_log_level();
  if (const int code = Settings::read(&settings); code != OMPL_OK) return code;
  log::set_level(settings.log_level);
  Settings::warn_of_near_misses();
  if (const int error = arch::futex_refusal(true); error != 0) {
    return fail(OMPL_ERR_SYSTEM,
                "ompl_init: {}, since the C library aborts a process whose locks need it",
                call_text("futex", error));
  }
  std::unique_ptr<bootstrap::Bootstrap> bootstrap;
  if (const int code = bootstrap::connect(settings, &bootstrap); code != OMPL_OK) return code;
  log::set_rank(static_cast<int>(bootstrap->rank()));
  std::unique_ptr<Runtime> runtime;
  const int code = Runtime::create(settings, std::move(bootstrap), conduit::registry(), &runtime);
  if (code != OMPL_OK) return code;
  runtime->yield_hook.implicit_context = [] {
    return t_context != nullptr ? t_context : implicit_context();
  };
  runtime->remote_calls.set_exchange(exchange_context);
  g_runtime.store(runtime.release());
  return OMPL_OK;
}

}  // namespace

int init() {
  const std::lock_guard lock(g_mutex);
  if (g_state.load() != State::fresh) {
    return wrong_state("ompl_init: already called; it may be called once per process");
  }
  const arch::Uncancelled whole;
  int code = OMPL_OK;
  try {
    code = start();
  } catch (const std::exception& error) {
    code = fail(OMPL_ERR_MEMORY, "ompl_init: {}", error.what());
  }
  if (code != OMPL_OK) return code;
  if (const int error = ::pthread_key_create(&g_thread_end, give_back_context); error != 0)
    return fail(OMPL_ERR_SYSTEM, "ompl_init: no key for thread-specific data is left: {}",
                error_text(error));
  g_state.store(State::running);
  if (std::atexit(end_thread_at_exit) != 0)
    log::warn("atexit: no room; a progress thread may run on while the process ends");
  install_report_signal();
  ::pthread_atfork(before_fork, in_forking_parent, in_forked_child);
  return OMPL_OK;
}

// Without the mutex: a yield hook may go on in another thread.
int finalize() {
  State running = State::running;
  if (!g_state.compare_exchange_strong(running, State::finalized)) return wrong_state();
  Runtime& runtime = *g_runtime.load();
  return runtime.finalize(t_context != nullptr ? *t_context : runtime.contexts.last());
}

Context* implicit_context() {
  if (g_state.load() != State::running) {
    wrong_state();
    return nullptr;
  }
  if (t_ends == PTHREAD_DESTRUCTOR_ITERATIONS) {
    fail(OMPL_ERR_STATE,
         "this thread has ended but for the last destructors of its thread-specific data; call the "
         "library before");
    return nullptr;
  }
  const arch::Uncancelled whole;
  // Who comes here while the thread ends may be too late to be given back: its windows would be written when they are gone.
  ompl_windows* const windows = &ompl_tracer != nullptr ? &t_hidden_windows : &ompl_thread_windows;
  ContextTable& contexts = g_runtime.load()->contexts;
  Context* const context = contexts.open(t_ends == 0 ? windows : nullptr);
  if (::pthread_setspecific(g_thread_end, context) != 0) {
    contexts.abandon(context);
    throw std::bad_alloc();
  }
  t_context = context;
  return context;
}

Context* exchange_context(Context* context) { return std::exchange(t_context, context); }

int code_of_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(OMPL_ERR_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(OMPL_ERR_SYSTEM, "{}", error.what());
  } catch (...) {
    return fail(OMPL_ERR_SYSTEM, "the yield hook threw what is no std::exception");
  }
}

int wrong_state(const char* when_running) {
  switch (g_state.load()) {
    case State::fresh:
      Settings::apply_log_level();
      return fail(OMPL_ERR_STATE, "call ompl_init first");
    case State::running:
      return fail(OMPL_ERR_STATE, "{}", when_running);
    case State::finalized:
      return fail(OMPL_ERR_STATE, "the library is finalized: call nothing of it any more");
    case State::forked:
      break;
  }
  return fail(OMPL_ERR_STATE,
              "this process is a fork of a rank, which cannot use the library; let it execute another "
              "program, or fork before ompl_init");
}

}  // namespace ompl::api
