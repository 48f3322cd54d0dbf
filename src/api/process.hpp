// SPDX-License-Identifier: BSD-3-Clause
// What the C API keeps for the process: the runtime, and each thread's implicit context.
#pragma once

#include "core/job/context.hpp"

namespace ompl::api {

// The calling thread's implicit context, or nullptr before its first use. Initial-exec: one load.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit Context* t_context;

// Opens the calling thread's implicit context; nullptr, with the reason recorded, outside init .. finalize and where the thread has
// all but ended.
Context* implicit_context();

// Gives the calling thread that implicit context, or none; returns the one it had.
Context* exchange_context(Context* context);

// Records the exception that is being handled: its code.
int code_of_exception() noexcept;

// Records that the library is not initialised, was finalized or forked, or else `when_running`: OMPL_ERR_STATE.
int wrong_state(const char* when_running = "this context is destroyed");

int init();
int finalize();

}  // namespace ompl::api
