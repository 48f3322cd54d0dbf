// SPDX-License-Identifier: BSD-3-Clause
// Beginning and end, images, teams, image control statements.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "gfortran/abi.hpp"

CAF_API void _gfortran_flush_i4(int32_t* unit);
CAF_API void _gfortran_random_seed_i4(int32_t* size, gfortran::Descriptor* put,
                                      gfortran::Descriptor* get);

namespace gfortran {
namespace {

caf::Team* team_of(void* handle) {
  return handle == nullptr ? caf::current_team() : static_cast<caf::Team*>(handle);
}

void fill_list(Descriptor* list, const std::vector<int>& images, const int* kind) {
  const std::size_t bytes = kind == nullptr ? 4 : static_cast<std::size_t>(*kind);
  auto* const memory =
      static_cast<std::byte*>(std::malloc(bytes * images.size() + 1));  // the program frees it
  if (memory == nullptr) return;
  const Element to{kInteger, static_cast<int>(bytes), bytes};
  caf::Shape here;
  here.dimensions = 1;
  here.extent[0] = images.size();
  convert(memory, caf::packed(here, bytes), to, reinterpret_cast<const std::byte*>(images.data()),
          caf::packed(here, sizeof(int)), {kInteger, sizeof(int), sizeof(int)});
  list->base = memory;
  list->offset = 0;
  list->elem_len = bytes;
  list->version = 0;
  list->rank = 1;
  list->type = kInteger;
  list->span = static_cast<std::ptrdiff_t>(bytes);
  list->dim[0] = {1, 0, static_cast<std::ptrdiff_t>(images.size()) - 1};
}

[[noreturn]] void end_all(int code, const std::string& text, bool quiet) {
  _gfortran_flush_i4(nullptr);
  if (!quiet) std::fprintf(stderr, "ERROR STOP %s\n", text.c_str());
  caf::error_stop(code, "ERROR STOP " + text);
}

}  // namespace
}  // namespace gfortran

using namespace gfortran;

// Static coarrays have been registered and initialised before: no image may change another's while that goes on.
CAF_API void _gfortran_caf_init(int* /*argc*/, char*** /*argv*/) {
  caf::begin();
  report(caf::sync_all(), "the start of the program", nullptr);
}

CAF_API void _gfortran_caf_finalize() {
  _gfortran_flush_i4(nullptr);
  caf::end_program();
}

CAF_API int _gfortran_caf_this_image(int /*distance*/) { return caf::this_image(); }

CAF_API int _gfortran_caf_num_images(int /*distance*/, int failed) {
  if (failed == -1) return caf::num_images();
  const int dead = static_cast<int>(caf::failed_images().size());
  return failed == 0 ? caf::num_images() - dead : dead;
}

CAF_API void _gfortran_caf_sync_all(int* stat, char* message, std::size_t length) {
  const bool of_allocation = std::exchange(allocation_had_stat, false) && stat == nullptr;
  const int code = caf::sync_all();
  const bool told = of_allocation && (code == caf::kFailed || code == caf::kStopped);
  report_sync(told ? caf::kOk : code, "sync all", stat, message, length);
}

CAF_API void _gfortran_caf_sync_memory(int* stat, char* message, std::size_t length) {
  report_sync(caf::sync_memory(), "sync memory", stat, message, length);
}

CAF_API void _gfortran_caf_sync_images(int count, int* images, int* stat, char* message,
                                       std::size_t length) {
  const int code = count < 0 ? caf::sync_images(nullptr, 0)
                             : caf::sync_images(images, static_cast<std::size_t>(count));
  report_sync(code, "sync images", stat, message, length);
}

CAF_API void _gfortran_caf_stop_numeric(int code, bool quiet) {
  _gfortran_flush_i4(nullptr);
  if (!quiet) std::fprintf(stderr, "STOP %d\n", code);
  caf::stop(code);
}

CAF_API void _gfortran_caf_stop_str(const char* text, std::size_t length, bool quiet) {
  _gfortran_flush_i4(nullptr);
  if (!quiet && length > 0) std::fprintf(stderr, "STOP %.*s\n", static_cast<int>(length), text);
  caf::stop(0);
}

CAF_API void _gfortran_caf_error_stop(int code, bool quiet) {
  end_all(code, std::to_string(code), quiet);
}

CAF_API void _gfortran_caf_error_stop_str(const char* text, std::size_t length, bool quiet) {
  end_all(1, std::string(text == nullptr ? "" : text, text == nullptr ? 0 : length), quiet);
}

CAF_API void _gfortran_caf_fail_image() {
  _gfortran_flush_i4(nullptr);
  caf::fail_image();
}

CAF_API void _gfortran_caf_failed_images(Descriptor* list, void* /*team*/, int* kind) {
  fill_list(list, caf::failed_images(), kind);
}

CAF_API void _gfortran_caf_stopped_images(Descriptor* list, void* /*team*/, int* kind) {
  fill_list(list, caf::stopped_images(), kind);
}

CAF_API int _gfortran_caf_image_status(int image, void* /*team*/) {
  int status = 0;
  report(caf::image_status(image, &status), "image_status", nullptr);
  return status;
}

CAF_API void _gfortran_caf_form_team(int number, void** team, int /*unused*/) {
  if (number < 1) {
    caf::refuse(caf::kWrong, "the team number is %d: give a positive one", number);
    end_in_error("form team");
  }
  caf::Team* made = nullptr;
  const int code = caf::form_team(number, &made);
  *team = made;
  report(code == caf::kFailed ? caf::kOk : code, "form team", nullptr);
}

CAF_API void _gfortran_caf_change_team(void** team, int /*unused*/) {
  const int code = caf::change_team(static_cast<caf::Team*>(*team));
  report(code == caf::kFailed ? caf::kOk : code, "change team", nullptr);
}

CAF_API void _gfortran_caf_end_team(void** /*team*/) {
  const int code = caf::end_team();
  report(code == caf::kFailed ? caf::kOk : code, "end team", nullptr);
}

CAF_API void _gfortran_caf_sync_team(void** team, int /*unused*/) {
  report(caf::sync_team(static_cast<caf::Team*>(*team)), "sync team", nullptr);
}

CAF_API int _gfortran_caf_team_number(void* team) { return caf::number_of(team_of(team)); }

CAF_API void* _gfortran_caf_get_team(void* /*level*/) { return caf::current_team(); }

// Seeds follow from the job's, so images need not meet: repeatable ones from a constant, distinct ones from the image too.
CAF_API void _gfortran_caf_random_init(bool repeatable, bool image_distinct) {
  static uint64_t calls = 0;
  uint64_t mixed = repeatable ? 0x5851F42D4C957F2D : caf::job_seed() + ++calls;
  if (image_distinct) mixed ^= static_cast<uint64_t>(caf::this_image()) * 0xD1342543DE82EF95;
  int32_t size = 0;
  _gfortran_random_seed_i4(&size, nullptr, nullptr);
  std::vector<int32_t> seeds(static_cast<std::size_t>(size));
  for (int32_t& seed : seeds) {  // Vigna's splitmix64
    uint64_t next = mixed += 0x9E3779B97F4A7C15;
    next = (next ^ next >> 30) * 0xBF58476D1CE4E5B9;
    next = (next ^ next >> 27) * 0x94D049BB133111EB;
    seed = static_cast<int32_t>(next ^ next >> 31);
  }
  Descriptor put{};
  put.base = seeds.data();
  put.elem_len = sizeof(int32_t);
  put.rank = 1;
  put.type = kInteger;
  put.span = sizeof(int32_t);
  put.dim[0] = {1, 1, size};
  put.offset = static_cast<std::size_t>(-1);
  _gfortran_random_seed_i4(nullptr, &put, nullptr);
}
