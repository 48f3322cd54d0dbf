// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/executor.hpp"

#include <algorithm>
#include <cerrno>

#include "coll/progress/member_memory.hpp"
#include "coll/team/team.hpp"
#include "core/data/operations.hpp"
#include "util/status.hpp"

namespace ompl::coll {
namespace {

constexpr int kBurst = TeamLayout::kCells / 2;  // cells of a step in a turn: both directions stay busy
constexpr std::size_t kMappedPiece =
    MemberMemory::kMost;  // bytes of a straight message that a turn copies
constexpr std::size_t kPiece = std::size_t{1} << 30;

constexpr const char* kFailed = "the user-defined operation failed";

std::byte* address(Execution& execution, Place place) {
  if (place.buffer == CallBuffer::scratch) return execution.scratch.data() + place.offset;
  return (place.buffer == CallBuffer::send ? execution.now.send : execution.now.receive) + place.offset;
}

// Whether they are to be copied between here and another process.
bool is_elsewhere(const Execution& execution, Place place) {
  return execution.memory != nullptr && place.buffer != CallBuffer::scratch;
}

// The kernel says that there is no such process before anybody here knows that the member died.
void note_no_access(Execution& execution, int error) {
  execution.note_failure(
      error == ESRCH ? OMPL_ERR_PEER : OMPL_ERR_ARG,
      fmt::format("the node's progress thread cannot reach the buffers: {}", error_text(error)));
}

// Bytes as they can be read here: where they lie or a copy, in one of two rooms. Nullptr: the execution has failed.
std::byte* look(Execution& execution, Place place, std::size_t length, std::size_t room) {
  std::byte* const there = address(execution, place);
  if (!is_elsewhere(execution, place)) return there;
  MemberMemory& memory = *execution.memory;
  if (std::byte* const mapped = memory.mapped(there, length); mapped != nullptr) return mapped;
  const int error = memory.read(memory.room(room), reinterpret_cast<uintptr_t>(there), length);
  if (error == 0) return memory.room(room);
  note_no_access(execution, error);
  return nullptr;
}

// Where in the member's segment the buffer of a step lies, if it does.
bool offset_of(const GlobalMemory& memory, Execution& execution, const ScheduleStep& step,
               uint64_t* offset) {
  const std::byte* const there = address(execution, step.to);
  return is_elsewhere(execution, step.to) ? execution.memory->offset_of(there, step.length, offset)
                                          : memory.offset_of(there, step.length, offset);
}

// Where a result of that many bytes is made: where it is to be or, if that cannot be written here, a room.
std::byte* target(Execution& execution, Place place, std::size_t length, std::size_t room) {
  std::byte* const there = address(execution, place);
  if (!is_elsewhere(execution, place)) return there;
  std::byte* const mapped = execution.memory->mapped(there, length);
  return mapped != nullptr ? mapped : execution.memory->room(room);
}

// Puts data where they are to be, unless they were made there.
void store(Execution& execution, Place place, const std::byte* data, std::size_t length) {
  std::byte* const there = address(execution, place);
  const bool elsewhere = is_elsewhere(execution, place);
  std::byte* const here = elsewhere ? execution.memory->mapped(there, length) : there;
  if (elsewhere && here == nullptr) {
    const int error = execution.memory->write(reinterpret_cast<uintptr_t>(there), data, length);
    if (error != 0) note_no_access(execution, error);
  } else if (here != data) {
    arch::copy(here, data, length);
  }
}

}  // namespace

Executor::Turn Executor::advance(Context& c, Execution& execution, int turns) {
  const Schedule& schedule = *execution.now.schedule;
  for (int turn = 0; turn < turns; ++turn) {
    if (execution.round == schedule.rounds.size()) return Turn::done;
    const uint32_t begin = execution.round == 0 ? 0 : schedule.rounds[execution.round - 1];
    const uint32_t end = schedule.rounds[execution.round];
    bool moved = false;
    bool again = false;
    bool over = true;
    for (uint32_t i = execution.first; i < end; ++i) {
      Progress& progress = execution.progress[i - begin];
      if (progress.phase == Progress::Phase::done) continue;
      const Turn result = step(c, execution, schedule.steps[i], progress);
      moved = moved || result == Turn::moved || result == Turn::done;
      again = again || result == Turn::again;
      if (result == Turn::done) {
        progress.phase = Progress::Phase::done;
        if (over) execution.first = i + 1;
      } else {
        over = false;
      }
    }
    if (moved) moves_.store(moves() + 1, std::memory_order_relaxed);
    if (over) {
      ++execution.round;
      execution.begin_round();
    } else if (!moved) {
      return again ? Turn::again : Turn::blocked;
    }
  }
  return execution.round == schedule.rounds.size() ? Turn::done : Turn::again;
}

Executor::Turn Executor::step(Context& c, Execution& execution, const ScheduleStep& step,
                              Progress& progress) {
  switch (step.kind) {
    case ScheduleStep::Kind::send:
      return step.straight ? send_straight(c, execution, step, progress)
                           : send(c, execution, step, progress);
    case ScheduleStep::Kind::receive:
    case ScheduleStep::Kind::combine:
      return receive(c, execution, step, progress);
    case ScheduleStep::Kind::copy:
    case ScheduleStep::Kind::reduce:
      break;
  }
  rework(execution, step);
  return Turn::done;
}

// A step within the own buffers; in pieces, if they are copied to be worked on.
void Executor::rework(Execution& execution, const ScheduleStep& step) {
  const ReductionOperation& operation = *execution.now.operation;
  const uint64_t most = execution.memory == nullptr
                            ? step.length
                            : MemberMemory::kMost / operation.element * operation.element;
  uint64_t length = 0;
  for (uint64_t at = 0; at < step.length && execution.failure == OMPL_OK; at += length) {
    length = std::min(most, step.length - at);
    std::byte* const from = look(execution, step.from.plus(at), length, 0);
    if (from == nullptr) return;
    if (step.kind == ScheduleStep::Kind::copy) {
      store(execution, step.to.plus(at), from, length);
      continue;
    }
    std::byte* const to = look(execution, step.to.plus(at), length, 1);
    if (to == nullptr) return;
    if (!operation.apply(from, to, to, length, step.behind))
      execution.note_failure(OMPL_ERR_ARG, kFailed);
    store(execution, step.to.plus(at), to, length);
  }
}

// What the calls of the layer say: go on, or come again, or the team is of no use any more.
Executor::Turn Executor::outcome(int code) {
  if (code > OMPL_PENDING) return Turn::again;
  if (code >= OMPL_OK) return Turn::moved;
  team_.break_up(code, error_detail());
  return Turn::blocked;
}

uint64_t Executor::piece(const Execution& execution) const {
  const uint64_t room = team_.layout().room();
  const uint64_t element = execution.now.operation->element;
  return element <= room ? room / element * element : room;
}

Executor::Turn Executor::send(Context& c, Execution& execution, const ScheduleStep& step,
                              Progress& progress) {
  Channel& channel = channels_[step.peer];
  for (int i = 0; i < kBurst; ++i) {
    if (!channel.may_send()) return i > 0 ? Turn::moved : Turn::blocked;
    const uint64_t length = std::min(piece(execution), step.length - progress.bytes);
    const std::byte* const data = execution.failure != OMPL_OK
                                      ? nullptr
                                      : look(execution, step.from.plus(progress.bytes), length, 0);
    const int code = channel.send(c, data, length, execution.failure);
    if (code != OMPL_OK) return outcome(code);
    progress.bytes += length;
    if (progress.bytes == step.length) return Turn::done;
  }
  return Turn::moved;
}

Executor::Turn Executor::send_straight(Context& c, Execution& execution, const ScheduleStep& step,
                                       Progress& progress) {
  using Phase = Progress::Phase;
  Channel& channel = channels_[step.peer];
  if (progress.phase == Phase::begin) {
    if (!channel.hear_place(&progress.offset)) return Turn::blocked;
    progress.phase = progress.offset != 0 ? Phase::straight : Phase::cells;
    progress.handle = {};
  }
  if (progress.phase == Phase::cells) return send(c, execution, step, progress);
  if (progress.handle.kind != Pending::Kind::none) {
    const int code = ompl::test(c, progress.handle);
    if (code == 0) return Turn::blocked;
    if (code < 0) return outcome(code);
    progress.handle = {};
  }
  if (progress.bytes == step.length) return Turn::done;
  if (execution.failure != OMPL_OK) {
    const int code = channel.give_up(c, step.length - progress.bytes, execution.failure);
    return code == OMPL_OK ? Turn::done : outcome(code);
  }
  const std::size_t length =
      std::min<uint64_t>(channel.mapped() ? kMappedPiece : kPiece, step.length - progress.bytes);
  const std::byte* const data = look(execution, step.from.plus(progress.bytes), length, 0);
  if (data == nullptr) return Turn::moved;  // next it says so
  const int code = channel.put(c, data, progress.offset + progress.bytes, length, &progress.handle);
  if (code != OMPL_OK && code != OMPL_PENDING) return outcome(code);
  progress.bytes += length;
  return progress.bytes == step.length && code == OMPL_OK ? Turn::done : Turn::moved;
}

Executor::Turn Executor::receive(Context& c, Execution& execution, const ScheduleStep& step,
                                 Progress& progress) {
  using Phase = Progress::Phase;
  Channel& channel = channels_[step.peer];
  if (step.straight && progress.phase == Phase::begin) {
    uint64_t offset = 0;
    const bool straight =
        execution.failure == OMPL_OK && offset_of(team_.runtime().memory, execution, step, &offset);
    const int code = channel.say_place(c, straight ? offset : 0);
    if (code != OMPL_OK) return outcome(code);
    progress.phase = straight ? Phase::straight : Phase::cells;
  }
  int failure = OMPL_OK;
  if (progress.phase == Phase::straight) {
    if (!channel.landed(step.length, &failure)) return Turn::blocked;
    note_others(execution, failure);
    return Turn::done;
  }
  for (int i = 0; i < kBurst; ++i) {
    const int owed = channel.acknowledge(c);
    if (owed != OMPL_OK && outcome(owed) == Turn::blocked) return Turn::blocked;
    std::byte* const data = channel.arrived(&failure);
    if (data == nullptr) return i > 0 ? Turn::moved : owed != OMPL_OK ? Turn::again : Turn::blocked;
    const uint64_t length = std::min(piece(execution), step.length - progress.bytes);
    note_others(execution, failure);
    accept(execution, step, data, progress.bytes, length);
    channel.take();
    progress.bytes += length;
    if (progress.bytes == step.length) {
      const int last = channel.acknowledge(c);
      return last < OMPL_OK ? outcome(last) : Turn::done;
    }
  }
  return Turn::moved;
}

void Executor::accept(Execution& execution, const ScheduleStep& step, std::byte* data, uint64_t at,
                      std::size_t length) {
  if (execution.failure != OMPL_OK) return;
  if (step.kind == ScheduleStep::Kind::receive) {
    store(execution, step.to.plus(at), data, length);
    return;
  }
  const std::byte* const own = look(execution, step.from.plus(at), length, 0);
  if (own == nullptr) return;
  std::byte* const to = target(execution, step.to.plus(at), length, 0);  // may be `own`
  if (!execution.now.operation->apply(data, own, to, length, step.behind))
    execution.note_failure(OMPL_ERR_ARG, kFailed);
  else
    store(execution, step.to.plus(at), to, length);
}

void Executor::note_others(Execution& execution, int code) {
  if (code != OMPL_OK)
    execution.note_failure(code, code == OMPL_ERR_MEMORY ? "another member is out of memory"
                                                         : "the operation of another member failed");
}

}  // namespace ompl::coll
