// SPDX-License-Identifier: BSD-3-Clause
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

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
  std::copy_n(reason.data(), std::min(length, reason.size()), message);
}

namespace {

bool readable(const void* from, void* into, std::size_t bytes) {
  const iovec local{into, bytes};
  const iovec remote{const_cast<void*>(from), bytes};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace

void report_sync(int code, const char* statement, int* stat, char* message, std::size_t length) {
  if (code != caf::kOk && message != nullptr && stat != nullptr) {
    uint64_t first = 0;
    std::vector<char> text(length + 1);
    if (!readable(message, &first, sizeof first)) return report(code, statement, stat);
    constexpr uint64_t kLowest = 65536;
    constexpr int kBits = 47;                            // of addresses of programs
    auto* const there = reinterpret_cast<char*>(first);  // NOLINT(performance-no-int-to-ptr)
    if (first >= kLowest && first >> kBits == 0 && readable(there, text.data(), length))
      message = there;
  }
  report(code, statement, stat, message, length);
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
