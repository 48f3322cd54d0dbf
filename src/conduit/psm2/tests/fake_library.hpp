// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for libpsm2: no endpoint is real. A test says what each call does, above all which handlers it runs meanwhile, as
// PSM2 may where it waits for room.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <functional>
#include <thread>
#include <vector>

#include "conduit/psm2/library.hpp"
#include "conduit/psm2/wire.hpp"

namespace ompl::conduit::psm2::test {

struct FakePsm2 {
  using Words = std::vector<uint64_t>;

  static constexpr uint32_t kLimit = 8128;
  static constexpr uint32_t kNoLimit = INT_MAX;
  static inline std::atomic<uint32_t> limit{kLimit};  // of messages, one for the process
  static inline std::atomic<int> opening{0};          // calls of ep_open() under way
  static inline std::atomic<int> asked_meanwhile{0};  // for limits, in one of them
  static inline std::atomic<int> half_made{0};        // so many answers are to be INT_MAX still
  static inline std::array<PsmHandler, 2> handlers{};
  static inline void* context = nullptr;
  static inline Words last_reply;
  static inline std::function<void(const Words&)> on_request;  // called while the endpoint sends
  static inline std::function<void()> on_reply;                // the same, an answer
  static inline std::function<void()> on_connect;
  static inline std::function<void()> on_poll;

  static void reset() {
    half_made = asked_meanwhile = 0;
    last_reply.clear();
    on_request = nullptr;
    on_reply = on_connect = on_poll = nullptr;
  }

  // What PSM2 does with a message that has come.
  static void receive(Words words, uint32_t length = 0) {
    static std::array<std::byte, kLimit> data{};
    handlers[0](&data, words.data(), static_cast<int>(words.size()), data.data(), length, context);
  }
  static void receive_reply(Words words) {
    handlers[1](nullptr, words.data(), static_cast<int>(words.size()), nullptr, 0, context);
  }

  static Library library() {
    Library fake;
    fake.error_register_handler = [](PsmEndpoint*, PsmErrorHandler) { return kPsmOk; };
    fake.error_get_string = [](PsmError) { return "an error of the stand-in"; };
    fake.ep_open_opts_get_defaults = [](PsmOpenOptions*) { return kPsmOk; };
    fake.ep_open = open;
    fake.ep_close = [](PsmEndpoint*, int, int64_t) { return kPsmOk; };
    fake.ep_connect = connect;
    fake.poll = poll;
    fake.am_get_parameters = get_parameters;
    fake.am_register_handlers = register_handlers;
    fake.am_get_source = [](PsmToken, PsmAddress** from) {
      *from = reinterpret_cast<PsmAddress*>(&handlers);
      return kPsmOk;
    };
    fake.am_request = request;
    fake.am_reply = reply;
    return fake;
  }

 private:
  static PsmError open(const unsigned char*, const PsmOpenOptions*, PsmEndpoint** endpoint,
                       PsmEpid* number) {
    ++opening;
    limit = kNoLimit;
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    limit = kLimit;
    *endpoint = reinterpret_cast<PsmEndpoint*>(&handlers);
    *number = 1;
    --opening;
    return kPsmOk;
  }
  static PsmError connect(PsmEndpoint*, int, const PsmEpid*, const int*, PsmError*,
                          PsmAddress** addresses, int64_t) {
    if (on_connect) on_connect();
    *addresses = reinterpret_cast<PsmAddress*>(&handlers);
    return kPsmTimeout;
  }
  static PsmError poll(PsmEndpoint*) {
    if (on_poll) on_poll();
    return kPsmNoProgress;
  }
  static PsmError get_parameters(PsmEndpoint*, PsmMessageLimits* limits, std::size_t size,
                                 std::size_t* length) {
    asked_meanwhile += opening > 0 ? 1 : 0;
    const uint32_t most = half_made > 0 && half_made-- > 0 ? kNoLimit : limit.load();
    *limits = {.max_handlers = 64, .max_arguments = 8, .max_request = most, .max_reply = most};
    *length = size;
    return kPsmOk;
  }
  static PsmError register_handlers(PsmEndpoint*, const PsmHandler* functions, int count,
                                    void** contexts, int* numbers) {
    for (int i = 0; i < count; ++i) {
      handlers[static_cast<std::size_t>(i)] = functions[i];
      numbers[i] = i;
    }
    context = contexts[0];
    return kPsmOk;
  }
  static PsmError request(PsmAddress*, uint32_t, const uint64_t* words, int count, const void*,
                          std::size_t, int, void (*)(void*), void*) {
    if (on_request) on_request({words, words + count});
    return kPsmOk;
  }
  static PsmError reply(PsmToken, uint32_t, const uint64_t* words, int count, const void*, std::size_t,
                        int, void (*)(void*), void*) {
    last_reply.assign(words, words + count);
    if (on_reply) on_reply();
    return kPsmOk;
  }
};

}  // namespace ompl::conduit::psm2::test
