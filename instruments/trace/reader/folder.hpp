// SPDX-License-Identifier: BSD-3-Clause
// A trace on disk: a folder with a file for each rank.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "reader.hpp"

namespace ompl::trace {

// A file mapped to be read. Move-only.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// The files of all ranks, in order; TraceError names those that are missing.
std::vector<std::filesystem::path> rank_files(const std::filesystem::path& folder);

}  // namespace ompl::trace
