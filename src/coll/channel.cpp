// SPDX-License-Identifier: BSD-3-Clause
#include "coll/channel.hpp"

#include <cstring>

#include "core/data/operations.hpp"

namespace ompl::coll {
namespace {

constexpr unsigned kPlaceShift = 48;                 // an offset has fewer bits
constexpr unsigned kFailureShift = 56;               // a message has fewer bytes than that has bits
constexpr uint32_t kFarBehind = uint32_t{1} << 30;   // of numbers that are compared modulo 2^32
constexpr std::size_t kPut = offsetof(Cell, taken);  // where what is put into a cell begins

// Modulo 2^32.
bool is_after(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }

}  // namespace

Channel::Channel(const GlobalMemory& memory, const Ends& ends)
    : ends_(ends),
      mapped_(static_cast<std::byte*>(memory.pointer(ends.rank, ends.cells_there))),
      cells_(static_cast<std::byte*>(memory.pointer(ends.member, ends.cells_here))),
      words_(static_cast<Words*>(memory.pointer(ends.member, ends.words_here))),
      count_(static_cast<Counters*>(memory.pointer(ends.member, ends.counters_here))) {}

bool Channel::may_send() {
  if (count_->sent - count_->freed < TeamLayout::kCells) return true;
  const uint32_t told = std::atomic_ref(words_->taken).load(std::memory_order_acquire);
  if (told - count_->freed <= count_->sent - count_->freed) count_->freed = told;  // else it is behind
  return count_->sent - count_->freed < TeamLayout::kCells;
}

int Channel::send(Context& c, const std::byte* data, std::size_t length, int failure) {
  if (failure != OMPL_OK) length = 0;
  const uint64_t at = cell_at(count_->sent);
  std::byte* const cell = (mapped_ != nullptr ? mapped_ : ends_.staging) + at;
  const uint32_t head[2] = {static_cast<uint32_t>(count_->taken), static_cast<uint32_t>(-failure)};
  std::memcpy(cell + kPut, head, sizeof head);
  if (length > 0) arch::copy(cell + sizeof(Cell), data, length);
  const uint64_t there = ends_.cells_there + at;
  const Signal arrived{.offset = there};
  const int code = mapped_ != nullptr
                       ? ompl::signal(c, ends_.rank, arrived)
                       : ompl::put_nb(c, cell + kPut, ends_.rank, there + kPut,
                                      sizeof(Cell) - kPut + length, &arrived, true, nullptr);
  if (code != OMPL_OK && code != OMPL_PENDING) return code;
  count_->told = head[0];
  ++count_->sent;
  return OMPL_OK;
}

std::byte* Channel::arrived(int* failure) const {
  std::byte* const cell = cells_ + cell_at(count_->taken);
  const uint32_t count = arch::word32(cell + offsetof(Cell, arrived)).load(std::memory_order_acquire);
  if (count != static_cast<uint32_t>(count_->taken / TeamLayout::kCells + 1)) return nullptr;
  uint32_t told = 0;
  std::memcpy(&told, cell + offsetof(Cell, failure), sizeof told);
  *failure = -static_cast<int>(told);
  return cell + sizeof(Cell);
}

void Channel::take() {
  uint32_t told = 0;
  std::memcpy(&told, cells_ + cell_at(count_->taken) + offsetof(Cell, taken), sizeof told);
  if (is_after(told, count_->freed)) count_->freed = told;
  ++count_->taken;
}

// Messages the other way tell it too, but the word must not fall far behind.
int Channel::acknowledge(Context& c) {
  const auto taken = static_cast<uint32_t>(count_->taken);
  if (taken - count_->told < TeamLayout::kCells / 2 && taken - count_->acknowledged < kFarBehind)
    return OMPL_OK;
  const int code = ompl::signal_nb(
      c, ends_.rank,
      {.offset = ends_.words_there + offsetof(Words, taken), .value = taken - count_->acknowledged});
  if (code == OMPL_OK) count_->told = count_->acknowledged = taken;
  return code;
}

// An addition, for two signals may overtake each other.
int Channel::withdraw(Context& c, uint32_t sound, uint64_t* told) {
  const uint64_t now = uint64_t{sound} << 32 | count_->sent;
  const Signal record{.offset = ends_.words_there + offsetof(Words, withdrawn),
                      .value = now - *told,
                      .op = SignalOp::update64};
  *told = now;
  return ompl::signal(c, ends_.rank, record);
}

bool Channel::is_last_withdrawn() const {
  const uint64_t told = std::atomic_ref(words_->withdrawn).load(std::memory_order_acquire);
  const auto last = static_cast<uint32_t>(count_->taken);
  return is_after(last, static_cast<uint32_t>(told >> 32)) &&
         !is_after(last, static_cast<uint32_t>(told));
}

bool Channel::is_next_withdrawn() const {
  const uint64_t told = std::atomic_ref(words_->withdrawn).load(std::memory_order_acquire);
  return is_after(static_cast<uint32_t>(told), static_cast<uint32_t>(count_->taken));
}

int Channel::say_place(Context& c, uint64_t offset) {
  const auto number = static_cast<uint16_t>(count_->places_said + 1);
  const int code = ompl::signal_nb(c, ends_.rank,
                                   {.offset = ends_.words_there + offsetof(Words, place),
                                    .value = uint64_t{number} << kPlaceShift | offset,
                                    .op = SignalOp::update64,
                                    .function = Function::set});
  if (code == OMPL_OK) count_->places_said = number;
  return code;
}

bool Channel::hear_place(uint64_t* offset) {
  const uint64_t said = std::atomic_ref(words_->place).load(std::memory_order_acquire);
  const auto next = static_cast<uint16_t>(count_->places_heard + 1);
  if (said >> kPlaceShift != next) return false;
  count_->places_heard = next;
  *offset = said & ((uint64_t{1} << kPlaceShift) - 1);
  return true;
}

int Channel::put(Context& c, const std::byte* data, uint64_t offset, std::size_t length,
                 Handle* handle) {
  const Signal landed{
      .offset = ends_.words_there + offsetof(Words, landed), .value = length, .op = SignalOp::update64};
  return ompl::put_nb(c, data, ends_.rank, offset, length, &landed, true, handle);
}

int Channel::give_up(Context& c, uint64_t length, int failure) {
  return ompl::signal_nb(c, ends_.rank,
                         {.offset = ends_.words_there + offsetof(Words, landed),
                          .value = length + (static_cast<uint64_t>(-failure) << kFailureShift),
                          .op = SignalOp::update64});
}

bool Channel::landed(uint64_t length, int* failure) {
  const uint64_t now = std::atomic_ref(words_->landed).load(std::memory_order_acquire);
  const uint64_t news = now - count_->landed;
  if ((news & ((uint64_t{1} << kFailureShift) - 1)) < length) return false;
  *failure = -static_cast<int>(news >> kFailureShift);
  count_->landed = now;
  return true;
}

}  // namespace ompl::coll
