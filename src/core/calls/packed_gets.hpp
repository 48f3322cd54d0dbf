// SPDX-License-Identifier: BSD-3-Clause
// Packed gets of this rank: a remote call asks for elements, which its target puts into a landing in this rank's segment;
// from there they go to their places. docs/explanation/packing.md.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/calls/outgoing.hpp"
#include "core/data/shapes.hpp"

namespace ompl::calls {

class PackedGets {
 public:
  PackedGets(Runtime& runtime, OutgoingCalls& outgoing, const Layout& layout, uint64_t begin)
      : runtime_(runtime), outgoing_(outgoing), layout_(layout), begin_(begin) {}

  // What a get wants. `shape` lives until it is complete.
  struct Wanted {
    uint32_t rank;
    uint64_t offset;
    std::shared_ptr<const Shape> shape;
    std::byte* local;
    bool handle;  // somebody asks for its end by its number
  };

  // --- Any thread
  // Asks for all elements. The first request is tried once if `once`, the others follow in any case. OMPL_OK: *number stands for
  // the get. OMPL_RETRY_* (only if `once`), an error, or Packing::kNotPacked: nothing is under way.
  int ask(Caller& caller, const Wanted& wanted, bool once, uint64_t* number);
  // 1: the elements are in their places; 0: not yet; or the error with which it ended, once.
  int test(uint64_t number);
  // The same of all gets of a context to a rank.
  int test_all(const Context& c, uint32_t rank);
  // Those that are under way write to no place of the caller's any more. For who was told of an error of that rank.
  void give_up(const Context& c, uint32_t rank);
  // Whether some are under way.
  [[nodiscard]] bool any();

 private:
  static constexpr uint64_t kTold = UINT64_MAX;

  // Some elements of a get, or nobody's (number 0). Its memory in the segment is the target's until they have come.
  struct Landing {
    uint64_t number = 0;               // kTold: nobody asks any more, but they have not come
    const Context* context = nullptr;  // null: told of an error
    bool handle = false;
    uint32_t rank = 0;
    uint32_t expected = 0;  // what its count will be
    int ended = OMPL_OK;    // the error
    std::size_t first = 0;
    std::size_t count = 0;
    std::shared_ptr<const Shape> shape;
    std::byte* local = nullptr;
  };

  int post(Context& c, const Wanted& wanted, uint64_t number, std::size_t first, std::size_t count);
  int reserve(Context& c, const Wanted& wanted, uint64_t number, std::size_t first, std::size_t count,
              uint32_t* place);
  void release(uint32_t place);
  void disown(uint64_t number);
  // Under the mutex.
  template <class Mine>
  int look(Mine mine);
  [[nodiscard]] bool arrived(const Landing& landing) const;
  void bring(Landing& landing);
  static void tell(Landing& landing, bool by_number);
  [[nodiscard]] bool may_serve_again(const Landing& landing) const;
  [[nodiscard]] PackedLanding& memory(const Landing& landing) const;
  [[nodiscard]] uint32_t count_of(const Landing& landing) const;

  Runtime& runtime_;
  OutgoingCalls& outgoing_;
  const Layout& layout_;
  const uint64_t begin_;
  std::atomic<uint64_t> next_{0};
  std::mutex mutex_;
  std::array<Landing, kLandings> landings_;
};

}  // namespace ompl::calls
