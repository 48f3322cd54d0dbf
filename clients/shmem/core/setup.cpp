// SPDX-License-Identifier: BSD-3-Clause
// Beginning and end. The layer can begin once in a process, OpenSHMEM may begin again: the last finalize() gives everything
// back but the layer itself, which ends with the process.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/inlined.hpp"
#include "core/settings.hpp"
#include "core/state.hpp"
#include "core/turns.hpp"

namespace shmem_core {

State& only_state = *new State;

namespace {

constexpr const char* kName = SHMEM_VENDOR_STRING;
constexpr std::size_t kDefaultSegment = std::size_t{16} << 30;  // as OMPL_SEGMENT_SIZE

std::mutex setup_mutex;  // of what follows
int initialised = 0;     // calls that no finalize() has matched
bool layer_is_up = false;
bool layer_is_ours = false;
pid_t process = 0;

// The heap may be in pieces: twice its size holds it, whatever the order of calls.
void choose_segment(const Settings& settings) {
  const std::size_t needed =
      2 * settings.symmetric_size + 2 * static_data_length() + (std::size_t{256} << 20);
  if (needed > kDefaultSegment) ::setenv("OMPL_SEGMENT_SIZE", std::to_string(needed).c_str(), 0);
}

// What others do to this PE goes on while it computes, as the specification demands: memory that all map needs nobody for it. Who
// sets OMPL_PROGRESS decides.
void serve_others() {
  const bool all_mapped = ompl_node_size() == ompl_size();
  if (all_mapped || std::getenv("OMPL_PROGRESS") != nullptr) return;
  if (const int code = ompl_set_progress_thread(1); code != OMPL_OK)
    std::fprintf(stderr, "shmem_init: other PEs wait while this one computes: %s\n",
                 failure_text(code).c_str());
}

void at_exit(int status, void* /*unused*/) {
  if (process != ::getpid() || !layer_is_up || !layer_is_ours) return;
  if (initialised > 0 && status != 0)
    return;  // others need not come: the launcher ends the job with this status
  if (initialised > 0) barrier_all();
  initialised = 0;
  layer_is_up = false;
  ompl_finalize();
}

int start_layer(const Settings& settings) {
  choose_segment(settings);
  const int code = ompl_init();
  layer_is_ours = code == OMPL_OK;
  if (!layer_is_ours && (code != OMPL_ERR_STATE || ompl_rank() < 0))
    return code;  // else the program has begun it
  process = ::getpid();
  layer_is_up = true;
  State& now = state();
  now.pe = ompl_rank();
  now.pes = ompl_size();
  uint64_t offset = 0;
  if (const int failure = ompl_alloc(SetTurn::kWords, &offset); failure != OMPL_OK) return failure;
  now.words = offset;
  for (int pe = 0; pe < now.pes; ++pe)
    now.mapped.push_back(ompl_ptr(static_cast<uint32_t>(pe), offset) != nullptr ? 1 : 0);
  now.base = local(ompl_ptr(static_cast<uint32_t>(now.pe), offset)) - offset;
  if (const int failure = adopt_static_data(); failure != OMPL_OK) return failure;
  if (const int failure = make_predefined_teams(); failure != OMPL_OK) return failure;
  if (const int failure = make_operations(); failure != OMPL_OK) return failure;
  serve_others();
  ::on_exit(&at_exit, nullptr);
  return OMPL_OK;
}

int begin(int level) {
  const std::lock_guard lock(setup_mutex);
  if (initialised > 0) {
    ++initialised;
    return OMPL_OK;
  }
  Settings settings;
  if (const std::string wrong = read_settings(&settings); !wrong.empty())
    return refuse(OMPL_ERR_ARG, "%s", wrong.c_str());
  if (!layer_is_up) {
    if (const int code = start_layer(settings); code != OMPL_OK) return code;
  }
  State& now = state();
  now.thread_level = level;
  now.debug = settings.debug;
  set_heap_limit(settings.symmetric_size);
  initialised = 1;
  open_inlined();
  if (now.pe == 0 && (settings.version || settings.info)) {
    std::printf("%s %s, OpenSHMEM %d.%d\n%s", kName, ompl_version(), SHMEM_MAJOR_VERSION,
                SHMEM_MINOR_VERSION, settings.info ? describe(settings).c_str() : "");
    std::fflush(stdout);
  }
  return barrier_all();
}

void say(const char* function, int code) {
  try {
    std::fprintf(stderr, "%s: %s\n", function, failure_text(code).c_str());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: %s\n", function, ompl_strerror(code));
  }
}

int begin_or_exit(const char* function, int level) {
  const int code = begin(level);
  if (code == OMPL_OK) return code;
  if (layer_is_up) failed(function, code);
  say(function, code);
  std::_Exit(1);
}

}  // namespace

int init() { return begin_or_exit("shmem_init", SHMEM_THREAD_SINGLE); }

int start() {
  int already = 0;
  query_initialized(&already);
  return already != 0 ? OMPL_OK : begin_or_exit("start_pes", SHMEM_THREAD_SINGLE);
}

int init_thread(int requested, int* provided) {
  if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
    std::fprintf(stderr, "shmem_init_thread: %d is no thread level\n", requested);
    return -1;
  }
  if (const int code = begin(requested); code != OMPL_OK) {
    say("shmem_init_thread", code);
    return code;
  }
  return query_thread(provided);
}

int query_thread(int* provided) {
  if (provided != nullptr) *provided = state().thread_level;
  return OMPL_OK;
}

void query_initialized(int* initialized) {
  const std::lock_guard lock(setup_mutex);
  *initialized = initialised > 0 ? 1 : 0;
}

int finalize() {
  if (const int code = barrier_all(); code != OMPL_OK) return code;
  const std::lock_guard lock(setup_mutex);
  if (initialised == 0) return refuse(OMPL_ERR_STATE, "it was called more often than shmem_init()");
  if (--initialised > 0) return OMPL_OK;
  close_inlined();
  if (const int code = end_teams(); code != OMPL_OK) return code;
  return end_heap();
}

void global_exit(int status) {
  std::fflush(nullptr);
  ompl_job_exit(status & 0xff);  // as exit() takes it
  std::_Exit(status);            // before shmem_init()
}

int my_pe() { return state().pe; }
int n_pes() { return state().pes; }

int pe_accessible(int pe) { return pe >= 0 && pe < state().pes ? 1 : 0; }

int addr_accessible(const void* address, int pe) {
  const uint64_t offset = offset_of(address);
  const bool allocated = offset != 0 && ompl_ptr(static_cast<uint32_t>(state().pe), offset) != nullptr;
  return allocated ? pe_accessible(pe) : 0;
}

void* pointer(const void* address, int pe) {
  if (pe_accessible(pe) == 0) return nullptr;
  const uint64_t offset = offset_of(address);
  if (offset == 0) return nullptr;
  if (pe == state().pe) return const_cast<void*>(address);
  return ompl_ptr(static_cast<uint32_t>(pe), offset);
}

int info_version(int* major, int* minor) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
  return OMPL_OK;
}

int info_name(char* name) {
  std::snprintf(name, SHMEM_MAX_NAME_LEN, "%s", kName);
  return OMPL_OK;
}

}  // namespace shmem_core
