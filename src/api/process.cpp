// SPDX-License-Identifier: BSD-3-Clause
#include "api/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <memory>
#include <mutex>

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

// Gives the implicit context back when its thread ends.
struct ThreadEnd {
  Context* context = nullptr;
  ~ThreadEnd() {
    if (context != nullptr) context->runtime->abandon_context(context);
    t_context = nullptr;
  }
};
thread_local ThreadEnd t_end;

thread_local constinit ompl_windows t_hidden_windows{};

// SIGUSR1 asks for a hang report. Blocked threads look every slice of their sleep; with none, say so here.
void on_report_signal(int /*number*/) {
  Runtime* runtime = g_runtime.load();
  if (runtime == nullptr || g_state.load() != State::running) return;
  if (runtime->anyone_blocked()) {
    runtime->request_report();
    return;
  }
  constexpr std::string_view kNone = "ompl hang report: no thread is blocked in the library\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kNone.data(), kNone.size());
}

// The child of a fork shares its parent's segment and connections, and must use neither.
void in_forked_child() {
  if (g_state.load() != State::running) return;
  g_state.store(State::forked);
  g_runtime.load()->disown();
  t_context = nullptr;
  t_end.context = nullptr;
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
  if (const int code = Settings::read(&settings); code != OMPL_OK) return code;
  log::set_level(settings.log_level);
  Settings::warn_of_near_misses();
  std::unique_ptr<bootstrap::Bootstrap> bootstrap;
  if (const int code = bootstrap::connect(settings, &bootstrap); code != OMPL_OK) return code;
  log::set_rank(static_cast<int>(bootstrap->rank()));
  std::unique_ptr<Runtime> runtime;
  const int code = Runtime::create(settings, std::move(bootstrap), conduit::registry(), &runtime);
  if (code != OMPL_OK) return code;
  runtime->set_implicit_lookup([] { return t_context != nullptr ? t_context : implicit_context(); });
  g_runtime.store(runtime.release());
  return OMPL_OK;
}

}  // namespace

int init() {
  const std::lock_guard lock(g_mutex);
  if (g_state.load() != State::fresh) {
    return wrong_state("ompl_init: already called; it may be called once per process");
  }
  int code = OMPL_OK;
  try {
    code = start();
  } catch (const std::exception& error) {
    code = fail(OMPL_ERR_MEMORY, "ompl_init: {}", error.what());
  }
  if (code != OMPL_OK) return code;
  g_state.store(State::running);
  install_report_signal();
  ::pthread_atfork(nullptr, nullptr, in_forked_child);
  return OMPL_OK;
}

int finalize() {
  const std::lock_guard lock(g_mutex);
  if (g_state.load() != State::running) return wrong_state();
  Context* context = t_context != nullptr ? t_context : implicit_context();
  g_state.store(State::finalized);
  return g_runtime.load()->finalize(*context);
}

Context* implicit_context() {
  if (g_state.load() != State::running) {
    wrong_state();
    return nullptr;
  }
  const bool is_traced = &ompl_tracer != nullptr;
  t_end.context = g_runtime.load()->open_context(is_traced ? &t_hidden_windows : &ompl_thread_windows);
  t_context = t_end.context;
  return t_context;
}

int wrong_state(const char* when_running) {
  switch (g_state.load()) {
    case State::fresh:
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
