// SPDX-License-Identifier: BSD-3-Clause
// storm_worker THREADS MESSAGES SLOT_BYTES SEED: every thread of every rank sends messages to all the other ranks in turn, by
// every kind of put with a signal, from as many threads at once, and takes in those that come to it. Each byte of a message tells
// whose it is, of which number and where it belongs; each byte of a slot outside its message is filler. Both are checked at every
// arrival, and no message leaves its slot. Exit code 0 if all arrived whole.
#include <omnipgas/ompl_ext.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "process/programs/ranks_worker.hpp"

namespace {

uint32_t size() { return static_cast<uint32_t>(ompl_size()); }

constexpr std::byte kFiller{0x5A};
constexpr std::size_t kHeader = 32;
constexpr uint32_t kRows = 16;  // of a strided or indexed message at most

struct Header {
  uint64_t number = 0;
  uint64_t bytes = 0;   // of data, all rows together
  uint64_t row = 0;     // bytes of a row
  uint64_t stride = 0;  // from one row to the next
};
static_assert(sizeof(Header) == kHeader);

struct Plan {
  uint32_t threads = 1;
  uint64_t messages = 0;  // of a thread to each other rank
  std::size_t slot_bytes = 0;
  uint64_t seed = 0;
  uint64_t slots = 0;  // offsets of the memory: of slots,
  uint64_t full = 0;   // of flags at the receiver, one for each slot,
  uint64_t empty = 0;  // and of flags at the sender, one for each thread and target

  [[nodiscard]] uint32_t sources() const { return size() * threads; }
  [[nodiscard]] uint64_t slot(uint32_t source) const { return slots + source * slot_bytes; }
  [[nodiscard]] uint64_t full_flag(uint32_t source) const { return full + 4 * uint64_t{source}; }
  [[nodiscard]] uint64_t empty_flag(uint32_t thread, uint32_t target) const {
    return empty + 4 * (uint64_t{thread} * size() + target);
  }
};

std::byte pattern(uint32_t source, uint64_t number, std::size_t i) {
  return static_cast<std::byte>((i * 0x9E3779B1 + number * 0x85EBCA77 + source * 0xC2B2AE3D) >> 13);
}

void wrong(const char* what, uint32_t source, uint64_t number, std::size_t at) {
  std::fprintf(stderr, "storm_worker: rank %u, from source %u, message %llu: %s at byte %zu\n", rank(),
               source, static_cast<unsigned long long>(number), what, at);
  ompl_abort(3, "a message was damaged");
}

class Thread {
 public:
  Thread(const Plan& plan, uint32_t thread)
      : plan_(plan),
        thread_(thread),
        source_(rank() * plan.threads + thread),
        random_(plan.seed * 1000003 + source_),
        sent_(size(), 0),
        taken_(plan.sources(), 0),
        message_(plan.slot_bytes) {
    ok(ompl_ctx_create(&context_), "ompl_ctx_create");
  }

  // Slots of this rank are divided among its threads.
  void run() {
    uint64_t left = plan_.messages * (size() - 1);
    uint64_t coming = 0;
    for (uint32_t source = thread_; source < plan_.sources(); source += plan_.threads)
      coming += source / plan_.threads == rank() ? 0 : plan_.messages;
    while (left > 0 || coming > 0) {
      bool moved = false;
      for (uint32_t target = 0; target < size(); ++target) {
        if (target == rank() || sent_[target] == plan_.messages) continue;
        if (sent_[target] > 0 && !taken(plan_.empty_flag(thread_, target))) continue;
        send(target);
        --left;
        moved = true;
      }
      for (uint32_t source = thread_; source < plan_.sources(); source += plan_.threads) {
        if (source / plan_.threads == rank() || !taken(plan_.full_flag(source))) continue;
        check(source);
        --coming;
        moved = true;
      }
      if (!moved) progress(1'000'000);
    }
    ok(ompl_ctx_quiet(context_, OMPL_FOREVER), "ompl_ctx_quiet");
    ok(ompl_ctx_destroy(context_), "ompl_ctx_destroy");
  }

 private:
  std::size_t up_to(std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most)(random_);
  }

  void progress(int64_t timeout_ns) {
    if (const int code = ompl_progress(context_, timeout_ns); code < 0) ok(code, "ompl_progress");
  }

  bool taken(uint64_t flag) {
    const ompl_condition condition{.flag_addr = flag, .value = 0, .comparison = OMPL_TAKE, .width = 32};
    const int code = ompl_ctx_wait_until(context_, &condition, 0);
    if (code != OMPL_ERR_TIMEOUT) ok(code, "ompl_ctx_wait_until");
    return code == OMPL_OK;
  }

  void send(uint32_t target) {
    const uint64_t number = sent_[target]++;
    const std::size_t kind = up_to(5);
    const std::size_t room = plan_.slot_bytes - kHeader;
    Header header{.number = number, .bytes = up_to(up_to(3) == 0 ? room : 64)};
    const bool rows = kind >= 4 && header.bytes >= kRows;
    header.row = rows ? header.bytes / kRows : header.bytes;
    if (rows) header.bytes = header.row * kRows;
    header.stride = rows ? header.row + up_to((room - header.bytes) / kRows) : header.row;
    std::memcpy(message_.data(), &header, kHeader);
    for (std::size_t i = 0; i < header.bytes; ++i) message_[kHeader + i] = pattern(source_, number, i);
    const uint64_t at = plan_.slot(source_);
    const ompl_signal signal{.flag_addr = plan_.full_flag(source_), .value = 1, .op = OMPL_ADD32};
    if (!rows) {
      send_whole(kind, target, at, kHeader + header.bytes, signal);
      return;
    }
    ok(ompl_ctx_put(context_, address(message_.data()), target, at, kHeader, OMPL_FOREVER),
       "ompl_ctx_put");
    if (kind == 4) {
      const std::array<std::size_t, 1> extents{kRows};
      const std::array<std::ptrdiff_t, 1> near{static_cast<std::ptrdiff_t>(header.row)};
      const std::array<std::ptrdiff_t, 1> far{static_cast<std::ptrdiff_t>(header.stride)};
      const ompl_strided block{.element = header.row,
                               .dimensions = 1,
                               .extents = extents.data(),
                               .local_strides = near.data(),
                               .remote_strides = far.data()};
      ok(ompl_ctx_put_strided(context_, address(&message_[kHeader]), target, at + kHeader, &block,
                              &signal, OMPL_FOREVER),
         "ompl_ctx_put_strided");
    } else {
      std::array<uint64_t, kRows> places{};
      for (uint32_t i = 0; i < kRows; ++i) places[i] = i * header.stride;
      const ompl_indexed list{
          .element = header.row, .count = kRows, .local = nullptr, .remote = places.data()};
      ok(ompl_ctx_put_indexed(context_, address(&message_[kHeader]), target, at + kHeader, &list,
                              &signal, OMPL_FOREVER),
         "ompl_ctx_put_indexed");
    }
  }

  void send_whole(std::size_t kind, uint32_t target, uint64_t at, std::size_t length,
                  const ompl_signal& signal) {
    const uint64_t from = address(message_.data());
    if (kind == 0) {
      ok(ompl_ctx_put_signal(context_, from, target, at, length, signal.flag_addr, OMPL_FOREVER),
         "ompl_ctx_put_signal");
    } else if (kind == 1) {  // in two pieces, the second first
      const std::size_t first = up_to(length);
      ok(ompl_ctx_put(context_, from + first, target, at + first, length - first, OMPL_FOREVER),
         "ompl_ctx_put");
      ok(ompl_ctx_put(context_, from, target, at, first, OMPL_FOREVER), "ompl_ctx_put");
      ok(ompl_ctx_put_word(context_, target, signal.flag_addr, OMPL_FOREVER), "ompl_ctx_put_word");
    } else if (kind == 2) {
      ompl_handle handle = OMPL_HANDLE_INIT;
      int code = OMPL_RETRY_FULL;
      while ((code = ompl_put_nb(context_, from, target, at, length, &signal, 0, &handle)) >
             OMPL_PENDING)
        progress(0);
      if (code != OMPL_PENDING) ok(code, "ompl_put_nb");
      ok(ompl_handle_wait(context_, &handle, OMPL_FOREVER), "ompl_handle_wait");
    } else {
      ok(ompl_ctx_put(context_, from, target, at, length, OMPL_FOREVER), "ompl_ctx_put");
      ok(ompl_ctx_flush(context_, OMPL_FOREVER), "ompl_ctx_flush");
      ok(ompl_ctx_put_word(context_, target, signal.flag_addr, OMPL_FOREVER), "ompl_ctx_put_word");
    }
  }

  void check(uint32_t source) {
    const uint64_t number = taken_[source]++;
    auto* const slot = static_cast<std::byte*>(ompl_ptr(rank(), plan_.slot(source)));
    Header header;
    std::memcpy(&header, slot, kHeader);
    if (header.number != number || header.bytes > plan_.slot_bytes)
      wrong("a header", source, number, 0);
    std::memset(slot, static_cast<int>(kFiller), kHeader);
    for (std::size_t i = 0; i < header.bytes; ++i) {
      std::byte& at = slot[kHeader + i / header.row * header.stride + i % header.row];
      if (at != pattern(source, number, i)) wrong("data", source, number, i);
      at = kFiller;
    }
    for (std::size_t i = 0; i < plan_.slot_bytes; ++i)
      if (slot[i] != kFiller) wrong("what nobody sent", source, number, i);
    ok(ompl_ctx_put_word(context_, source / plan_.threads,
                         plan_.empty_flag(source % plan_.threads, rank()), OMPL_FOREVER),
       "ompl_ctx_put_word");
  }

  const Plan& plan_;
  const uint32_t thread_;
  const uint32_t source_;
  std::mt19937_64 random_;
  std::vector<uint64_t> sent_;   // by target
  std::vector<uint64_t> taken_;  // by source
  std::vector<std::byte> message_;
  ompl_ctx* context_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  Plan plan{.threads = static_cast<uint32_t>(std::atoi(argv[1])),
            .messages = std::strtoull(argv[2], nullptr, 10),
            .slot_bytes = std::strtoull(argv[3], nullptr, 10),
            .seed = std::strtoull(argv[4], nullptr, 10)};
  ok(ompl_init(), "ompl_init");
  plan.slots = allocate(plan.sources() * plan.slot_bytes);
  plan.full = allocate(4 * std::size_t{plan.sources()});
  plan.empty = allocate(4 * std::size_t{plan.threads} * size());
  std::memset(ompl_ptr(rank(), plan.slots), static_cast<int>(kFiller),
              plan.sources() * plan.slot_bytes);
  ok(ompl_barrier(), "ompl_barrier");
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < plan.threads; ++i)
    threads.emplace_back([&plan, i] { Thread(plan, i).run(); });
  for (std::thread& thread : threads) thread.join();
  ok(ompl_barrier(), "ompl_barrier");
  ok(ompl_finalize(), "ompl_finalize");
  return 0;
}
