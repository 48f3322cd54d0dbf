// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/lines.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace ompl::solver {

namespace {

constexpr std::size_t kLongestLine = 65536;
constexpr std::size_t kRead = 1 << 18;

}  // namespace

void Lines::Close::operator()(gzFile_s* file) const { gzclose(file); }

Lines Lines::of_file(const std::string& path) {
  Lines out;
  out.name_ = path;
  errno = 0;
  out.file_.reset(gzopen(path.c_str(), "rb"));
  if (!out.file_) refuse("{}: {}", path, errno != 0 ? std::strerror(errno) : "no memory to read it");
  return out;
}

Lines Lines::of_text(std::string_view text, std::string name) {
  Lines out;
  out.name_ = std::move(name);
  out.buffer_ = text;
  return out;
}

// Drops what was given and reads on; false at the end of the file.
bool Lines::refill() {
  if (!file_) return false;
  buffer_.erase(0, at_);
  base_ += at_;
  at_ = 0;
  const std::size_t old = buffer_.size();
  buffer_.resize(old + kRead);
  const int got = gzread(file_.get(), buffer_.data() + old, kRead);
  int error = Z_OK;
  const char* const text = gzerror(file_.get(), &error);
  if (got < 0 || (error != Z_OK && error != Z_STREAM_END)) {
    ++number_;
    fail("the file cannot be read on: {}; is it complete?",
         error == Z_ERRNO ? std::strerror(errno) : text);
  }
  buffer_.resize(old + static_cast<std::size_t>(got));
  return got > 0;
}

std::optional<uint64_t> Lines::size() const {
  if (!file_) return buffer_.size();
  std::error_code none;
  if (!std::filesystem::is_regular_file(name_, none) || gzdirect(file_.get()) == 0) return {};
  const uint64_t bytes = std::filesystem::file_size(name_, none);
  return none || bytes == 0 ? std::nullopt : std::optional(bytes);
}

// A line may begin in one share and end in another; it belongs to the first.
void Lines::narrow(uint64_t first, uint64_t last, uint64_t number) {
  number_ = number;
  end_ = last;
  if (first == 0) return;
  if (!file_) {
    at_ = std::min<std::size_t>(first - 1, buffer_.size());
  } else {
    buffer_.clear();
    at_ = 0;
    base_ = first - 1;
    (void)gzdirect(
        file_.get());  // finds out that it is not compressed; then it can seek without reading
    if (gzseek(file_.get(), static_cast<z_off_t>(base_), SEEK_SET) < 0)
      refuse("{}: byte {} cannot be found; has the file changed?", name_, base_);
  }
  skip_line();
}

// Whatever its length.
void Lines::skip_line() {
  std::size_t end = buffer_.find('\n', at_);
  while (end == std::string::npos) {
    at_ = buffer_.size();
    if (offset() >= end_ || !refill()) return;
    end = buffer_.find('\n', at_);
  }
  at_ = end + 1;
}

bool Lines::next() {
  if (std::exchange(again_, false)) return true;
  if (offset() >= end_) return false;
  std::size_t end = buffer_.find('\n', at_);
  while (end == std::string::npos && buffer_.size() - at_ <= kLongestLine && refill())
    end = buffer_.find('\n', at_);
  if (at_ == buffer_.size()) return false;
  ++number_;
  if (end == std::string::npos) end = buffer_.size();
  if (end - at_ > kLongestLine)
    fail("the line is longer than {} bytes; is this a matrix?", kLongestLine);
  line_ = std::string_view(buffer_).substr(at_, end - at_);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  at_ = std::min(end + 1, buffer_.size());
  return true;
}

}  // namespace ompl::solver
