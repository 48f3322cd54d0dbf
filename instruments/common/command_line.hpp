// SPDX-License-Identifier: BSD-3-Clause
// What the command lines of programs have in common.
#pragma once

#include <CLI/CLI.hpp>

#include "common/printable.hpp"

namespace ompl {

// What is wrong with the arguments is said without what a terminal would obey in them.
inline void say_printable(CLI::App& app) {
  app.failure_message([](const CLI::App* of, const CLI::Error& error) {
    return printable(CLI::FailureMessage::simple(of, error));
  });
}

}  // namespace ompl
