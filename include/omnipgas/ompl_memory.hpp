// SPDX-License-Identifier: BSD-3-Clause
// The C++20 interface of ompl_memory.h: memory of one rank or of a team, and adopted memory, given back at the end of their
// objects' lives; waits for words that plain puts change. What ompl_memory.h says of a function holds for its namesake here.
#ifndef OMNIPGAS_OMPL_MEMORY_HPP
#define OMNIPGAS_OMPL_MEMORY_HPP

#include <omnipgas/ompl_memory.h>
#include <omnipgas/ompl.hpp>

#include <span>
#include <utility>

namespace omnipgas {

// `count` elements in the segment of this rank alone, zero at first. Others name them by a Section of the same offset and
// length.
template <Transferable T>
class LocalArray : public Section<T> {
 public:
  explicit LocalArray(std::size_t count) : Section<T>(allocate(count), count) {}
  LocalArray(LocalArray&& other) noexcept
      : Section<T>(std::exchange(static_cast<Section<T>&>(other), {})) {}
  LocalArray& operator=(LocalArray&&) = delete;
  ~LocalArray() {
    if (this->offset() != 0) static_cast<void>(ompl_free_local(this->offset()));
  }
  void free() { check(ompl_free_local(std::exchange(static_cast<Section<T>&>(*this), {}).offset())); }

 private:
  static uint64_t allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw Error(OMPL_ERR_LENGTH, "LocalArray: the number of bytes overflows");
    uint64_t offset = 0;
    check(ompl_alloc_local(count * sizeof(T), &offset));
    return offset;
  }
};

// Uses what other ranks have taken alone.
inline void accept_local() { check(ompl_accept_local()); }

// `count` elements in the segments of a team's members, zero at first. Made and freed collectively in the team.
template <Transferable T>
class TeamArray : public Section<T> {
 public:
  TeamArray(ompl_team* team, std::size_t count)
      : Section<T>(allocate(team, count), count), team_(team) {}
  TeamArray(TeamArray&& other) noexcept
      : Section<T>(std::exchange(static_cast<Section<T>&>(other), {})),
        team_(other.team_),
        exceptions_(other.exceptions_) {}
  TeamArray& operator=(TeamArray&&) = delete;
  ~TeamArray() {
    if (this->offset() != 0 && leaving_normally(exceptions_))
      static_cast<void>(ompl_team_free(team_, this->offset()));
  }
  void free() {
    check(ompl_team_free(team_, std::exchange(static_cast<Section<T>&>(*this), {}).offset()));
  }

 private:
  static uint64_t allocate(ompl_team* team, std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw Error(OMPL_ERR_LENGTH, "TeamArray: the number of bytes overflows");
    uint64_t offset = 0;
    check(ompl_team_alloc(team, count * sizeof(T), &offset));
    return offset;
  }
  ompl_team* team_;
  int exceptions_ = std::uncaught_exceptions();
};

// Whole pages of the program as a part of the segment of this rank alone.
class AdoptedLocal {
 public:
  explicit AdoptedLocal(std::span<std::byte> pages) {
    check(ompl_adopt_local(pages.data(), pages.size(), &offset_));
  }
  AdoptedLocal(const AdoptedLocal&) = delete;
  AdoptedLocal& operator=(const AdoptedLocal&) = delete;
  ~AdoptedLocal() { static_cast<void>(ompl_unadopt_local(offset_)); }
  [[nodiscard]] uint64_t offset() const { return offset_; }

 private:
  uint64_t offset_ = 0;
};

// ---- Waiting for memory ----

// What a wait for memory can look at: words of 8 to 64 bits, with and without sign.
template <class T>
concept MemoryWord = std::integral<T> && sizeof(T) <= 8;

// A condition on a word of memory, for the waits below alone.
struct MemoryCondition : ompl_condition {
  constexpr explicit MemoryCondition(const ompl_condition& condition) : ompl_condition(condition) {}
};
static_assert(sizeof(MemoryCondition) == sizeof(ompl_condition));

// `comparison`: OMPL_EQ ... OMPL_LE, as numbers of type T.
template <MemoryWord T>
constexpr MemoryCondition until_memory(const Section<T>& word, unsigned comparison,
                                       std::type_identity_t<T> value) {
  const unsigned sign = std::is_signed_v<T> ? unsigned{OMPL_SIGNED} : 0U;
  return MemoryCondition(ompl_condition{word.offset(), static_cast<uint64_t>(value), comparison | sign,
                                        static_cast<uint32_t>(8 * sizeof(T))});
}

inline void wait_memory(const MemoryCondition& condition, Via context = {}) {
  check(ompl_wait_memory(context, &condition, OMPL_FOREVER));
}
// False if the time is up.
template <class Rep, class Period>
bool wait_memory_for(const MemoryCondition& condition, std::chrono::duration<Rep, Period> limit,
                     Via context = {}) {
  return check_timed(ompl_wait_memory(context, &condition, limit_ns(limit)));
}

// The number of one condition that holds.
inline std::size_t wait_memory_any(std::span<const MemoryCondition> conditions, Via context = {}) {
  std::size_t which = 0;
  check(ompl_wait_memory_any(context, conditions.data(), conditions.size(), &which, OMPL_FOREVER));
  return which;
}
// The same; nothing if the time is up.
template <class Rep, class Period>
std::optional<std::size_t> wait_memory_any_for(std::span<const MemoryCondition> conditions,
                                               std::chrono::duration<Rep, Period> limit,
                                               Via context = {}) {
  std::size_t which = 0;
  const int result =
      ompl_wait_memory_any(context, conditions.data(), conditions.size(), &which, limit_ns(limit));
  return check_timed(result) ? std::optional(which) : std::nullopt;
}
// The numbers of all that hold, at the beginning of `found`, which has room for as many as there are conditions.
inline std::span<std::size_t> wait_memory_some(std::span<const MemoryCondition> conditions,
                                               std::span<std::size_t> found, Via context = {}) {
  check_sizes(found.size(), conditions.size());
  std::size_t count = 0;
  check(ompl_wait_memory_some(context, conditions.data(), conditions.size(), found.data(), &count,
                              OMPL_FOREVER));
  return found.first(count);
}
// Until each has held, not necessarily all at one time.
inline void wait_memory_all(std::span<const MemoryCondition> conditions, Via context = {}) {
  check(ompl_wait_memory_all(context, conditions.data(), conditions.size(), OMPL_FOREVER));
}
template <class Rep, class Period>
bool wait_memory_all_for(std::span<const MemoryCondition> conditions,
                         std::chrono::duration<Rep, Period> limit, Via context = {}) {
  return check_timed(
      ompl_wait_memory_all(context, conditions.data(), conditions.size(), limit_ns(limit)));
}

}  // namespace omnipgas

#endif  // OMNIPGAS_OMPL_MEMORY_HPP
