// SPDX-License-Identifier: BSD-3-Clause
// The C++20 interface of ompl_memory.h, without its waits: memory of one rank or of a team, and adopted memory, given back at
// the end of their objects' lives. What ompl_memory.h says of a function holds for its namesake here.
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

}  // namespace omnipgas

#endif  // OMNIPGAS_OMPL_MEMORY_HPP
