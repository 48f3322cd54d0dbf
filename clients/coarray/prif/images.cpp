// SPDX-License-Identifier: BSD-3-Clause
// Beginning and end, images, teams, synchronisation.
#include <cstdio>
#include <mutex>
#include <string>

#include "prif/descriptors.hpp"
#include "prif/prif.hpp"

namespace prif {

namespace {

caf::Team* team_of(void* team) { return static_cast<caf::Team*>(team); }

}  // namespace
}  // namespace prif

using namespace prif;

PRIF_API void caf_caffeinate(intptr_t* all_heaps, void** symmetric_heap, intptr_t* symmetric_start,
                             intptr_t* symmetric_size, void** initial_team) {
  caf::begin();
  *symmetric_heap = start_heaps(all_heaps, symmetric_start, symmetric_size);
  *initial_team = caf::state().initial;
}

// The first thread that ends the image does so alone.
PRIF_API void caf_acquire_exit_lock() {
  static auto* exit_lock = new std::mutex;
  exit_lock->lock();
}

// After STOP, at which all images have met, and after ERROR STOP: a code other than 0 ends all images with it.
PRIF_API void caf_decaffeinate(int exit_code) {
  if (exit_code == 0) caf::stop(0);
  caf::error_stop(exit_code, "the program ends with code " + std::to_string(exit_code));
}

PRIF_API void caf_fail_image() { caf::fail_image(); }

PRIF_API void caf_fatal_error(const CFI_cdesc_t* text) {
  const std::string reason(static_cast<const char*>(text->base_addr), text->elem_len);
  std::fprintf(stderr, "prif: image %d: %s\n", caf::this_image(), reason.c_str());
  caf::error_stop(1, reason);
}

PRIF_API int caf_this_image(void* team) { return static_cast<int>(team_of(team)->me) + 1; }
PRIF_API int caf_num_images(void* team) { return static_cast<int>(team_of(team)->size()); }

PRIF_API int caf_image_to_initial(void* team, int image) {
  return static_cast<int>(team_of(team)->members.at(rank_of(image))) + 1;
}

PRIF_API int caf_image_from_initial(void* team, int image) {
  return static_cast<int>(team_of(team)->index.at(rank_of(image))) + 1;
}

PRIF_API void caf_form_team(void* parent, void** made, int64_t number, int new_index) {
  const InTeam in(parent);
  caf::Team* team = nullptr;
  const int code = caf::form_team(static_cast<int>(number), &team, new_index);
  if (team == nullptr) must(code, "form team");
  note(code, "form team");
  *made = team;
}

PRIF_API void caf_sync_memory() { note(caf::sync_memory(), "sync memory"); }
PRIF_API void caf_sync_team(void* team) { note(caf::sync_team(team_of(team)), "sync"); }

PRIF_API void ompl_prif_sync_images(void* team, int64_t count, const int* images) {
  const InTeam in(team);
  note(count < 0 ? caf::sync_images(nullptr, 0)
                 : caf::sync_images(images, static_cast<std::size_t>(count)),
       "sync images");
}

// Nothing can be allocated in a team without its image 1, which divides the team's heap.
PRIF_API void ompl_prif_tell(void* data, std::size_t bytes, void* team) {
  const InTeam in(team);
  const int code = caf::co_tell(data, bytes, 1);
  const bool told = code == caf::kFailed && !caf::state().failed[team_of(team)->members.front()];
  told ? note(code, "the heap of a team") : must(code, "the heap of a team, which its image 1 divides");
}
PRIF_API void ompl_prif_agree(std::ptrdiff_t* offset, void* team) {
  ompl_prif_tell(offset, sizeof *offset, team);
}

// gfortran 13 to 15 give the address of a pointer to a procedure for that of the procedure.
PRIF_API void* caf_c_funloc_deref(void* pointer) { return *static_cast<void**>(pointer); }
