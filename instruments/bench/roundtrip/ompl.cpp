// SPDX-License-Identifier: BSD-3-Clause
// The round trip by this layer's operations, each in the place of a message:
//   put   a put and the flag after it;
//   get   the flag, upon which the receiver gets the data from the sender;
//   word  the flag alone; messages of no length.
#include "omnipgas/ompl_ext.h"

#include "harness/must.hpp"
#include "roundtrip.hpp"

namespace {

using bench::expect;

// This rank's source buffer, target buffer and flag, in this order in the segment.
class Segment {
 public:
  explicit Segment(std::size_t bytes) : bytes_(bench::pages(bytes)) {
    expect(ompl_alloc(2 * bytes_ + 2 * bench::kPage, &first_), "ompl_alloc");
    first_ = bench::pages(first_);
    rank_ = ompl_rank();
    base_ = static_cast<std::byte*>(ompl_ptr(static_cast<uint32_t>(rank_), first_));
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::byte* source() const { return base_; }
  [[nodiscard]] std::byte* target() const { return base_ + bytes_; }
  static void attend() { expect(bench::progress(), "ompl_progress"); }

  [[nodiscard]] uint32_t peer() const { return static_cast<uint32_t>(1 - rank_); }
  void raise() const { expect(ompl_put_word(peer(), flag()), "ompl_put_word"); }
  void wait() const { expect(ompl_wait(flag()), "ompl_wait"); }
  [[nodiscard]] uint64_t source_offset() const { return first_; }
  [[nodiscard]] uint64_t target_offset() const { return first_ + bytes_; }
  [[nodiscard]] bool mapped() const { return ompl_ptr(peer(), first_) != nullptr; }

 private:
  [[nodiscard]] uint64_t flag() const { return first_ + 2 * bytes_; }

  std::size_t bytes_;
  uint64_t first_ = 0;
  std::byte* base_ = nullptr;
  int rank_ = 0;
};

uint64_t address(const std::byte* memory) { return reinterpret_cast<uint64_t>(memory); }

struct Put : Segment {
  void send(std::size_t bytes) const {
    expect(ompl_put(address(source()), peer(), target_offset(), bytes), "ompl_put");
    raise();
  }
  void receive(std::size_t /*bytes*/) const { wait(); }
};

struct Get : Segment {
  void send(std::size_t /*bytes*/) const { raise(); }
  void receive(std::size_t bytes) const {
    wait();
    expect(ompl_get(address(target()), peer(), source_offset(), bytes), "ompl_get");
  }
};

// Nothing but the flag goes over: a message has no bytes.
struct Word : Segment {
  void send(std::size_t /*bytes*/) const { raise(); }
  void receive(std::size_t /*bytes*/) const { wait(); }
};

class Ompl {
 public:
  Ompl(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : started_(ompl_init()), segment_((expect(started_, "ompl_init"), setup.bytes)) {
    if (ompl_size() != 2) throw std::runtime_error("needs two ranks");
    expect(ompl_barrier(), "ompl_barrier");
  }
  ~Ompl() { ompl_finalize(); }
  Ompl(const Ompl&) = delete;
  Ompl& operator=(const Ompl&) = delete;

  [[nodiscard]] int rank() const { return segment_.rank(); }
  [[nodiscard]] bench::Description describe() const {
    return {ompl_version(), segment_.mapped() ? "shared memory" : "network", std::nullopt, {}};
  }
  void serve(const bench::Command& command, bench::Control& control) const {
    if (command.op == "put") return serve_by<Put>(command, control);
    if (command.op == "get") return serve_by<Get>(command, control);
    if (command.op == "word") return serve_by<Word>(command, control);
    throw std::runtime_error("this worker cannot do " + command.op);
  }

 private:
  template <class L>
  void serve_by(const bench::Command& command, bench::Control& control) const {
    L link{segment_};
    bench::roundtrip::answer(link, command, control);
  }

  int started_;
  Segment segment_;
};

}  // namespace

int main(int argc, char** argv) { return bench::roundtrip::worker_main<Ompl>(argc, argv); }
