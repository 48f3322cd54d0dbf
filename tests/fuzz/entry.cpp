// SPDX-License-Identifier: BSD-3-Clause
// The name under which libFuzzer calls a target.
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  fuzz::one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
