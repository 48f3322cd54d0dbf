// SPDX-License-Identifier: BSD-3-Clause
// Packing for what ranks tell each other at start-up. Little-endian hosts of one job; strings carry their
// length. The reader checks every bound: what it reads came from outside.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace ompl {

class ByteWriter {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> ByteWriter& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  ByteWriter& add(std::string_view text) {
    add(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  // False, for good, once something did not fit.
  template <class T>
  requires std::is_arithmetic_v<T>
  bool get(T* value) {
    if (!good_ || rest_.size() < sizeof *value) return good_ = false;
    std::memcpy(value, rest_.data(), sizeof *value);
    rest_.remove_prefix(sizeof *value);
    return true;
  }
  bool get(std::string* text) {
    uint32_t length = 0;
    if (!get(&length) || rest_.size() < length) return good_ = false;
    text->assign(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return true;
  }
  // Everything fitted and nothing is left.
  [[nodiscard]] bool complete() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace ompl
