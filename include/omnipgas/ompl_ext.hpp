// SPDX-License-Identifier: BSD-3-Clause
// The C++20 interface of ompl_ext.h; ompl.hpp includes it. What ompl_ext.h says of a function holds for its
// namesake here. Functions take the context last, as a Context or nothing: the thread's implicit one.
//
// Coroutines. `co_await flag`, `co_await until(flag, ...)` and `co_await handle` suspend the coroutine until the flag
// was taken, the condition holds, or the operation is complete. It is resumed inside omnipgas::progress(), in the thread
// that calls it; nothing is allocated. A coroutine is not destroyed while it is suspended so.
#ifndef OMNIPGAS_OMPL_EXT_HPP
#define OMNIPGAS_OMPL_EXT_HPP

#include <omnipgas/ompl_ext.h>
#include <omnipgas/ompl.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <coroutine>
#include <optional>
#include <vector>

namespace omnipgas {

// The context of a call: a Context, or the calling thread's implicit one.
class Via {
 public:
  constexpr Via() = default;
  // One that all threads may use at the same time: OMPL_CTX_SHARED.
  static Via shared() { return Via(OMPL_CTX_SHARED); }
  Via(const Context& context) : handle_(context.get_handle()) {}  // NOLINT(google-explicit-constructor)
  operator ompl_ctx*() const { return handle_; }                  // NOLINT(google-explicit-constructor)

 private:
  explicit Via(ompl_ctx* handle) : handle_(handle) {}
  ompl_ctx* handle_ = OMPL_CTX_DEFAULT;
};

// ---- Order and completion, of one rank, of all (OMPL_ALL_RANKS), and of the whole process ----

inline void fence(uint32_t rank = OMPL_ALL_RANKS, Via context = {}) {
  check(ompl_ctx_fence(context, rank, OMPL_FOREVER));
}
inline void flush(uint32_t rank, Via context = {}) {
  check(ompl_ctx_flush_rank(context, rank, OMPL_FOREVER));
}
inline void quiet(uint32_t rank, Via context = {}) {
  check(ompl_ctx_quiet_rank(context, rank, OMPL_FOREVER));
}
inline void process_quiet() { check(ompl_process_quiet()); }

// Words that can be signalled with a value, waited for and changed atomically, and their bits.
template <class T>
concept Word = std::same_as<T, uint32_t> || std::same_as<T, uint64_t> || std::same_as<T, int32_t> ||
    std::same_as<T, int64_t>;
template <Word T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <Word T>
constexpr uint64_t bits_of(T value) {
  return static_cast<Bits<T>>(value);
}

// ---- Signals of any value ----

// Signals that add `value` to a word, or set it.
template <Word T>
constexpr ompl_signal adding(const Section<T>& word, std::type_identity_t<T> value) {
  return {word.offset(), bits_of(value), sizeof(T) == 4 ? OMPL_ADD32 : OMPL_ADD64};
}
template <Word T>
constexpr ompl_signal setting(const Section<T>& word, std::type_identity_t<T> value) {
  return {word.offset(), bits_of(value), sizeof(T) == 4 ? OMPL_SET32 : OMPL_SET64};
}
inline void signal(uint32_t rank, const ompl_signal& what, Via context = {}) {
  check(ompl_ctx_signal(context, rank, &what, OMPL_FOREVER));
}

// ---- Waiting for values, and for several flags ----

// What a wait waits for: a comparison of a word, or what it takes from a flag.
struct Condition : ompl_condition {
  constexpr explicit Condition(const ompl_condition& condition) : ompl_condition(condition) {}
  // Takes one from the flag: what wait() does.
  constexpr Condition(Flag flag) : ompl_condition{flag.offset(), 0, OMPL_TAKE, 32} {}  // NOLINT
};
static_assert(sizeof(Condition) == sizeof(ompl_condition));

// `comparison`: OMPL_EQ ... OMPL_LE.
template <Word T>
constexpr Condition until(const Section<T>& word, unsigned comparison, std::type_identity_t<T> value) {
  return Condition(ompl_condition{word.offset(), bits_of(value), comparison, 8 * sizeof(T)});
}
// Takes one from a word of either width.
template <Word T>
constexpr Condition taking(const Section<T>& word) {
  return Condition(ompl_condition{word.offset(), 0, OMPL_TAKE, 8 * sizeof(T)});
}

// Takes `amount` at once, as soon as it is there.
template <Word T>
constexpr Condition taking(const Section<T>& word, std::type_identity_t<T> amount) {
  return Condition(ompl_condition{word.offset(), bits_of(amount), OMPL_TAKE_MANY, 8 * sizeof(T)});
}

inline void wait(const Condition& condition, Via context = {}) {
  check(ompl_ctx_wait_until(context, &condition, OMPL_FOREVER));
}
template <class Rep, class Period>
bool wait_for(const Condition& condition, std::chrono::duration<Rep, Period> limit, Via context = {}) {
  return check_timed(ompl_ctx_wait_until(context, &condition, limit_ns(limit)));
}

// The number of one condition that holds.
inline std::size_t wait_any(std::span<const Condition> conditions, Via context = {}) {
  std::size_t which = 0;
  check(ompl_ctx_wait_any(context, conditions.data(), conditions.size(), &which, OMPL_FOREVER));
  return which;
}
// The same; nothing if the time is up.
template <class Rep, class Period>
std::optional<std::size_t> wait_any_for(std::span<const Condition> conditions,
                                        std::chrono::duration<Rep, Period> limit, Via context = {}) {
  std::size_t which = 0;
  const int result =
      ompl_ctx_wait_any(context, conditions.data(), conditions.size(), &which, limit_ns(limit));
  return check_timed(result) ? std::optional(which) : std::nullopt;
}
// The numbers of all that hold, at the beginning of `found`, which has room for as many as there are conditions.
inline std::span<std::size_t> wait_some(std::span<const Condition> conditions,
                                        std::span<std::size_t> found, Via context = {}) {
  check_sizes(found.size(), conditions.size());
  std::size_t count = 0;
  check(ompl_ctx_wait_some(context, conditions.data(), conditions.size(), found.data(), &count,
                           OMPL_FOREVER));
  return found.first(count);
}
inline void wait_all(std::span<const Condition> conditions, Via context = {}) {
  check(ompl_ctx_wait_all(context, conditions.data(), conditions.size(), OMPL_FOREVER));
}
template <class Rep, class Period>
bool wait_all_for(std::span<const Condition> conditions, std::chrono::duration<Rep, Period> limit,
                  Via context = {}) {
  return check_timed(ompl_ctx_wait_all(context, conditions.data(), conditions.size(), limit_ns(limit)));
}

// ---- Nonblocking operations ----

// One operation under way. It stays where it is; its end waits for the operation's. Declared after the buffer, it
// keeps the buffer alive for as long as that is in use.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (!std::ranges::all_of(handle_.opaque, [](uint64_t word) { return word == 0; }))
      static_cast<void>(ompl_handle_wait(OMPL_CTX_DEFAULT, &handle_, OMPL_FOREVER));
  }
  // Whether the operation is complete.
  bool test(Via context = {}) { return check(ompl_handle_test(context, &handle_)) != 0; }
  // Whether the source of a put may be changed.
  bool test_source(Via context = {}) { return check(ompl_handle_test_source(context, &handle_)) != 0; }
  void wait(Via context = {}) { check(ompl_handle_wait(context, &handle_, OMPL_FOREVER)); }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit, Via context = {}) {
    return check_timed(ompl_handle_wait(context, &handle_, limit_ns(limit)));
  }
  ompl_handle* get() { return &handle_; }

 private:
  ompl_handle handle_ = OMPL_HANDLE_INIT;
};
static_assert(sizeof(Handle) == sizeof(ompl_handle));

// The number of one operation that is complete; nothing if no handle stands for an operation.
inline std::optional<std::size_t> wait_any(std::span<Handle> handles, Via context = {}) {
  std::size_t which = 0;
  check(ompl_handle_wait_any(context, handles.data()->get(), handles.size(), &which, OMPL_FOREVER));
  return which == SIZE_MAX ? std::nullopt : std::optional(which);
}
inline void wait_all(std::span<Handle> handles, Via context = {}) {
  check(ompl_handle_wait_all(context, handles.data()->get(), handles.size(), OMPL_FOREVER));
}

// What a nonblocking call did: `retry` is 0, or the OMPL_RETRY_* that says why nothing was posted.
struct Posted {
  int result;
  [[nodiscard]] constexpr bool accepted() const { return result == OMPL_OK || result == OMPL_PENDING; }
  [[nodiscard]] constexpr bool complete() const { return result == OMPL_OK; }
};

// `options`: 0 or OMPL_LOCAL. `after`: a signal that follows the data.
template <Transferable T>
[[nodiscard]] Posted put_nb(const SourceOf<T> auto& source, uint32_t rank, const Section<T>& dest,
                            Handle& handle, const ompl_signal* after = nullptr, unsigned options = 0,
                            Via context = {}) {
  check_sizes(std::ranges::size(source), dest.size());
  return {check(ompl_put_nb(context, address_of(std::ranges::data(source)), rank, dest.offset(),
                            dest.size() * sizeof(T), after, options, handle.get()))};
}
template <Transferable T>
[[nodiscard]] Posted get_nb(TargetOf<T> auto&& target, uint32_t rank, const Section<T>& source,
                            Handle& handle, Via context = {}) {
  check_sizes(std::ranges::size(target), source.size());
  return {check(ompl_get_nb(context, address_of(std::ranges::data(target)), rank, source.offset(),
                            source.size() * sizeof(T), handle.get()))};
}

// An n-dimensional block of two arrays: extents and, in elements, the strides on either side; the first dimension is the
// outermost. Its element with all indices 0 is the first of either array.
template <std::size_t N>
struct Block {
  std::array<std::size_t, N> extents;
  std::array<std::size_t, N> local_strides;
  std::array<std::size_t, N> remote_strides;
};
// Element local[i] of one array and element remote[i] of the other; an empty list stands for 0, 1, 2 and so on.
struct List {
  std::span<const std::size_t> local;
  std::span<const std::size_t> remote;
};

namespace detail {
inline void check_inside(bool inside) {
  if (!inside) throw Error(OMPL_ERR_LENGTH, "a block or a list: its elements are not all inside");
}
// Calls `use` with a Block as C has it, of elements of `width` bytes in arrays of those sizes.
template <std::size_t N, class Use>
auto with_block(const Block<N>& block, std::size_t width, std::size_t local, std::size_t remote,
                Use use) {
  std::array<std::ptrdiff_t, N> local_bytes{};
  std::array<std::ptrdiff_t, N> remote_bytes{};
  std::array<std::size_t, 2> last{};
  bool empty = false;
  for (std::size_t i = 0; i < N; ++i) {
    empty = empty || block.extents[i] == 0;
    const auto in_bytes = [&](std::size_t stride, std::size_t* end) {
      std::size_t reach = 0;
      check_inside(empty || (!__builtin_mul_overflow(block.extents[i] - 1, stride, &reach) &&
                             !__builtin_add_overflow(*end, reach, end)));
      return static_cast<std::ptrdiff_t>(stride * width);
    };
    local_bytes[i] = in_bytes(block.local_strides[i], &last[0]);
    remote_bytes[i] = in_bytes(block.remote_strides[i], &last[1]);
  }
  check_inside(empty || (last[0] < local && last[1] < remote));
  return use(ompl_strided{width, static_cast<int32_t>(N), block.extents.data(), local_bytes.data(),
                          remote_bytes.data()});
}
template <class Use>
auto with_list(const List& list, std::size_t width, std::size_t local, std::size_t remote, Use use) {
  const std::size_t count = std::max(list.local.size(), list.remote.size());
  const auto in_bytes = [&](std::span<const std::size_t> numbers, std::size_t size) {
    check_inside(numbers.empty() ? count <= size : numbers.size() == count);
    std::vector<uint64_t> bytes;
    for (const std::size_t number : numbers) {
      check_inside(number < size);
      bytes.push_back(number * width);
    }
    return bytes;
  };
  const std::vector<uint64_t> from = in_bytes(list.local, local);
  const std::vector<uint64_t> to = in_bytes(list.remote, remote);
  return use(ompl_indexed{width, count, from.empty() ? nullptr : from.data(),
                          to.empty() ? nullptr : to.data()});
}
}  // namespace detail

// Puts and gets of a Block or a List without waiting. Throws Error(OMPL_ERR_LENGTH) if some element is outside its array.
template <Transferable T, std::size_t N>
[[nodiscard]] Posted put_nb(const SourceOf<T> auto& source, uint32_t rank, const Section<T>& dest,
                            const Block<N>& block, Handle& handle, const ompl_signal* after = nullptr,
                            unsigned options = 0, Via context = {}) {
  return detail::with_block(
      block, sizeof(T), std::ranges::size(source), dest.size(), [&](const ompl_strided& c) -> Posted {
        return {check(ompl_put_strided_nb(context, address_of(std::ranges::data(source)), rank,
                                          dest.offset(), &c, after, options, handle.get()))};
      });
}
template <Transferable T, std::size_t N>
[[nodiscard]] Posted get_nb(TargetOf<T> auto&& target, uint32_t rank, const Section<T>& source,
                            const Block<N>& block, Handle& handle, Via context = {}) {
  return detail::with_block(
      block, sizeof(T), std::ranges::size(target), source.size(), [&](const ompl_strided& c) -> Posted {
        return {check(ompl_get_strided_nb(context, address_of(std::ranges::data(target)), rank,
                                          source.offset(), &c, handle.get()))};
      });
}
template <Transferable T>
[[nodiscard]] Posted put_nb(const SourceOf<T> auto& source, uint32_t rank, const Section<T>& dest,
                            const List& list, Handle& handle, const ompl_signal* after = nullptr,
                            unsigned options = 0, Via context = {}) {
  return detail::with_list(
      list, sizeof(T), std::ranges::size(source), dest.size(), [&](const ompl_indexed& c) -> Posted {
        return {check(ompl_put_indexed_nb(context, address_of(std::ranges::data(source)), rank,
                                          dest.offset(), &c, after, options, handle.get()))};
      });
}
template <Transferable T>
[[nodiscard]] Posted get_nb(TargetOf<T> auto&& target, uint32_t rank, const Section<T>& source,
                            const List& list, Handle& handle, Via context = {}) {
  return detail::with_list(
      list, sizeof(T), std::ranges::size(target), source.size(), [&](const ompl_indexed& c) -> Posted {
        return {check(ompl_get_indexed_nb(context, address_of(std::ranges::data(target)), rank,
                                          source.offset(), &c, handle.get()))};
      });
}

[[nodiscard]] inline Posted signal_nb(uint32_t rank, const ompl_signal& what, Via context = {}) {
  return {check(ompl_signal_nb(context, rank, &what))};
}

// ---- Atomics: each returns what the word was ----

// What atomics compute with: words, and floating point.
template <class T>
concept Number = Word<T> || std::same_as<T, float> || std::same_as<T, double>;
template <Number T>
constexpr auto word_of(T value) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(value);
}
// The number of an operation on numbers of type T.
template <Number T>
constexpr int add_of = std::floating_point<T> ? OMPL_ATOMIC_FADD : OMPL_ATOMIC_ADD;
template <Number T>
constexpr int min_of = std::floating_point<T>    ? OMPL_ATOMIC_FMIN
                       : std::signed_integral<T> ? OMPL_ATOMIC_SMIN
                                                 : OMPL_ATOMIC_UMIN;
template <Number T>
constexpr int max_of = std::floating_point<T>    ? OMPL_ATOMIC_FMAX
                       : std::signed_integral<T> ? OMPL_ATOMIC_SMAX
                                                 : OMPL_ATOMIC_UMAX;

// The function for words of this width.
template <Number T>
constexpr auto* atomic_of = [] {
  if constexpr (sizeof(T) == 4)
    return &ompl_ctx_atomic32;
  else
    return &ompl_ctx_atomic64;
}();

template <Number T>
T atomic(uint32_t rank, const Section<T>& word, int op, std::type_identity_t<T> operand = 0,
         std::type_identity_t<T> compare = 0, Via context = {}) {
  check_sizes(1, word.size());
  decltype(word_of(operand)) before = 0;
  check(atomic_of<T>(context, rank, word.offset(), op, word_of(operand), word_of(compare), &before,
                     OMPL_FOREVER));
  return std::bit_cast<T>(before);
}
template <Number T>
T fetch(uint32_t rank, const Section<T>& word) {
  return atomic(rank, word, OMPL_ATOMIC_FETCH);
}
template <Number T>
T swap(uint32_t rank, const Section<T>& word, std::type_identity_t<T> value) {
  return atomic(rank, word, OMPL_ATOMIC_SET, value);
}
template <Number T>
T fetch_add(uint32_t rank, const Section<T>& word, std::type_identity_t<T> value) {
  return atomic(rank, word, add_of<T>, value);
}
// The minimum and the maximum of the word and `value` as numbers of type T.
template <Number T>
T fetch_min(uint32_t rank, const Section<T>& word, std::type_identity_t<T> value) {
  return atomic(rank, word, min_of<T>, value);
}
template <Number T>
T fetch_max(uint32_t rank, const Section<T>& word, std::type_identity_t<T> value) {
  return atomic(rank, word, max_of<T>, value);
}
template <Word T>
T fetch_and(uint32_t rank, const Section<T>& word, std::type_identity_t<T> value) {
  return atomic(rank, word, OMPL_ATOMIC_AND, value);
}
template <Word T>
T fetch_or(uint32_t rank, const Section<T>& word, std::type_identity_t<T> value) {
  return atomic(rank, word, OMPL_ATOMIC_OR, value);
}
template <Word T>
T fetch_xor(uint32_t rank, const Section<T>& word, std::type_identity_t<T> value) {
  return atomic(rank, word, OMPL_ATOMIC_XOR, value);
}
// Sets the word to `value` if it equals `compare`; it was set if `compare` is returned.
template <Number T>
T compare_swap(uint32_t rank, const Section<T>& word, std::type_identity_t<T> compare,
               std::type_identity_t<T> value) {
  return atomic(rank, word, OMPL_ATOMIC_CSWAP, value, compare);
}

// The same without the answer: complete after quiet(). `op` needs no value before: OMPL_ATOMIC_SET, add_of<T>.
template <Number T>
void update(uint32_t rank, const Section<T>& word, int op, std::type_identity_t<T> operand,
            Via context = {}) {
  check_sizes(1, word.size());
  check(atomic_of<T>(context, rank, word.offset(), op, word_of(operand), 0, nullptr, OMPL_FOREVER));
}

// ---- Progress, and coroutines ----

// True if anything was found or run, false if the time is up.
template <class Rep, class Period>
bool progress(std::chrono::duration<Rep, Period> limit, Via context = {}) {
  return check(ompl_progress(context, limit_ns(limit))) != 0;
}

// What is common to both awaitables: the callback resumes the coroutine, which throws what went wrong.
class Awaiter {
 public:
  Awaiter() = default;
  Awaiter(const Awaiter&) = delete;
  Awaiter& operator=(const Awaiter&) = delete;
  [[nodiscard]] static constexpr bool await_ready() noexcept { return false; }
  void await_resume() const {
    if (code_ < 0) throw Error(code_, detail_);
  }

 protected:
  static void resume(void* self, int code) {
    auto* const awaiter = static_cast<Awaiter*>(self);
    awaiter->code_ = code;
    awaiter->coroutine_.resume();
  }
  // Suspends unless the registration failed. Another thread may have resumed, and ended, the coroutine by then.
  bool suspended(int registered) {
    if (registered >= 0) return true;
    code_ = registered;
    detail_ = ompl_error_detail();
    return false;
  }
  std::coroutine_handle<> coroutine_;

 private:
  int code_ = OMPL_OK;
  const char* detail_ = "";
};

class ConditionAwaiter : public Awaiter {
 public:
  explicit ConditionAwaiter(const Condition& condition) : condition_(condition) {}
  bool await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    return suspended(ompl_flag_then(&watch_, &condition_, resume, static_cast<Awaiter*>(this)));
  }

 private:
  ompl_watch watch_ = {};
  ompl_condition condition_;
};
inline ConditionAwaiter operator co_await(const Condition& condition) {
  return ConditionAwaiter(condition);
}
inline ConditionAwaiter operator co_await(Flag flag) { return ConditionAwaiter(flag); }

class HandleAwaiter : public Awaiter {
 public:
  explicit HandleAwaiter(Handle& handle) : handle_(handle) {}
  bool await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    return suspended(ompl_handle_then(handle_.get(), resume, static_cast<Awaiter*>(this)));
  }

 private:
  Handle& handle_;
};
inline HandleAwaiter operator co_await(Handle& handle) { return HandleAwaiter(handle); }

// The thread that serves other ranks while the program computes is wanted as long as this lives.
class ProgressThread {
 public:
  ProgressThread() { check(ompl_set_progress_thread(1)); }
  ~ProgressThread() { static_cast<void>(ompl_set_progress_thread(0)); }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  // Whether it serves now, whoever wants it.
  static bool runs() {
    const int answer = ompl_progress_thread();
    if (answer < 0) check(answer);
    return answer == 1;
  }
};

// What ompl_failed_ranks() or ompl_stopped_ranks() lists.
inline std::vector<uint32_t> listed_by(int (*list)(uint32_t*, std::size_t, std::size_t*)) {
  std::vector<uint32_t> ranks(size());
  std::size_t count = 0;
  check(list(ranks.data(), ranks.size(), &count));
  ranks.resize(count);
  return ranks;
}
// The ranks known to be dead or out of reach, ascending.
inline std::vector<uint32_t> failed_ranks() { return listed_by(ompl_failed_ranks); }

// This rank does nothing more but end its session; and the ranks known to have said so, ascending.
inline void stop() { check(ompl_stop()); }
inline std::vector<uint32_t> stopped_ranks() { return listed_by(ompl_stopped_ranks); }

}  // namespace omnipgas

#endif  // OMNIPGAS_OMPL_EXT_HPP
