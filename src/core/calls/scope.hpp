// SPDX-License-Identifier: BSD-3-Clause
// Whether the calling thread runs a function that another rank has called, and what it may then not do. Protocol rule 26.
#pragma once

namespace ompl::calls {

struct FunctionContext;

// The state of the function that this thread runs. Initial-exec: every poll looks at both.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit FunctionContext* t_function = nullptr;
[[gnu::tls_model("initial-exec")]] inline thread_local constinit bool t_without_functions = false;
inline bool in_function() { return t_function != nullptr; }

// While it lives no function runs in this thread, whatever it waits for: it holds something that the function might need.
class WithoutFunctions {
 public:
  WithoutFunctions() : before_(t_without_functions) { t_without_functions = true; }
  ~WithoutFunctions() { t_without_functions = before_; }
  WithoutFunctions(const WithoutFunctions&) = delete;
  WithoutFunctions& operator=(const WithoutFunctions&) = delete;

 private:
  const bool before_;
};
inline bool may_run_functions() { return t_function == nullptr && !t_without_functions; }

// OMPL_OK, or OMPL_ERR_STATE if the calling thread runs a function: `what` may wait for another rank.
int may_wait(const char* what);

// The function that this thread runs ends in an error. OMPL_OK, or OMPL_ERR_STATE if there is none.
int fail_function(const char* why);

}  // namespace ompl::calls
