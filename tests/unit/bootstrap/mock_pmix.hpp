// SPDX-License-Identifier: BSD-3-Clause
// What the mock libpmix does; the test finds it in the loaded library under the name "mock".
#pragma once

#include <pmix.h>

#include <atomic>
#include <cstdint>

struct MockPmix {
  const char* name_space = "job";  // of the one process it knows
  uint32_t rank = 0;
  uint32_t size = 1;         // of the job; 0: a text where the number should be
  const char* host = "one";  // of every rank; null: not known
  bool garbles = false;      // published values come back as numbers
  bool cuts = false;         // or empty
  // One of init, size, put, commit, fence, get, finalize, which never returns or fails. Calls that hang look at
  // nothing else, so that the other members may be set meanwhile.
  std::atomic<const char*> hanging = "";
  std::atomic<const char*> failing = "";

  // Puts everything back.
  void behave() {
    hanging = failing = "";
    name_space = "job", host = "one";
    rank = 0, size = 1;
    garbles = cuts = false;
  }
};

extern "C" __attribute__((visibility("default"))) MockPmix mock;
