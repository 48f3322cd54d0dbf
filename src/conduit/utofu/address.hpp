// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can connect to its endpoints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ompl::conduit::utofu {

struct Address {
  uint64_t challenge = 0;       // see conduit/common/sealed.hpp
  std::vector<uint64_t> slots;  // id of each slot's VCQ; at least one

  // What is published. It ends in a hash that needs the job's secret.
  [[nodiscard]] std::string encode(std::string_view secret) const;

  // Reads encode()'s bytes back. Null on success, else what is wrong; *this is then untouched.
  const char* parse(std::string_view bytes, std::string_view secret);
};

}  // namespace ompl::conduit::utofu
