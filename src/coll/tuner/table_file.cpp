// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/table_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "util/log.hpp"
#include "util/whole_file.hpp"

namespace ompl::coll {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNone = "none";
constexpr std::size_t kMostBytes = 16 << 20;  // many times what all kinds take

std::string host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  std::string host = name.data();
  std::ranges::replace(host, '/', '_');
  return host;
}

// Empty, also if there is no file, or why there is no table in it.
std::string load(const std::string& path, Table* table) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) return "it cannot be read";
  if (fs::file_size(path, error) > kMostBytes || error) return "it is too long, or no file";
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return Table::parse(text, table);
}

// Empty, or what failed.
std::string replace(const std::string& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  return write_whole(path, text);
}

}  // namespace

TableFile::TableFile(const Settings& settings) {
  if (settings.tuner_table == kNone) return;
  if (!settings.tuner_table.empty())
    path_ = settings.tuner_table;
  else if (!settings.cache_folder.empty())
    path_ = settings.cache_folder + "/omnipgas/tuner/" + host() + ".json";
}

Table TableFile::read() const {
  Table table;
  const std::string wrong = path_.empty() ? "" : load(path_, &table);
  if (!wrong.empty()) log::warn("the tuner's table {} is not used: {}", path_, wrong);
  return table;
}

void TableFile::add(const Table& found) const {
  if (path_.empty() || found.empty()) return;
  Table table;
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_regular_file(path_, error)) {
    log::warn("the tuner's table {} is not written: it is no regular file", path_);
    return;
  }
  if (const std::string wrong = load(path_, &table); !wrong.empty()) {
    fs::rename(path_, path_ + ".old", error);
    if (error) {
      log::warn("the tuner's table {} is not written: {}, and it cannot be kept: {}", path_, wrong,
                error.message());
      return;
    }
    log::warn("the tuner's table {} is kept as {}.old: {}", path_, path_, wrong);
  }
  table.overwrite(found);
  if (const std::string failed = replace(path_, table.text()); !failed.empty())
    log::warn("the tuner's table {} is not written: {}", path_, failed);
}

}  // namespace ompl::coll
