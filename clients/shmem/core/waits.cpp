// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <memory>

#include "core/state.hpp"

namespace shmem_core {
namespace {

static_assert(SHMEM_CMP_EQ == OMPL_EQ && SHMEM_CMP_NE == OMPL_NE && SHMEM_CMP_GT == OMPL_GT);
static_assert(SHMEM_CMP_GE == OMPL_GE && SHMEM_CMP_LT == OMPL_LT && SHMEM_CMP_LE == OMPL_LE);

int condition_of(const Word& word, ompl_condition* condition) {
  if (word.comparison < SHMEM_CMP_EQ || word.comparison > SHMEM_CMP_LE)
    return refuse(OMPL_ERR_ARG, "%d is no comparison: use SHMEM_CMP_EQ, ... SHMEM_CMP_LE",
                  word.comparison);
  const uint64_t offset = offset_of(word.address, word.width / 8);
  if (offset == 0) return not_symmetric(word.address, word.width / 8);
  *condition = {.flag_addr = offset,
                .value = word.value,
                .comparison = static_cast<uint32_t>(word.comparison) |
                              (word.is_signed ? uint32_t{OMPL_SIGNED} : 0U),
                .width = word.width};
  return OMPL_OK;
}

template <class T>
bool compares(const Word& word) {
  const T now = __atomic_load_n(static_cast<const volatile T*>(word.address), __ATOMIC_ACQUIRE);
  const auto value = static_cast<T>(word.value);
  switch (word.comparison) {
    case SHMEM_CMP_EQ:
      return now == value;
    case SHMEM_CMP_NE:
      return now != value;
    case SHMEM_CMP_GT:
      return now > value;
    case SHMEM_CMP_GE:
      return now >= value;
    case SHMEM_CMP_LT:
      return now < value;
    default:
      return now <= value;
  }
}

// Whether the condition holds at this moment, of a word that was checked.
bool holds(const Word& word) {
  switch (word.width) {
    case 8:
      return word.is_signed ? compares<int8_t>(word) : compares<uint8_t>(word);
    case 16:
      return word.is_signed ? compares<int16_t>(word) : compares<uint16_t>(word);
    case 32:
      return word.is_signed ? compares<int32_t>(word) : compares<uint32_t>(word);
    default:
      return word.is_signed ? compares<int64_t>(word) : compares<uint64_t>(word);
  }
}

bool is_aligned(const Word& word) {
  return reinterpret_cast<uintptr_t>(word.address) % (word.width / 8) == 0;
}

// The conditions of the words that take part, and which those are.
class List {
 public:
  int fill(const Words& words) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < words.count; ++i) most += words.in(i) ? 1 : 0;
    if (most > few_.size()) {
      many_ = std::make_unique<ompl_condition[]>(most);
      many_indices_ = std::make_unique<std::size_t[]>(2 * most);
      conditions = many_.get();
      indices = many_indices_.get();
    }
    for (std::size_t i = 0; i < words.count; ++i) {
      if (!words.in(i)) continue;
      if (const int code = condition_of(words.at(i), &conditions[count]); code != OMPL_OK) return code;
      indices[count++] = i;
    }
    found = indices + count;
    return OMPL_OK;
  }

  std::size_t count = 0;
  ompl_condition* conditions = few_.data();
  std::size_t* indices = few_indices_.data();  // of the words of the conditions
  std::size_t* found = nullptr;                // room for `count` numbers of conditions

 private:
  std::array<ompl_condition, 16> few_{};
  std::array<std::size_t, 32> few_indices_{};
  std::unique_ptr<ompl_condition[]> many_;
  std::unique_ptr<std::size_t[]> many_indices_;
};

int64_t limit(bool waits) { return waits ? OMPL_FOREVER : 0; }

}  // namespace

Word Words::at(std::size_t i) const {
  Word word = first;
  const std::size_t bytes = word.width / 8;
  word.address = static_cast<const volatile char*>(first.address) + i * bytes;
  const char* value = static_cast<const char*>(values) + (vector ? i * bytes : 0);
  word.value = 0;
  std::memcpy(&word.value, value,
              bytes);  // the lowest bytes: the byte order is little-endian everywhere here
  return word;
}

int wait_until(const Word& word) {
  ompl_condition condition;
  if (const int code = condition_of(word, &condition); code != OMPL_OK) return code;
  if (!state().watched && is_aligned(word) && holds(word)) {
    progress_in_loops();
    return OMPL_OK;
  }
  return ompl_wait_memory(OMPL_CTX_DEFAULT, &condition, OMPL_FOREVER);
}

int test(const Word& word, int* result) {
  ompl_condition condition;
  progress_in_loops();  // the layer makes none where the condition holds, and a program may wait for that to end
  if (const int code = condition_of(word, &condition); code != OMPL_OK) return code;
  if (is_aligned(word)) {
    *result = holds(word) ? 1 : 0;
    return OMPL_OK;
  }
  const int code = ompl_wait_memory(OMPL_CTX_DEFAULT, &condition, 0);
  *result = code == OMPL_OK ? 1 : 0;
  return code == OMPL_ERR_TIMEOUT ? OMPL_OK : code;
}

int wait_all(const Words& words) {
  List list;
  if (const int code = list.fill(words); code != OMPL_OK || list.count == 0) return code;
  return ompl_wait_memory_all(OMPL_CTX_DEFAULT, list.conditions, list.count, OMPL_FOREVER);
}

int test_all(const Words& words, int* result) {
  List list;
  progress_in_loops();
  *result = 1;
  if (const int code = list.fill(words); code != OMPL_OK || list.count == 0) return code;
  std::size_t found = 0;
  const int code =
      ompl_wait_memory_some(OMPL_CTX_DEFAULT, list.conditions, list.count, list.found, &found, 0);
  *result = code == OMPL_OK && found == list.count ? 1 : 0;
  return code == OMPL_ERR_TIMEOUT ? OMPL_OK : code;
}

int await_any(const Words& words, std::size_t* result, bool waits) {
  List list;
  progress_in_loops();
  *result = SIZE_MAX;
  if (const int code = list.fill(words); code != OMPL_OK || list.count == 0) return code;
  std::size_t which = 0;
  const int code =
      ompl_wait_memory_any(OMPL_CTX_DEFAULT, list.conditions, list.count, &which, limit(waits));
  if (code == OMPL_OK) *result = list.indices[which];
  return code == OMPL_ERR_TIMEOUT ? OMPL_OK : code;
}

int await_some(const Words& words, std::size_t* indices, std::size_t* result, bool waits) {
  List list;
  progress_in_loops();
  *result = 0;
  if (const int code = list.fill(words); code != OMPL_OK || list.count == 0) return code;
  std::size_t found = 0;
  const int code = ompl_wait_memory_some(OMPL_CTX_DEFAULT, list.conditions, list.count, list.found,
                                         &found, limit(waits));
  if (code == OMPL_ERR_TIMEOUT) return OMPL_OK;
  if (code != OMPL_OK) return code;
  for (std::size_t i = 0; i < found; ++i) indices[i] = list.indices[list.found[i]];
  *result = found;
  return OMPL_OK;
}

}  // namespace shmem_core
