// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "gfortran/abi.hpp"

CAF_API void _gfortran_flush_i4(int32_t* unit);

namespace gfortran {

void end_in_error(const char* statement) {
  const std::string reason = caf::why();
  const int image = caf::current_team() == nullptr ? 0 : caf::this_image();
  _gfortran_flush_i4(nullptr);
  std::fprintf(stderr, "coarrays: image %d: %s: %s\n", image, statement, reason.c_str());
  caf::error_stop(1, std::string(statement) + ": " + reason);
}

void report(int code, const char* statement, int* stat, char* message, std::size_t length) {
  if (stat != nullptr) *stat = code;
  if (code == caf::kOk) return;
  if (stat == nullptr) end_in_error(statement);
  if (message == nullptr) return;
  const std::string reason = caf::why();
  std::memset(message, ' ', length);
  std::memcpy(message, reason.data(), std::min(length, reason.size()));
}

caf::Shape shape_of(const Descriptor& descriptor) {
  caf::Shape shape;
  shape.dimensions = descriptor.rank;
  for (int d = 0; d < descriptor.rank; ++d) {
    shape.extent[d] = descriptor.dim[d].extent();
    shape.stride[d] = descriptor.dim[d].stride * descriptor.unit();
  }
  return shape;
}

}  // namespace gfortran
