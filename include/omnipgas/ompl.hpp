// SPDX-License-Identifier: BSD-3-Clause
// The C++20 interface of OMPL: header-only, one call of the C interface for each operation and nothing beside
// it but comparisons. Addresses, flags, ordering, threads and progress are those of ompl.h; what is said there of
// a function holds for its namesake here. Include ompl_inline.h first to have the small operations inlined.
//
// Errors. A negative result is thrown as an Error. Timed waits return false when the time is up.
//
// Collective destructors. ~Session and ~Array are collective, as the functions they call are: on every rank the
// same objects must end in the same order, by leaving the same scopes, before the Session does. While an
// exception passes they do nothing, since the other ranks may not come: the rank then leaves without
// ompl_finalize(), and the launcher ends the job. Their own errors are logged by the library and dropped; call
// finalize() and free() to see them.
#ifndef OMNIPGAS_OMPL_HPP
#define OMNIPGAS_OMPL_HPP

#include <omnipgas/ompl.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace omnipgas {

// A failed call: code() is its OMPL_ERR_*, what() says what was wrong and what to do.
class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& detail)
      : std::runtime_error(detail.empty() ? ompl_strerror(code) : detail), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

// Throws what the calling thread's last call failed with.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_last(int code) {
  throw Error(code, code == OMPL_ERR_TIMEOUT ? "" : ompl_error_detail());
}

// Returns `result` of a C function unless it is an error.
inline int check(int result) {
  if (result < 0) [[unlikely]]
    throw_last(result);
  return result;
}

// Returns whether a timed C function ended in time.
inline bool check_timed(int result) { return result != OMPL_ERR_TIMEOUT && (check(result), true); }

// Nanoseconds for a time limit; negative durations try once.
template <class Rep, class Period>
constexpr int64_t limit_ns(std::chrono::duration<Rep, Period> limit) {
  const std::chrono::duration<double, std::nano> exact = limit;
  if (exact.count() >= 9e18) return OMPL_FOREVER;
  return std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::nanoseconds>(limit).count());
}

// What may lie in a segment: its bytes are its value.
template <class T>
concept Transferable = std::is_trivially_copyable_v<T> && !std::is_const_v<T>;

// Contiguous elements of the caller: std::vector, std::array, std::span, a C array.
template <class Range, class T>
concept SourceOf = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::same_as<std::remove_const_t<std::ranges::range_value_t<Range>>, T>;
template <class Range, class T>
concept TargetOf = SourceOf<Range, T> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

// A local address as the functions of C take it.
inline uint64_t address_of(const volatile void* local) { return reinterpret_cast<uint64_t>(local); }

// `count` elements at an offset of every rank's segment. A name, not an owner: cheap to copy.
template <Transferable T>
class Section {
 public:
  constexpr Section() = default;
  constexpr Section(uint64_t offset, std::size_t count) : offset_(offset), count_(count) {}
  [[nodiscard]] constexpr uint64_t offset() const { return offset_; }
  [[nodiscard]] constexpr std::size_t size() const { return count_; }

  // Elements [first, first + count). Throws Error(OMPL_ERR_LENGTH) if there are fewer.
  [[nodiscard]] constexpr Section section(std::size_t first, std::size_t count) const {
    if (first > count_ || count > count_ - first) [[unlikely]]
      throw Error(OMPL_ERR_LENGTH, "Section::section: the elements are not all inside");
    return {offset_ + first * sizeof(T), count};
  }
  [[nodiscard]] constexpr Section operator[](std::size_t index) const { return section(index, 1); }

  // The elements as they lie in the rank's memory; empty if that is not mapped here.
  [[nodiscard]] std::span<T> on(uint32_t rank) const {
    auto* const first = static_cast<T*>(ompl_ptr(rank, offset_));
    return {first, first == nullptr ? 0 : count_};
  }
  // The elements of this rank.
  [[nodiscard]] std::span<T> local() const { return on(static_cast<uint32_t>(check(ompl_rank()))); }

 private:
  uint64_t offset_ = 0;
  std::size_t count_ = 0;
};

// A counter word in every rank's segment, named by its offset.
class Flag {
 public:
  constexpr explicit Flag(const Section<uint32_t>& word) : offset_(word.offset()) {}
  constexpr explicit Flag(uint64_t offset) : offset_(offset) {}
  [[nodiscard]] constexpr uint64_t offset() const { return offset_; }

 private:
  uint64_t offset_;
};

inline uint32_t rank() { return static_cast<uint32_t>(check(ompl_rank())); }
inline uint32_t size() { return static_cast<uint32_t>(check(ompl_size())); }
inline uint32_t node_rank() { return static_cast<uint32_t>(check(ompl_node_rank())); }
inline uint32_t node_size() { return static_cast<uint32_t>(check(ompl_node_size())); }
inline void barrier() { check(ompl_barrier()); }
// False: see ompl_barrier_timed().
template <class Rep, class Period>
bool barrier_for(std::chrono::duration<Rep, Period> limit) {
  return check_timed(ompl_barrier_timed(limit_ns(limit)));
}
inline int failure_ack() { return check(ompl_failure_ack()); }

// Whether a collective destructor may do its work: not while an exception passes that began after `before`.
inline bool leaving_normally(int before) { return std::uncaught_exceptions() <= before; }

// The time between ompl_init() and ompl_finalize(). Collective at both ends.
class Session {
 public:
  Session() { check(ompl_init()); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (open_ && leaving_normally(exceptions_)) static_cast<void>(ompl_finalize());
  }
  void finalize() {
    open_ = false;
    check(ompl_finalize());
  }

 private:
  bool open_ = true;
  int exceptions_ = std::uncaught_exceptions();
};

// `count` elements in every rank's segment, zero at first. Made and freed collectively.
template <Transferable T>
class Array : public Section<T> {
 public:
  explicit Array(std::size_t count) : Section<T>(allocate(count), count) {}
  Array(Array&& other) noexcept
      : Section<T>(std::exchange(static_cast<Section<T>&>(other), {})),
        exceptions_(other.exceptions_) {}
  Array& operator=(Array&&) = delete;  // it would free, collectively
  ~Array() {
    if (this->offset() != 0 && leaving_normally(exceptions_))
      static_cast<void>(ompl_free(this->offset()));
  }
  void free() { check(ompl_free(std::exchange(static_cast<Section<T>&>(*this), {}).offset())); }

 private:
  static uint64_t allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw Error(OMPL_ERR_LENGTH, "Array: the number of bytes overflows");
    uint64_t offset = 0;
    check(ompl_alloc(count * sizeof(T), &offset));
    return offset;
  }
  int exceptions_ = std::uncaught_exceptions();
};

// Throws unless both sides of a transfer have the same number of elements.
inline void check_sizes(std::size_t local, std::size_t remote) {
  if (local != remote) [[unlikely]]
    throw Error(OMPL_ERR_LENGTH, "the two sides of the transfer differ in length: " +
                                     std::to_string(local) + " and " + std::to_string(remote));
}

// The operations on the calling thread's implicit context.

template <Transferable T>
void put(const SourceOf<T> auto& source, uint32_t rank, const Section<T>& dest) {
  check_sizes(std::ranges::size(source), dest.size());
  check(ompl_put(address_of(std::ranges::data(source)), rank, dest.offset(), dest.size() * sizeof(T)));
}
// One element, copied from `source`.
template <Transferable T>
void put_value(const std::type_identity_t<T>& source, uint32_t rank, const Section<T>& dest) {
  put(std::span<const T, 1>(&source, 1), rank, dest);
}
template <Transferable T>
void get(TargetOf<T> auto&& target, uint32_t rank, const Section<T>& source) {
  check_sizes(std::ranges::size(target), source.size());
  check(ompl_get(address_of(std::ranges::data(target)), rank, source.offset(),
                 source.size() * sizeof(T)));
}
template <Transferable T>
T get_value(uint32_t rank, const Section<T>& source) {
  T value;
  get(std::span<T, 1>(&value, 1), rank, source);
  return value;
}
template <Transferable T>
void put_signal(const SourceOf<T> auto& source, uint32_t rank, const Section<T>& dest, Flag flag) {
  check_sizes(std::ranges::size(source), dest.size());
  check(ompl_put_signal(address_of(std::ranges::data(source)), rank, dest.offset(),
                        dest.size() * sizeof(T), flag.offset()));
}
inline void put_word(uint32_t rank, Flag flag) { check(ompl_put_word(rank, flag.offset())); }
inline void wait(Flag flag) { check(ompl_wait(flag.offset())); }
// False if the time is up: nothing was taken.
template <class Rep, class Period>
bool wait_for(Flag flag, std::chrono::duration<Rep, Period> limit) {
  return check_timed(ompl_ctx_wait(OMPL_CTX_DEFAULT, flag.offset(), limit_ns(limit)));
}
inline bool poll(Flag flag) { return check(ompl_poll(flag.offset())) != 0; }
inline void flush() { check(ompl_flush()); }
inline void quiet() { check(ompl_quiet()); }
// False if the time is up before all is done.
template <class Rep, class Period>
bool flush_for(std::chrono::duration<Rep, Period> limit) {
  return check_timed(ompl_ctx_flush(OMPL_CTX_DEFAULT, limit_ns(limit)));
}
template <class Rep, class Period>
bool quiet_for(std::chrono::duration<Rep, Period> limit) {
  return check_timed(ompl_ctx_quiet(OMPL_CTX_DEFAULT, limit_ns(limit)));
}

// A context of its own, for a task that may move between threads. One thread at a time uses it.
class Context {
 public:
  Context() { check(ompl_ctx_create(&handle_)); }
  Context(Context&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Context& operator=(Context&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Context() { static_cast<void>(ompl_ctx_destroy(handle_)); }
  // Destroys it, and tells what its operations ended with.
  void close() { check(ompl_ctx_destroy(std::exchange(handle_, nullptr))); }
  [[nodiscard]] ompl_ctx* get_handle() const { return handle_; }

  template <Transferable T>
  void put(const SourceOf<T> auto& source, uint32_t rank, const Section<T>& dest) {
    check_sizes(std::ranges::size(source), dest.size());
    check(ompl_ctx_put(handle_, address_of(std::ranges::data(source)), rank, dest.offset(),
                       dest.size() * sizeof(T), OMPL_FOREVER));
  }
  template <Transferable T>
  void get(TargetOf<T> auto&& target, uint32_t rank, const Section<T>& source) {
    check_sizes(std::ranges::size(target), source.size());
    check(ompl_ctx_get(handle_, address_of(std::ranges::data(target)), rank, source.offset(),
                       source.size() * sizeof(T), OMPL_FOREVER));
  }
  template <Transferable T>
  void put_signal(const SourceOf<T> auto& source, uint32_t rank, const Section<T>& dest, Flag flag) {
    check_sizes(std::ranges::size(source), dest.size());
    check(ompl_ctx_put_signal(handle_, address_of(std::ranges::data(source)), rank, dest.offset(),
                              dest.size() * sizeof(T), flag.offset(), OMPL_FOREVER));
  }
  void put_word(uint32_t rank, Flag flag) {
    check(ompl_ctx_put_word(handle_, rank, flag.offset(), OMPL_FOREVER));
  }
  void wait(Flag flag) { check(ompl_ctx_wait(handle_, flag.offset(), OMPL_FOREVER)); }
  template <class Rep, class Period>
  bool wait_for(Flag flag, std::chrono::duration<Rep, Period> limit) {
    return check_timed(ompl_ctx_wait(handle_, flag.offset(), limit_ns(limit)));
  }
  void flush() { check(ompl_ctx_flush(handle_, OMPL_FOREVER)); }
  void quiet() { check(ompl_ctx_quiet(handle_, OMPL_FOREVER)); }

 private:
  ompl_ctx* handle_ = nullptr;
};

}  // namespace omnipgas

#include <omnipgas/ompl_ext.hpp>

#endif  // OMNIPGAS_OMPL_HPP
