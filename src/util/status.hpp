// SPDX-License-Identifier: BSD-3-Clause
// Results are the OMPL_* codes of the public header, everywhere. The function that first sees an
// error calls fail(): it records the detail for ompl_error_detail(), logs it, and returns the code.
// Callers only pass the code on.
#pragma once

#include <fmt/format.h>

#include <new>
#include <string>
#include <string_view>

#include "omnipgas/ompl.h"

namespace ompl {

// Records `detail` for the calling thread, its control characters escaped, logs it at level `error`, returns `code`. Any thread, also in the destructors of its
// thread-local objects. Without memory for the detail it records that.
int fail_with(int code, const std::string& detail) noexcept;

// As fail_with(), for what is already logged elsewhere: records the detail only. Any thread.
int fail_quietly(int code, const std::string& detail) noexcept;

// The same of the text that `make() -> std::string` gives, without memory for which nothing is lost but the text.
template <class Make>
int fail_quietly_with(int code, Make make) noexcept {
  try {
    return fail_quietly(code, make());
  } catch (const std::bad_alloc&) {
    return fail_quietly(code, {});
  }
}

// The text that `make() -> std::string` gives, or that there was no memory for it: for paths that must come to their end.
inline constexpr const char* kNoMemoryForText = "out of memory";  // which needs none
template <class Make>
std::string in_words(Make make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return kNoMemoryForText;
  }
}

// As fail_with(), the text formatted by {fmt}. Say what was wrong and what to do.
int fail_formatted(int code, fmt::string_view text, fmt::format_args args) noexcept;
template <class... Args>
int fail(int code, fmt::format_string<Args...> text, Args&&... args) {
  return fail_formatted(code, text, fmt::make_format_args(args...));
}

// OMPL_ERR_TIMEOUT, with a detail that costs nothing to record: programs try again and again with short limits.
int time_is_up() noexcept;

// While it lives, fail() of this thread informs: the caller has another way to go on.
class Tolerance {
 public:
  Tolerance();
  ~Tolerance();
  Tolerance(const Tolerance&) = delete;
  Tolerance& operator=(const Tolerance&) = delete;
};

// What the system says of an error number. Any thread.
std::string error_text(int error);

// Whether an error number says that the system refuses a call itself, as an old kernel or a container's seccomp profile does.
bool is_refusal(int error);

// "CALL: what the system says" and, if it refuses the call itself, what to do. Any thread.
std::string call_text(std::string_view call, int error);

// The calling thread's last recorded detail; "" if none. It stays as it is while the thread records kDetailsKept - 1 more.
constexpr unsigned kDetailsKept = 4;
const char* error_detail();

}  // namespace ompl
