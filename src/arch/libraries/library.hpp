// SPDX-License-Identifier: BSD-3-Clause
// Libraries that are loaded at run time, when they are needed and not before.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ompl::arch {

// Whether this process has more rights than who started it (AT_SECURE: set-user-ID, file capabilities): what the
// environment says is then a stranger's.
bool is_privileged();

// dlopen() with RTLD_NOW | RTLD_LOCAL. Null, and *why, if it cannot be loaded. Also in a privileged process: network
// libraries and hwloc take folders of plug-ins from the environment, which the loader cannot keep them from.
void* open_library(const char* file, std::string* why);

// The same for a library that takes signals, and can be told not to only by variables of the environment ("NAME=value",
// literals; those that are set stay) when it is loaded first. What is loaded already is left as it is.
void* open_library(const char* file, std::initializer_list<const char*> variables, std::string* why);

// The files of all libraries that this process has loaded, however it did so, whose names begin so ("libmpi").
std::vector<std::string> loaded_files(std::string_view begin);

}  // namespace ompl::arch
