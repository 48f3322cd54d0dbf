// SPDX-License-Identifier: BSD-3-Clause
// Errors on their way to STAT=. Caffeine's C functions have no result, so an error waits in its thread until the procedure that
// the program called settles it (fortran/ompl_prif.F90).
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "prif/prif.hpp"

namespace prif {
namespace {

struct Pending {
  int code = caf::kOk;
  std::string text;
};
thread_local Pending pending;
bool settles = false;  // a Caffeine without fortran/ompl_prif.F90 never asks

[[noreturn]] void end(const std::string& text) {
  std::fprintf(stderr, "prif: image %d: %s\n", caf::this_image(), text.c_str());
  caf::error_stop(1, text);
}

}  // namespace

void must(int code, const char* what) {
  if (code != caf::kOk) end(std::string(what) + ": " + caf::why());
}

void note(int code, const char* what) {
  if (!settles) return must(code, what);
  if (code == caf::kOk || pending.code != caf::kOk) return;
  pending = {code, std::string(what) + ": " + caf::why()};
}

}  // namespace prif

using namespace prif;

PRIF_API void ompl_prif_settles() { settles = true; }

PRIF_API int ompl_prif_take(std::size_t room, char* text, std::size_t* length) {
  *length = std::min(pending.text.size(), room);
  std::copy_n(pending.text.data(), *length, text);
  pending.text.clear();
  return std::exchange(pending.code, caf::kOk);
}

PRIF_API void ompl_prif_end(const char* text, std::size_t length) { end(std::string(text, length)); }

PRIF_API int ompl_prif_images(int which, void* team, int room, int* images) {
  const InTeam in(team);
  const std::vector<int> listed = which == 0 ? caf::failed_images() : caf::stopped_images();
  const auto count = static_cast<int>(listed.size());
  std::copy_n(listed.data(), std::min(count, room), images);
  return count;
}

PRIF_API int ompl_prif_status(int image, void* team) {
  const InTeam in(team);
  int status = 0;
  must(caf::image_status(image, &status), "image_status");
  return status;
}
