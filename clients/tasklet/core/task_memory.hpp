// SPDX-License-Identifier: BSD-3-Clause
// Memory of tasks, in slabs. A program makes thousands of tasks at once, and a page that is touched for the first time costs as much as
// many tasks: where the machine is a guest, whose host has to find the page, 10 us and more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace tasklet {

// Makes `bytes` from `memory` on be there, at once, if the system can.
void populate(void* memory, std::size_t bytes);

// Room for one task, that none has.
struct Room {
  Room* next;
};
struct Rooms {
  Room* first = nullptr;
  uint32_t count = 0;
};

class TaskMemory {
 public:
  static constexpr uint32_t kBatch = 64;

  TaskMemory() = default;
  ~TaskMemory();
  TaskMemory(const TaskMemory&) = delete;
  TaskMemory& operator=(const TaskMemory&) = delete;

  // Adds up to a batch of rooms, at least one. Throws std::bad_alloc.
  void take(Rooms* to);
  // All but `left` of them.
  void give(Rooms* from, uint32_t left);

 private:
  struct Slab {
    Slab* next;
  };
  void add_slab();

  std::mutex mutex_;
  Rooms free_;
  Slab* slabs_ = nullptr;
};

inline void push(Rooms* rooms, void* memory) {
  rooms->first = new (memory) Room{rooms->first};
  ++rooms->count;
}
inline void* pop(Rooms* rooms) {
  Room* const room = rooms->first;
  rooms->first = room->next;
  --rooms->count;
  return room;
}

}  // namespace tasklet
