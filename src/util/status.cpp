// SPDX-License-Identifier: BSD-3-Clause
#include "util/status.hpp"

#include <pthread.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <system_error>

#include "omnipgas/ompl_ext.h"
#include "util/log.hpp"

namespace ompl {
namespace {

constexpr const char* kNoMemory = "out of memory, also for the details of the error";

// The thread's last detail: of `t_text`, else `t_plain`. Thread-specific data end after thread-local objects, whose destructors
// may still fail.
thread_local constinit std::string* t_text = nullptr;
thread_local constinit const char* t_plain = "";
thread_local constinit int t_tolerant = 0;

void forget_text(void* text) {
  t_text = nullptr;
  t_plain = "";
  delete static_cast<std::string*>(text);
}

// The place for the calling thread's detail; null: there is no memory for one.
std::string* text_of_thread() {
  struct Key {
    pthread_key_t key = 0;
    const bool made = ::pthread_key_create(&key, forget_text) == 0;
  };
  static const Key key;
  if (t_text != nullptr || !key.made) return t_text;
  auto text = std::make_unique<std::string>();
  if (::pthread_setspecific(key.key, text.get()) == 0) t_text = text.release();
  return t_text;
}

}  // namespace

Tolerance::Tolerance() { ++t_tolerant; }
Tolerance::~Tolerance() { --t_tolerant; }

int fail_with(int code, std::string detail) noexcept {
  log::at(t_tolerant > 0 ? log::Level::info : log::Level::error, "{}", detail);
  return fail_quietly(code, std::move(detail));
}

int fail_quietly(int code, std::string detail) noexcept {
  t_plain = kNoMemory;
  try {
    if (std::string* const text = text_of_thread(); text != nullptr) {
      *text = std::move(detail);
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

std::string error_text(int error) { return std::generic_category().message(error); }

bool is_refusal(int error) { return error == EPERM || error == ENOSYS; }

std::string call_text(std::string_view call, int error) {
  return fmt::format("{}: {}{}", call, error_text(error),
                     is_refusal(error)
                         ? "; the system refuses this call: a container's seccomp profile must allow it"
                         : "");
}

const char* error_detail() { return t_plain != nullptr ? t_plain : t_text->c_str(); }

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
