// SPDX-License-Identifier: BSD-3-Clause
// The C++20 interface of ompl_calls.h: functions with arguments and results of their own types. What ompl_calls.h says of a
// function holds here; contexts and errors are those of ompl.hpp. An exception that the code throws ends in the error of ask().
#ifndef OMNIPGAS_OMPL_CALLS_HPP
#define OMNIPGAS_OMPL_CALLS_HPP

#include <omnipgas/ompl_calls.h>
#include <omnipgas/ompl.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace omnipgas {

// What can be an argument: its bytes are copied. Also a lambda that captures such values.
template <class T>
concept CallArgument = std::is_trivially_copyable_v<T> && std::same_as<T, std::remove_cvref_t<T>>;
template <class T>
concept CallResult = std::is_void_v<T> ||
    (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));

template <class Signature>
class RemoteFunction;

// A function that other ranks call. Made collectively, with the same name on every rank. `code` is any callable with these
// arguments, before which it may take a `const ompl_call_context&`; it is kept until the process ends. Any thread may
// call, with the context last.
template <class Result, class... Arguments>
requires CallResult<Result> &&
    (CallArgument<Arguments>&&...) class RemoteFunction<Result(Arguments...)> {
 public:
  static constexpr std::size_t kBytes = (sizeof(Arguments) + ... + 0);
  static_assert(kBytes <= OMPL_CALL_ARGUMENTS, "send more as payload");

  template <class Code>
  RemoteFunction(const char* name, Code code) {
    static std::vector<std::unique_ptr<Code>> kept;  // by one thread: collective
    kept.push_back(std::make_unique<Code>(std::move(code)));
    check(ompl_call_register(name, run<Code>, kept.back().get(), &number_));
  }

  // Has the rank run it; returns when the call is under way.
  void call(uint32_t rank, const Arguments&... arguments) const {
    send(OMPL_CTX_DEFAULT, rank, nullptr, arguments...);
  }
  void call(const Context& context, uint32_t rank, const Arguments&... arguments) const {
    send(context.get_handle(), rank, nullptr, arguments...);
  }
  // Has the rank run it, and waits for the result.
  Result ask(uint32_t rank, const Arguments&... arguments) const {
    uint64_t reply = 0;
    send(OMPL_CTX_DEFAULT, rank, &reply, arguments...);
    if constexpr (!std::is_void_v<Result>) {
      std::array<std::byte, sizeof(Result)> bytes;
      std::memcpy(bytes.data(), &reply, sizeof(Result));
      return std::bit_cast<Result>(bytes);
    }
  }
  [[nodiscard]] uint32_t number() const { return number_; }

 private:
  using Bytes = std::array<std::byte, kBytes != 0 ? kBytes : 1>;

  void send(ompl_ctx* context, uint32_t rank, uint64_t* reply, const Arguments&... arguments) const {
    Bytes bytes;
    std::size_t at = 0;
    (static_cast<void>(std::memcpy(bytes.data() + std::exchange(at, at + sizeof arguments), &arguments,
                                   sizeof arguments)),
     ...);
    ompl_call_request request = OMPL_CALL_INIT;
    request.function = number_;
    request.arguments = bytes.data();
    request.length = kBytes;
    check(ompl_call(context, rank, &request, reply, OMPL_FOREVER));
  }

  template <class T>
  static T take(const std::byte** from) {
    union Holder {  // a T that was not constructed
      Holder() {}
      T value;
    } holder;
    std::memcpy(static_cast<void*>(&holder.value), std::exchange(*from, *from + sizeof(T)), sizeof(T));
    return holder.value;
  }

  template <class Code>
  static uint64_t run(void* user, const ompl_call_context* call) {
    Code& code = *static_cast<Code*>(user);
    const auto* from = static_cast<const std::byte*>(call->arguments);
    std::tuple<Arguments...> taken{take<Arguments>(&from)...};  // in this order
    const auto apply = [&](const Arguments&... arguments) -> Result {
      if constexpr (std::is_invocable_v<Code&, const ompl_call_context&, const Arguments&...>) {
        return code(*call, arguments...);
      } else {
        return code(arguments...);
      }
    };
    if constexpr (std::is_void_v<Result>) {
      std::apply(apply, taken);
      return 0;
    } else {
      const Result result = std::apply(apply, taken);
      uint64_t reply = 0;
      std::memcpy(&reply, &result, sizeof result);
      return reply;
    }
  }

  uint32_t number_ = 0;
};

}  // namespace omnipgas

#endif  // OMNIPGAS_OMPL_CALLS_HPP
