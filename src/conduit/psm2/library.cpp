// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/psm2/library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <list>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "arch/environment.hpp"
#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"
#include "arch/signals.hpp"
#include "util/mutex.hpp"
#include "util/secret.hpp"
#include "util/status.hpp"

namespace ompl::conduit::psm2 {
namespace {

constexpr int kVersion = 2;
constexpr int64_t kOpenNs = 15'000'000'000;
constexpr uint32_t kMostMessage = 1U << 20;  // of data; PSM2's devices take about 8 KiB
constexpr int kMostAsked = 10'000;

thread_local std::string last_error;

// The library's own handler would end the process.
PsmError keep_error(PsmEndpoint* /*endpoint*/, PsmError error, const char* text, void* /*token*/) {
  last_error = in_words([text] { return std::string(text != nullptr ? text : ""); });
  return error;
}

// What it may be told by the environment alone, when it is initialised and when it opens an endpoint; what is set stays. Several
// endpoints in one process; no thread of its own, which would run our handlers beside us.
class Told {
 public:
  explicit Told(Devices devices)
      : lock_(mutex()),
        added_(&environments().emplace_back(),
               {"PSM2_MULTI_EP=1", "PSM2_RCVTHREAD=0", "HFI_NO_BACKTRACE=1", "IPATH_NO_BACKTRACE=1",
                // Without a card an endpoint's number holds 16 bits of its key by this format alone.
                devices == Devices::memory ? "PSM2_ADDR_FMT=1" : "PSM2_MULTI_EP=1"}) {}

 private:
  static std::mutex& mutex() {
    static std::mutex one_at_a_time;
    return one_at_a_time;
  }
  static std::list<std::vector<char*>>& environments() {
    static std::list<std::vector<char*>> all;  // other threads may still read them
    return all;
  }
  const std::lock_guard<std::mutex> lock_;
  const arch::KeptSignals kept_;
  const arch::AddedVariables added_;
};

std::atomic<const void*> code_of_library{nullptr};  // where it is loaded

bool is_of_library(const struct sigaction& action) {
  Dl_info handler{};
  auto* const address = reinterpret_cast<void*>(action.sa_sigaction);
  const void* const code = code_of_library;
  return code != nullptr && ::dladdr(address, &handler) != 0 && handler.dli_fbase == code;
}

constexpr std::array kFaults{SIGSEGV, SIGBUS};

struct NotedActions {
  Mutex mutex;
  std::array<struct sigaction, kFaults.size()> actions OMPL_GUARDED_BY(mutex){};
  bool noted OMPL_GUARDED_BY(mutex) = false;
};
NotedActions& noted_actions() {
  static NotedActions all;
  return all;
}

}  // namespace

void note_signal_actions() {
  NotedActions& all = noted_actions();
  const Lock lock(all.mutex);
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    struct sigaction now {};
    if (::sigaction(kFaults[i], nullptr, &now) == 0 && !is_of_library(now)) all.actions[i] = now;
  }
  all.noted = true;
}

void restore_signal_actions() {
  NotedActions& all = noted_actions();
  const Lock lock(all.mutex);
  for (std::size_t i = 0; all.noted && i < kFaults.size(); ++i) {
    struct sigaction now {};
    if (::sigaction(kFaults[i], nullptr, &now) == 0 && is_of_library(now))
      ::sigaction(kFaults[i], &all.actions[i], nullptr);
  }
}

int Library::load(Devices devices, const char* file) {
  std::string why;
  void* const handle = arch::open_library(file, {"HFI_NO_BACKTRACE=1", "IPATH_NO_BACKTRACE=1"}, &why);
  if (handle == nullptr)
    return fail(OMPL_ERR_UNSUPPORTED,
                "PSM2 cannot be loaded ({}): install libpsm2, or add its folder to LD_LIBRARY_PATH",
                why);
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!arch::find_symbol(handle, name, function)) missing = name;
  };
  find("psm2_init", &init);
  find("psm2_error_register_handler", &error_register_handler);
  find("psm2_error_get_string", &error_get_string);
  find("psm2_ep_open_opts_get_defaults", &ep_open_opts_get_defaults);
  find("psm2_ep_open", &ep_open);
  find("psm2_ep_close", &ep_close);
  find("psm2_ep_connect", &ep_connect);
  find("psm2_poll", &poll);
  find("psm2_am_get_parameters", &am_get_parameters);
  find("psm2_am_register_handlers_2", &am_register_handlers);
  find("psm2_am_get_source", &am_get_source);
  find("psm2_am_request_short", &am_request);
  find("psm2_am_reply_short", &am_reply);
  if (missing != nullptr)
    return fail(OMPL_ERR_UNSUPPORTED, "{} has no {}: it is not PSM2 2.2 or later", file, missing);
  Dl_info place{};
  if (::dladdr(reinterpret_cast<void*>(init), &place) != 0) code_of_library = place.dli_fbase;

  static std::once_flag once;
  static PsmError initialised = kPsmOk;
  std::call_once(once, [&] {
    const Told told(devices);
    int major = kVersion;
    int minor = 0;
    initialised = init(&major, &minor);
  });
  // Without a card it says so by an internal error, after all that self and shm need was done.
  if (initialised == kPsmOk || (devices == Devices::memory && initialised == kPsmInternalError))
    return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "PSM2 cannot be initialised: {}", text_of(initialised));
}

int Library::open(Devices devices, const PsmUuid& job, PsmOpened* opened) const {
  PsmUuid key = job;
  if (devices == Devices::memory) {
    // Two of a process would have one number, and so the same memory. Processes differ by their ids; where MPI_LOCALRANKID is
    // set PSM2 takes that instead, so they begin at different places.
    static std::atomic<uint16_t> count{static_cast<uint16_t>(unpredictable_number())};
    const uint16_t next = ++count;
    key[0] = static_cast<unsigned char>(next);
    key[1] = static_cast<unsigned char>(next >> 8);
  }
  const int code = open_alone(devices, key, opened);
  restore_signal_actions();  // a connector may have been at work, whose actions were taken for the program's
  return code;
}

int Library::open_alone(Devices devices, const PsmUuid& key, PsmOpened* opened) const {
  const Told told(devices);
  PsmOpenOptions options{};
  PsmOpened made;
  PsmError error = ep_open_opts_get_defaults(&options);
  options.timeout_ns = kOpenNs;
  options.affinity = 0;
  if (error == kPsmOk) error = ep_open(key.data(), &options, &made.endpoint, &made.number);
  if (error == kPsmTooManyEndpoints)
    return fail(
        OMPL_ERR_UNSUPPORTED,
        "this PSM2 opens one endpoint in a process (another user of PSM2 initialised it, or it is "
        "old): set OMPL_ENDPOINTS=1, or PSM2_MULTI_EP=1");
  if (error != kPsmOk)
    return fail(OMPL_ERR_UNSUPPORTED, "PSM2 cannot open an endpoint: {}", text_of(error));
  error_register_handler(made.endpoint, keep_error);
  if (const int code = ask_limits(&made); code != OMPL_OK) return code;
  *opened = made;
  return OMPL_OK;
}

// Another user of PSM2 in this process may be opening an endpoint: then no limit is there for a moment. Data longer than PSM2's
// buffers would be written over what follows them.
int Library::ask_limits(PsmOpened* opened) const {
  PsmMessageLimits& limits = opened->limits;
  for (int asked = 0; asked < kMostAsked; ++asked) {
    std::size_t length = 0;
    const PsmError error = am_get_parameters(opened->endpoint, &limits, sizeof limits, &length);
    if (error != kPsmOk)
      return fail(OMPL_ERR_UNSUPPORTED, "PSM2 has no active messages: {}", text_of(error));
    if (std::max(limits.max_request, limits.max_reply) <= kMostMessage) return OMPL_OK;
    std::this_thread::yield();
  }
  return fail(OMPL_ERR_UNSUPPORTED,
              "PSM2 names no limit of its messages: PSM2_DEVICES needs shm or hfi beside self");
}

// PSM2 reads y..., n... and numbers; of the rest it says no, and so it does without the variable, which Told sets.
bool Library::allows_several() {
  constexpr std::string_view kName = "PSM2_MULTI_EP=";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with(kName)) continue;
    const std::string value(text.substr(kName.size()));
    return value.starts_with('y') || value.starts_with('Y') ||
           std::strtoul(value.c_str(), nullptr, 0) != 0;
  }
  return true;
}

std::string Library::text_of(PsmError error) const {
  const std::string own = std::exchange(last_error, {});
  return fmt::format("{} (PSM2 error {}{}{})", error_get_string(error), error, own.empty() ? "" : ": ",
                     own);
}

}  // namespace ompl::conduit::psm2
