// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/otf2/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

namespace ompl::model::otf2 {

namespace {

using trace::Kind;

constexpr uint16_t kNonblocking =
    40;  // from a collective to its nonblocking form (instruments/trace/kinds.def)

constexpr std::array kAllKinds{
#define KIND(name, number, group) Kind::k##name,
#include "trace/kinds.def"
#undef KIND
};

// The place is OTF2's number.
constexpr auto kOperations = [] {
  using enum Kind;
  return std::array{kBarrier,   kBcast,         kGather,   kGatherv,   kScatter,           kScatterv,
                    kAllgather, kAllgatherv,    kAlltoall, kAlltoallv, kAlltoallw,         kAllreduce,
                    kReduce,    kReduceScatter, kScan,     kExscan,    kReduceScatterBlock};
}();
static_assert(kOperations[OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK] == Kind::kReduceScatterBlock);
static_assert(kOperations[OTF2_COLLECTIVE_OP_ALLREDUCE] == Kind::kAllreduce);

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

// Letters and digits alone, small.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return out;
}

}  // namespace

std::string function_name(Kind kind) {
  const char* const name = trace::name_of(kind);
  if (name == nullptr) return "an unknown call";
  const bool own = trace::group_of(kind) == trace::Group::kPgas;
  std::string out = own ? "" : "MPI_";
  for (const char* at = name; *at != '\0'; ++at) {
    if (at != name && is_upper(*at)) out.push_back('_');
    const bool stays = at == name && !own;
    out.push_back(stays ? *at : static_cast<char>(std::tolower(static_cast<unsigned char>(*at))));
  }
  return out;
}

Kind kind_named(std::string_view name) {
  static const auto kKinds = [] {
    std::unordered_map<std::string, Kind> out{{"mpiinitthread", Kind::kInit}};
    for (const Kind kind : kAllKinds)
      if (trace::group_of(kind) < trace::Group::kPgas) out.emplace(plain(function_name(kind)), kind);
    return out;
  }();
  const auto found = kKinds.find(plain(name));
  return found == kKinds.end() ? Kind::kOpaque : found->second;
}

bool is_mpi_name(std::string_view name) { return name.starts_with("MPI_") || name.starts_with("mpi_"); }

std::optional<Kind> kind_of(OTF2_CollectiveOp operation) {
  if (operation >= kOperations.size()) return std::nullopt;
  return kOperations[operation];
}

std::optional<OTF2_CollectiveOp> operation_of(Kind kind) {
  const auto* const found = std::ranges::find(kOperations, trace::blocking(kind));
  if (found == kOperations.end()) return std::nullopt;
  return static_cast<OTF2_CollectiveOp>(found - kOperations.begin());
}

Kind nonblocking(Kind kind) { return static_cast<Kind>(static_cast<uint16_t>(kind) + kNonblocking); }

}  // namespace ompl::model::otf2
