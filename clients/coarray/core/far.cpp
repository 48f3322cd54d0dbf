// SPDX-License-Identifier: BSD-3-Clause
// Requests that another image executes: reading and writing its memory outside of the segment (targets of pointer components, memory
// that a compiler allocated by itself), and what a compiler's part offers. They run in whichever thread of that image is
// in the layer, and in its progress thread.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/state.hpp"

namespace caf {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kServices = 8;

struct Read {
  uint64_t address, bytes, reply;  // reply: offset in the reader's segment
};
struct Write {
  uint64_t address;
  std::byte data[OMPL_CALL_ARGUMENTS - sizeof(uint64_t)];
};

struct Long {
  uint64_t number, address, bytes;
};

std::array<Service, kServices> services{};
std::array<uint32_t, kServices> numbers{};
uint32_t reading = 0;
uint32_t writing = 0;
uint32_t lending = 0;
uint32_t serving_long = 0;

uint64_t read_here(void* /*user*/, const ompl_call_context* call) {
  Read what;
  std::memcpy(&what, call->arguments, sizeof what);
  const int code =
      ompl_ctx_put(call->context, what.address, call->source, what.reply, what.bytes, OMPL_FOREVER);
  return code == OMPL_OK ? 0 : 1;
}

uint64_t write_here(void* /*user*/, const ompl_call_context* call) {
  uint64_t address = 0;
  std::memcpy(&address, call->arguments, sizeof address);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of this process that another image has learnt
  std::memcpy(reinterpret_cast<void*>(address),
              static_cast<const std::byte*>(call->arguments) + sizeof address,
              call->length - sizeof address);
  return 0;
}

uint64_t serve(void* user, const ompl_call_context* call) {
  return (*static_cast<Service*>(user))({call->arguments, call->length, call->source, call->context});
}

// Memory of this image for the arguments of a long request; 0: there is none.
uint64_t lend_here(void* /*user*/, const ompl_call_context* call) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, call->arguments, sizeof bytes);
  return as_number(allocate_component(bytes));
}

// The arguments lie in memory that was lent.
uint64_t serve_long(void* /*user*/, const ompl_call_context* call) {
  Long what;
  std::memcpy(&what, call->arguments, sizeof what);
  void* const lent = reinterpret_cast<void*>(what.address);  // NOLINT(performance-no-int-to-ptr)
  const uint64_t reply = services.at(what.number)({lent, what.bytes, call->source, call->context});
  release_component(lent);
  return reply;
}

int request(uint32_t rank, uint32_t function, const void* arguments, std::size_t bytes,
            uint64_t* reply) {
  ompl_call_request call = OMPL_CALL_INIT;
  call.function = function;
  call.arguments = arguments;
  call.length = bytes;
  const int code = ompl_call(OMPL_CTX_DEFAULT, rank, &call, reply, OMPL_FOREVER);
  return code == OMPL_OK ? kOk : layer_error(code, rank);
}

int ask_long(uint32_t rank, int number, const void* arguments, uint64_t bytes, uint64_t* reply) {
  uint64_t lent = 0;
  if (const int code = request(rank, lending, &bytes, sizeof bytes, &lent); code != kOk) return code;
  if (lent == 0) return refuse(kNoMemory, "no memory on that image for a request of %zu bytes", bytes);
  if (const int code = put(rank, lent, arguments, bytes); code != kOk) return code;
  const Long what{static_cast<uint64_t>(number), lent, bytes};
  return request(rank, serving_long, &what, sizeof what, reply);
}

}  // namespace

void offer(int number, Service service) { services.at(static_cast<std::size_t>(number)) = service; }

int start_services() {
  if (ompl_call_register("coarrays: read", &read_here, nullptr, &reading) != OMPL_OK) return kLayer;
  if (ompl_call_register("coarrays: write", &write_here, nullptr, &writing) != OMPL_OK) return kLayer;
  if (ompl_call_register("coarrays: lend", &lend_here, nullptr, &lending) != OMPL_OK) return kLayer;
  if (ompl_call_register("coarrays: long", &serve_long, nullptr, &serving_long) != OMPL_OK) return kLayer;
  for (std::size_t i = 0; i < kServices; ++i) {
    if (services.at(i) == nullptr) continue;
    if (ompl_call_register("coarrays: compiler", &serve, &services.at(i), &numbers.at(i)) != OMPL_OK)
      return kLayer;
  }
  return kOk;
}

int ask(uint32_t rank, int number, const void* arguments, std::size_t bytes, uint64_t* reply) {
  if (rank == state().me) {
    *reply = services.at(static_cast<std::size_t>(number))({arguments, bytes, rank, nullptr});
    return kOk;
  }
  if (const int code = alive(rank); code != kOk) return code;
  if (bytes > OMPL_CALL_ARGUMENTS) return ask_long(rank, number, arguments, bytes, reply);
  return request(rank, numbers.at(static_cast<std::size_t>(number)), arguments, bytes, reply);
}

bool answer(const Asked& asked, uint64_t address, const void* data, std::size_t bytes) {
  if (asked.context == nullptr) {
    std::memcpy(reinterpret_cast<void*>(address), data, bytes);  // NOLINT(performance-no-int-to-ptr)
    return true;
  }
  const uint64_t offset = offset_in(asked.source, address, bytes);
  return offset != 0 && ompl_ctx_put(asked.context, as_number(data), asked.source, offset, bytes,
                                     OMPL_FOREVER) == OMPL_OK;
}

int far_get(uint32_t rank, uint64_t address, void* local, std::size_t bytes) {
  const std::size_t chunk = std::min(bytes, kChunk);
  void* const staging = allocate_component(chunk);
  if (staging == nullptr) return refuse(kNoMemory, "no memory to receive %zu bytes", chunk);
  int code = kOk;
  for (std::size_t done = 0; done < bytes && code == kOk; done += chunk) {
    const std::size_t now = std::min(chunk, bytes - done);
    const Read what{address + done, now, own_offset(staging)};
    uint64_t reply = 0;
    code = request(rank, reading, &what, sizeof what, &reply);
    if (code == kOk && reply != 0) code = refuse(kLayer, "the other image cannot send its memory");
    if (code == kOk) std::memcpy(static_cast<std::byte*>(local) + done, staging, now);
  }
  release_component(staging);
  return code;
}

int far_put(uint32_t rank, uint64_t address, const void* local, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    Write what;
    const std::size_t now = std::min(sizeof what.data, bytes - done);
    what.address = address + done;
    std::memcpy(what.data, static_cast<const std::byte*>(local) + done, now);
    uint64_t reply = 0;
    if (const int code = request(rank, writing, &what, sizeof what.address + now, &reply); code != kOk)
      return code;
    done += now;
  }
  return kOk;
}

}  // namespace caf
