// SPDX-License-Identifier: BSD-3-Clause
#include "util/status.hpp"

#include <pthread.h>

#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <system_error>

#include "omnipgas/ompl_ext.h"
#include "util/log.hpp"
#include "util/printable.hpp"

namespace ompl {
namespace {

constexpr const char* kNoMemory = "out of memory, also for the details of the error";

constexpr const char* kTimeIsUp = "the time limit passed before the call could be done";

// The last details, in turn: a program may still hold older ones, as in a call that prints two.
struct Details {
  std::array<std::string, kDetailsKept> texts;
  unsigned newest = 0;
};

// The thread's last detail: of `t_details`, else `t_plain`. Thread-specific data end after thread-local objects, whose destructors
// may still fail.
thread_local constinit Details* t_details = nullptr;
thread_local constinit const char* t_plain = "";
thread_local constinit int t_tolerant = 0;

void forget_details(void* details) {
  t_details = nullptr;
  t_plain = "";
  delete static_cast<Details*>(details);
}

// The calling thread's details; null: there is no memory for them.
Details* details_of_thread() {
  struct Key {
    pthread_key_t key = 0;
    const bool made = ::pthread_key_create(&key, forget_details) == 0;
  };
  static const Key kKey;
  if (t_details != nullptr || !kKey.made) return t_details;
  auto details = std::make_unique<Details>();
  if (::pthread_setspecific(kKey.key, details.get()) == 0) t_details = details.release();
  return t_details;
}

}  // namespace

Tolerance::Tolerance() { ++t_tolerant; }
Tolerance::~Tolerance() { --t_tolerant; }

int fail_with(int code, const std::string& detail) noexcept {
  log::at(t_tolerant > 0 ? log::Level::info : log::Level::error, "{}", detail);
  return fail_quietly(code, detail);
}

int fail_quietly(int code, const std::string& detail) noexcept {
  t_plain = kNoMemory;
  try {
    if (Details* const details = details_of_thread(); details != nullptr) {
      details->newest = (details->newest + 1) % kDetailsKept;
      details->texts[details->newest] = printable(detail);
      t_plain = nullptr;
    }
  } catch (const std::exception&) {  // without memory
  }
  return code;
}

int fail_formatted(int code, fmt::string_view text, fmt::format_args args) noexcept {
  try {
    return fail_with(code, fmt::vformat(text, args));
  } catch (const std::exception&) {  // without memory
    t_plain = kNoMemory;
    return code;
  }
}

// Not inlined: who calls it may have come from another thread, whose variables it must not take.
[[gnu::noinline]] int time_is_up() noexcept {
  t_plain = kTimeIsUp;
  return OMPL_ERR_TIMEOUT;
}

std::string error_text(int error) { return std::generic_category().message(error); }

bool is_refusal(int error) { return error == EPERM || error == ENOSYS; }

std::string call_text(std::string_view call, int error) {
  return fmt::format("{}: {}{}", call, error_text(error),
                     is_refusal(error)
                         ? "; the system refuses this call: a container's seccomp profile must allow it"
                         : "");
}

const char* error_detail() {
  return t_plain != nullptr ? t_plain : t_details->texts[t_details->newest].c_str();
}

}  // namespace ompl

extern "C" const char* ompl_strerror(int code) {
  switch (code) {
    case OMPL_OK:
      return "OMPL_OK: done";
    case OMPL_PENDING:
      return "OMPL_PENDING: posted, the buffer is in use until a flush";
    case OMPL_RETRY_FULL:
      return "OMPL_RETRY_FULL: nothing was posted, a queue is full";
    case OMPL_RETRY_MEMORY:
      return "OMPL_RETRY_MEMORY: nothing was posted, memory is short";
    case OMPL_RETRY_CONNECTING:
      return "OMPL_RETRY_CONNECTING: nothing was posted, the connection is being made";
    case OMPL_RETRY_BUSY:
      return "OMPL_RETRY_BUSY: nothing was posted, other threads use every endpoint";
    case OMPL_ERR_STATE:
      return "OMPL_ERR_STATE: the library is not initialised, was finalized, or was initialised twice";
    case OMPL_ERR_RANK:
      return "OMPL_ERR_RANK: no such rank";
    case OMPL_ERR_OFFSET:
      return "OMPL_ERR_OFFSET: the offset is 0, outside the segment or not allocated";
    case OMPL_ERR_ALIGN:
      return "OMPL_ERR_ALIGN: the flag is not aligned to its 4 or 8 bytes";
    case OMPL_ERR_LENGTH:
      return "OMPL_ERR_LENGTH: the range leaves its allocation or overflows";
    case OMPL_ERR_ARG:
      return "OMPL_ERR_ARG: an argument is unusable";
    case OMPL_ERR_MEMORY:
      return "OMPL_ERR_MEMORY: out of memory, or the segment is full";
    case OMPL_ERR_PEER:
      return "OMPL_ERR_PEER: a rank died";
    case OMPL_ERR_LINK:
      return "OMPL_ERR_LINK: the connection to a rank broke";
    case OMPL_ERR_TIMEOUT:
      return "OMPL_ERR_TIMEOUT: the time limit passed";
    case OMPL_ERR_LAUNCH:
      return "OMPL_ERR_LAUNCH: the launcher's environment is unusable";
    case OMPL_ERR_UNSUPPORTED:
      return "OMPL_ERR_UNSUPPORTED: this build or machine cannot do it";
    case OMPL_ERR_SYSTEM:
      return "OMPL_ERR_SYSTEM: a system call failed";
    default:
      return "unknown result code";
  }
}
