// SPDX-License-Identifier: BSD-3-Clause
// How programs write files: whole or not at all.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <streambuf>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/input_error.hpp"

namespace ompl {

// Writes to a descriptor and remembers its first error.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor), bytes_(std::size_t{1} << 18) {
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }
  // 0, or errno.
  [[nodiscard]] int error() const { return error_; }

 protected:
  int_type overflow(int_type next) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(next, traits_type::eof())) sputc(traits_type::to_char_type(next));
    return traits_type::not_eof(next);
  }
  int sync() override {
    const char* from = pbase();
    while (error_ == 0 && from < pptr()) {
      const ssize_t count = ::write(descriptor_, from, static_cast<std::size_t>(pptr() - from));
      if (count >= 0) {
        from += count;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return error_ == 0 ? 0 : -1;
  }

 private:
  int descriptor_;
  std::vector<char> bytes_;
  int error_ = 0;
};

// A file that takes the place of what is at its path by commit(), and not before: until then, and after an error, the
// old file is as it was. Links are followed. What is no plain file (a pipe, a device, or /dev/stdout and other names of
// descriptors of this process) is written directly. One thread.
class OutputFile {
 public:
  // Throws InputError if nothing can be written there.
  explicit OutputFile(const std::string& path)
      : name_(path), descriptor_(open(path)), buffer_(descriptor_) {}
  ~OutputFile() { discard(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] std::ostream& stream() { return stream_; }

  // All is written. Throws InputError if it could not be; the part that was written is gone then.
  void commit() {
    stream_.flush();
    int error = buffer_.error();
    if (error == 0 && !stream_) error = EIO;
    if (error == 0 && !part_.empty()) error = put_in_place();
    if (::close(std::exchange(descriptor_, -1)) != 0 && error == 0 && part_.empty()) error = errno;
    if (error != 0) {
      discard();
      refuse_because(error);
    }
    part_.clear();
  }

 private:
  static constexpr int kMostLinks = 40;  // as the system has it

  [[noreturn]] void refuse_because(int error) const {
    refuse("cannot write {}: {}", name_, std::generic_category().message(error));
  }

  void discard() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!part_.empty()) ::unlink(std::exchange(part_, {}).c_str());
  }

  // The descriptor of this process that the path names, or -1.
  static int own_descriptor(const std::filesystem::path& path) {
    std::error_code unknown;
    const auto folder =
        std::filesystem::canonical(path.has_parent_path() ? path.parent_path() : ".", unknown);
    const std::string number = path.filename();
    int descriptor = -1;
    if (folder == std::filesystem::canonical("/proc/self/fd", unknown))
      std::from_chars(number.data(), number.data() + number.size(), descriptor);
    return descriptor;
  }

  int open(const std::string& path) {
    std::filesystem::path place = path;
    std::error_code none;
    for (int links = 0; links < kMostLinks; ++links) {
      if (const int own = own_descriptor(place); own >= 0) return opened(::dup(own));
      const auto target = std::filesystem::read_symlink(place, none);
      if (none) break;
      place = target.is_absolute() ? target : place.parent_path() / target;
    }
    struct stat status {};
    const bool there = ::stat(place.c_str(), &status) == 0;
    if (there && !S_ISREG(status.st_mode)) return opened(::open(place.c_str(), O_WRONLY | O_CLOEXEC));
    place_ = place;
    std::string part = place.parent_path() / fmt::format(".{}.XXXXXX", place.filename().string());
    const int descriptor = opened(::mkostemp(part.data(), O_CLOEXEC));
    part_ = part;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(descriptor, there ? status.st_mode & 07777 : 0666 & ~mask);
    return descriptor;
  }

  int opened(int descriptor) {
    if (descriptor < 0) refuse_because(errno);
    return descriptor;
  }

  // 0, or errno.
  [[nodiscard]] int put_in_place() {
    const bool done = ::fsync(descriptor_) == 0 && ::rename(part_.c_str(), place_.c_str()) == 0;
    return done ? 0 : errno;
  }

  std::string name_, place_, part_;
  int descriptor_ = -1;
  DescriptorBuffer buffer_;
  std::ostream stream_{&buffer_};
};

}  // namespace ompl
