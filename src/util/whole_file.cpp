// SPDX-License-Identifier: BSD-3-Clause
#include "util/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "util/secret.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

// 0, or errno.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(file) == 0 ? 0 : errno;
}

}  // namespace

std::string write_whole(const std::string& path, std::string_view text) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int place = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place < 0) return fmt::format("its folder cannot be opened: {}", error_text(errno));
  // O_EXCL follows no link, whatever has been put there.
  const std::string part = fmt::format(".{}.{:016x}", name, unpredictable_number());
  const int file =
      ::openat(place, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  int error = file < 0 ? errno : write_all(file, text);
  if (file >= 0) ::close(file);
  if (error == 0 && ::renameat(place, part.c_str(), place, name.c_str()) != 0) error = errno;
  if (error == 0) {
    ::fsync(place);  // some file systems cannot: the file is whole all the same
  } else if (file >= 0) {
    ::unlinkat(place, part.c_str(), 0);
  }
  ::close(place);
  return error == 0 ? "" : error_text(error);
}

}  // namespace ompl
