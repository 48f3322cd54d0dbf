// SPDX-License-Identifier: BSD-3-Clause
// A fuzz target defines one_input(). It is linked with libFuzzer, which invents inputs, or with replay.cpp,
// which reads those of the corpus.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

void one_input(std::string_view bytes);

// A law that no input may break.
inline void require(bool truth) {
  if (!truth) std::abort();
}

}  // namespace fuzz
