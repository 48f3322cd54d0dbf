// SPDX-License-Identifier: BSD-3-Clause
#include "core/checks.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

namespace shmem_core {
namespace {

// What members tell each other of a call.
struct Record {
  std::array<char, 32> name;
  uint64_t dest;
  std::array<uint64_t, 3> numbers;

  bool operator==(const Record&) const = default;
};

Record record_of(const CollectiveCall& call) {
  Record record{};
  std::snprintf(record.name.data(), record.name.size(), "%s", call.name);
  record.dest = call.dest_length != 0 ? offset_of(call.dest) : 0;
  record.numbers = call.numbers;
  return record;
}

std::string in_words(const Record& record) {
  std::string words = record.name.data();
  words += '(';
  const char* between = "";
  if (record.dest != 0) words += "dest at " + std::to_string(record.dest), between = ", ";
  for (const uint64_t number : record.numbers) {
    words += between + std::to_string(static_cast<int64_t>(number));
    between = ", ";
  }
  return words + ')';
}

int check_buffer(const void* address, std::size_t length) {
  if (length == 0 || offset_of(address, length) != 0) return OMPL_OK;
  return not_symmetric(address, length);
}

// Finds the program's own place in addr2line's answer: pairs of "FUNCTION\n" and "FILE:LINE\n", from the innermost function
// inlined there outwards. What the headers compile into programs is passed over.
std::string line_of_program(std::string_view answer) {
  while (!answer.empty()) {
    const std::size_t name = answer.find('\n');
    if (name == std::string_view::npos) break;
    const std::size_t end = std::min(answer.find('\n', name + 1), answer.size());
    const std::string_view place = answer.substr(name + 1, end - name - 1);
    if (!place.starts_with("shmem.h:") && !place.starts_with("shmem_inline.h:"))
      return std::string(answer.substr(0, name)).append(", ").append(place);
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return "";
}

// By the program addr2line, if it is there.
std::string line_of(const char* file, uintptr_t offset) {
  std::array<char, 1024> command{};
  std::snprintf(command.data(), command.size(), "addr2line -C -f -i -s -e '%s' 0x%zx 2>/dev/null", file,
                static_cast<std::size_t>(offset));
  const auto close = [](FILE* pipe) { ::pclose(pipe); };
  const std::unique_ptr<FILE, decltype(close)> pipe(::popen(command.data(), "r"), close);
  if (pipe == nullptr) return "";
  std::array<char, 1024> text{};
  const std::size_t length = std::fread(text.data(), 1, text.size() - 1, pipe.get());
  const std::string_view answer(text.data(), length);
  return answer.find('?') == std::string_view::npos ? line_of_program(answer) : "";
}

}  // namespace

int check_call_of_all(const Team& team, const CollectiveCall& call) {
  const Record mine = record_of(call);
  std::vector<Record> all(team.members.size());
  if (const int code = ompl_allgather(team.team, &mine, all.data(), sizeof mine, nullptr, nullptr);
      code != OMPL_OK)
    return code;
  const auto other = std::ranges::find_if(all, [&](const Record& record) { return record != mine; });
  if (other != all.end()) {
    const auto pe = static_cast<std::size_t>(other - all.begin());
    return refuse(OMPL_ERR_ARG,
                  "PEs call different functions, or with different arguments: PE %u calls %s, PE %d %s",
                  team.members[pe], in_words(*other).c_str(), state().pe, in_words(mine).c_str());
  }
  if (const int code = check_buffer(call.dest, call.dest_length); code != OMPL_OK) return code;
  if (const int code = check_buffer(call.source, call.source_length); code != OMPL_OK) return code;
  return check_overlap(call.dest, call.dest_length, call.source, call.source_length, true);
}

int check_overlap(const void* dest, std::size_t dest_length, const void* source,
                  std::size_t source_length, bool same) {
  const uintptr_t to = reinterpret_cast<uintptr_t>(dest);
  const uintptr_t from = reinterpret_cast<uintptr_t>(source);
  if (dest_length == 0 || source_length == 0 || (same && to == from)) return OMPL_OK;
  if (to + dest_length <= from || from + source_length <= to) return OMPL_OK;
  return refuse(OMPL_ERR_ARG, "dest, %zu bytes at %p, and source, %zu bytes at %p, overlap",
                dest_length, dest, source_length, source);
}

std::string place_of_call() {
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&place_of_call), &own) == 0) return "";
  for (int i = 0; i < count; ++i) {
    Dl_info found{};
    const uintptr_t call = reinterpret_cast<uintptr_t>(frames[static_cast<std::size_t>(i)]) - 1;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (::dladdr(reinterpret_cast<const void*>(call), &found) == 0 || found.dli_fbase == own.dli_fbase)
      continue;
    const bool fixed =
        reinterpret_cast<uintptr_t>(found.dli_fbase) == 0x400000;  // not position-independent
    const uintptr_t offset = call - (fixed ? 0 : reinterpret_cast<uintptr_t>(found.dli_fbase));
    if (state().debug) {
      if (const std::string line = line_of(found.dli_fname, offset); !line.empty()) return line;
    }
    std::array<char, 512> text{};
    if (found.dli_sname != nullptr)
      std::snprintf(text.data(), text.size(), "%s+0x%zx in %s", found.dli_sname,
                    static_cast<std::size_t>(call - reinterpret_cast<uintptr_t>(found.dli_saddr)),
                    found.dli_fname);
    else
      std::snprintf(text.data(), text.size(), "%s+0x%zx", found.dli_fname,
                    static_cast<std::size_t>(offset));
    return text.data();
  }
  return "";
}

}  // namespace shmem_core
