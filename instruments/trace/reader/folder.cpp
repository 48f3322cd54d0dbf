// SPDX-License-Identifier: BSD-3-Clause
#include "folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ompl::trace {

namespace {

constexpr std::size_t kMostNamed = 16;  // missing ranks in a message

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  void* at = MAP_FAILED;
  if (file >= 0 && fstat(file, &status) == 0) {
    if (status.st_size == 0) errno = ENODATA;
    if (status.st_size > 0)
      at = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (at == MAP_FAILED)
    throw TraceError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(error)));
  bytes_ = {static_cast<const std::byte*>(at), static_cast<std::size_t>(status.st_size)};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::vector<std::filesystem::path> rank_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("rank.") && name.ends_with(".omplt")) found.push_back(entry.path());
  }
  if (error) throw TraceError(fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
  if (found.empty()) {
    const auto archive = folder / "traces.otf2";
    if (std::filesystem::exists(archive, error))
      throw TraceError(fmt::format("{}: a folder of Score-P's: otf2-print shows its archive {}",
                                   folder.string(), archive.string()));
    throw TraceError(fmt::format("{}: no trace: it has no file rank.*.omplt", folder.string()));
  }
  const MappedFile first(found[0]);
  const uint32_t ranks = RankTrace(found[0].string(), first.bytes()).header().ranks;
  std::vector<std::filesystem::path> files;
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    files.push_back(folder / fmt::format("rank.{:06}.omplt", rank));
    if (std::find(found.begin(), found.end(), files.back()) == found.end()) missing.push_back(rank);
    if (missing.size() > kMostNamed) break;
  }
  if (!missing.empty()) {
    const bool more = missing.size() > kMostNamed;
    if (more) missing.pop_back();
    throw TraceError(fmt::format("{}: of {} ranks these have no file: {}{}", folder.string(), ranks,
                                 fmt::join(missing, ", "), more ? ", ..." : ""));
  }
  return files;
}

}  // namespace ompl::trace
