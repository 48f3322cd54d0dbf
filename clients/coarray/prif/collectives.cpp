// SPDX-License-Identifier: BSD-3-Clause
// Collectives. Caffeine gives contiguous data.
#include <complex>
#include <cstddef>

#include "core/reductions.hpp"
#include "prif/descriptors.hpp"
#include "prif/prif.hpp"

namespace prif {
namespace {

using caf::Kind;
using UserFunction = void (*)(const void* in, void* inout, std::size_t count, void* data);

struct User {
  UserFunction function;
  void* data;
};

User running{};  // one collective at a time runs a function of the program

int call_user(const void* in, void* inout, std::size_t count, void* /*arg*/) {
  running.function(in, inout, count, running.data);
  return 0;
}

bool is_complex(int type) { return type == CFI_type_float_Complex || type == CFI_type_double_Complex; }

bool is_real(int type) { return type == CFI_type_float || type == CFI_type_double; }

int choose(const CFI_cdesc_t& array, Kind kind, caf::Operation* made) {
  if (is_complex(array.type)) {
    if (kind == Kind::sum) return caf::complex_operation(array.elem_len, made);
  } else if (is_real(array.type)) {
    return caf::real_operation(array.elem_len, kind, made);
  } else if (array.type != CFI_type_struct && array.type != CFI_type_other &&
             array.elem_len <= sizeof(int64_t)) {
    return caf::integer_operation(array.elem_len, kind, made);
  }
  return caf::refuse(caf::kWrong,
                     "no such reduction for a type of %zu bytes (number %d of the compiler)",
                     array.elem_len, static_cast<int>(array.type));
}

void reduce(CFI_cdesc_t* array, Kind kind, int result_image, std::size_t count, void* team,
            const char* what) {
  const InTeam in(team);
  caf::Operation operation{};
  int code = choose(*array, kind, &operation);
  if (code == caf::kOk)
    code = caf::co_reduce(array->base_addr, count, array->elem_len, operation, result_image);
  note(code, what);
}

}  // namespace
}  // namespace prif

using namespace prif;

PRIF_API void caf_co_sum(CFI_cdesc_t* array, int result_image, std::size_t count, void* team) {
  reduce(array, Kind::sum, result_image, count, team, "co_sum");
}
PRIF_API void caf_co_min(CFI_cdesc_t* array, int result_image, std::size_t count, void* team) {
  reduce(array, Kind::least, result_image, count, team, "co_min");
}
PRIF_API void caf_co_max(CFI_cdesc_t* array, int result_image, std::size_t count, void* team) {
  reduce(array, Kind::most, result_image, count, team, "co_max");
}

PRIF_API void caf_co_broadcast_cptr(void* data, int source_image, std::size_t bytes, void* team) {
  const InTeam in(team);
  note(caf::co_broadcast(data, bytes, source_image), "co_broadcast");
}
PRIF_API void caf_co_broadcast(CFI_cdesc_t* array, int source_image, int count, void* team) {
  caf_co_broadcast_cptr(array->base_addr, source_image,
                        static_cast<std::size_t>(count) * array->elem_len, team);
}

PRIF_API void caf_co_reduce_cptr(void* data, int result_image, std::size_t count, std::size_t element,
                                 UserFunction function, void* user_data, void* team) {
  const InTeam in(team);
  running = {function, user_data};
  caf::Operation operation{};
  int code = caf::operation(&call_user, nullptr, 0, element, &operation);
  if (code == caf::kOk) code = caf::co_reduce(data, count, element, operation, result_image);
  note(code, "co_reduce");
}
PRIF_API void caf_co_reduce(CFI_cdesc_t* array, int result_image, std::size_t count,
                            UserFunction function, void* user_data, void* team) {
  caf_co_reduce_cptr(array->base_addr, result_image, count, array->elem_len, function, user_data, team);
}
