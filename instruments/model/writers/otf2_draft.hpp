// SPDX-License-Identifier: BSD-3-Clause
// How an OTF2 archive comes to its place: whole or not at all.
#pragma once

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "common/input_error.hpp"

namespace ompl::model::otf2 {

// The folder, the definitions and the anchor file of an archive; whoever opens it needs the last.
inline std::array<std::string, 3> parts_of(const std::filesystem::path& anchor) {
  std::filesystem::path stem = anchor;
  stem.replace_extension();
  return {stem.string(), stem.string() + ".def", anchor.string()};
}

// A folder beside the archive's place, in which it is written; it goes at the end, with what is still in it.
class Draft {
 public:
  explicit Draft(std::filesystem::path place) : place_(std::move(place)) {
    std::string name = place_.parent_path() / fmt::format(".{}.XXXXXX", place_.filename().string());
    if (::mkdtemp(name.data()) == nullptr)
      refuse("cannot write {}: {}", place_.string(), std::generic_category().message(errno));
    folder_ = name;
  }
  ~Draft() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  [[nodiscard]] std::filesystem::path anchor() const { return folder_ / place_.filename(); }

  // The anchor comes last. Throws InputError; then nothing of it is at its place.
  void put_in_place() const {
    const auto from = parts_of(anchor()), to = parts_of(place_);
    std::error_code error;
    for (std::size_t i = 0; i < from.size() && !error; ++i) {
      if (std::filesystem::exists(from[i])) std::filesystem::rename(from[i], to[i], error);
    }
    if (!error) return;
    for (const std::string& part : to) {
      std::error_code ignored;
      std::filesystem::remove_all(part, ignored);
    }
    refuse("cannot write {}: {}", place_.string(), error.message());
  }

 private:
  std::filesystem::path place_, folder_;
};

}  // namespace ompl::model::otf2
