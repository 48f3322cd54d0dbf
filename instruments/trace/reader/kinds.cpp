// SPDX-License-Identifier: BSD-3-Clause
#include "reader.hpp"

namespace ompl::trace {

const char* name_of(Kind kind) {
  switch (kind) {
#define KIND(name, number, group) \
  case Kind::k##name:             \
    return #name;
#include "kinds.def"
#undef KIND
  }
  return nullptr;
}

Group group_of(Kind kind) {
  switch (kind) {
#define KIND(name, number, group) \
  case Kind::k##name:             \
    return Group::group;
#include "kinds.def"
#undef KIND
  }
  const auto number = static_cast<uint16_t>(kind);
  if (number < 0x8000) return Group::kOpaque;
  return number < 0x9000 ? Group::kSide : Group::kDefinition;
}

bool names_text(Kind kind) {
  return kind == Kind::kOpaque || kind == Kind::kOmplTaskBegin || kind == Kind::kOmplTaskEnd;
}

Kind blocking(Kind kind) {
  constexpr uint16_t kNonblocking = 40;  // more (kinds.def)
  if (group_of(kind) != Group::kPostCollective) return kind;
  return static_cast<Kind>(static_cast<uint16_t>(kind) - kNonblocking);
}

}  // namespace ompl::trace
