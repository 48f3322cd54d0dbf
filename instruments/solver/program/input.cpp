// SPDX-License-Identifier: BSD-3-Clause
#include "solver/program/input.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/input_error.hpp"

namespace ompl::solver {

namespace {

// Numbers between separators, one at least; nothing if the text is anything else.
template <class T>
std::vector<T> numbers(std::string_view text, char separator) {
  std::vector<T> out;
  for (const char* at = text.data();; ++at) {
    const char* const end = text.data() + text.size();
    T value{};
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return {};
    out.push_back(value);
    if (next == end) return out;
    if (*next != separator) return {};
    at = next;
  }
}

}  // namespace

Generator generator_of(const std::string& text) {
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  std::string size = colon == std::string::npos ? "" : text.substr(colon + 1);
  std::vector<double> weight{1, 1, 1};
  if (kind == "aniso") {
    const auto second = std::min(size.find(':'), size.size());
    weight = numbers<double>(std::string_view(size).substr(std::min(second + 1, size.size())), ',');
    size.resize(second);
  }
  std::vector<uint32_t> grid = numbers<uint32_t>(size, 'x');
  if (grid.size() == 1) grid.resize(3, grid[0]);
  const auto positive = [](double w) { return w > 0 && w <= std::numeric_limits<double>::max(); };
  if ((kind != "27pt" && kind != "7pt" && kind != "aniso") || grid.size() != 3 || weight.size() != 3 ||
      !std::ranges::all_of(weight, positive))
    refuse(
        "--generate {}: it must be 27pt:N, 7pt:N or aniso:N:WX,WY,WZ, where N may be NXxNYxNZ and each "
        "W is above 0",
        text);
  Generator out{kind == "27pt" ? stencil_27() : stencil_7({weight[0], weight[1], weight[2]}),
                {{grid[0], grid[1], grid[2]}}};
  (void)rows_of(out.grid);  // it may have too many
  return out;
}

bool needs_pattern(const std::string& how) { return how == "kway" || how == "recursive"; }

Partition partition_by(const std::string& how, uint32_t parts, uint32_t rows, const Grid* grid,
                       std::span<const uint32_t> lengths, const Csr& pattern) {
  if (how == "row") return partition_rows(rows, parts);
  if (how == "blocks") {
    if (grid == nullptr)
      refuse("--partition blocks cuts grids, and the matrix of a file is none; take row or kway");
    return partition_blocks(*grid, parts);
  }
  if (how == "entries") return partition_entries(lengths, parts);
  return partition_metis(pattern, parts, how == "kway" ? MetisWay::kway : MetisWay::recursive);
}

nlohmann::ordered_json json_of(const Quality& q) {
  return {{"cut", q.cut},
          {"halo", q.halo},
          {"neighbours_mean", q.neighbours_mean},
          {"neighbours_most", q.neighbours_most},
          {"smallest_message_bytes", q.smallest_message},
          {"interior_least", q.interior_least},
          {"rows_most", q.rows_most}};
}

}  // namespace ompl::solver
