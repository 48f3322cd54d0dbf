// SPDX-License-Identifier: BSD-3-Clause
// Adapter of GASNet-EX in its PAR mode (any thread may call). put + flag is gex_RMA_PutNBI of the data, gex_NBI_Wait, and
// gex_RMA_PutBlockingVal of the flag, which the target reads in its own memory while it polls for messages: a put is
// complete at its source only once it is at its target, and GASNet keeps no order between two. Both in one call is
// gex_AM_RequestLong1: its handler, which the target runs while it polls, raises the flag once the data are there.
#include <gasnetex.h>

#include <algorithm>

#include "gasnet_join.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"

namespace {

using bench::check;

class Gasnet : public bench::WindowAdapter {
 public:
  Gasnet(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : WindowAdapter(setup), team_(bench::joined) {
    gex_Segment_t segment;
    gex_AM_Entry_t handler{.gex_index = kRaise,
                           .gex_fnptr = reinterpret_cast<gex_AM_Fn_t>(raise),
                           .gex_flags = GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG,
                           .gex_nargs = 1,
                           .gex_cdata = this,
                           .gex_name = "raise"};
    check(gex_EP_RegisterHandlers(gex_TM_QueryEP(team_), &handler, 1), "gex_EP_RegisterHandlers");
    if (gex_TM_QuerySize(team_) != 2) throw std::runtime_error("needs two ranks");
    rank_ = static_cast<int>(gex_TM_QueryRank(team_));
    check(gex_Segment_Attach(&segment, team_, window_.size()), "gex_Segment_Attach");
    window_.place(gex_Segment_QueryAddr(segment));
    const bench::SegmentOf their_segment = bench::segment_of(team_, peer());
    base_ = their_segment.theirs;
    longest_ = gex_AM_MaxRequestLong(team_, peer(), GEX_EVENT_NOW, 0, 1);
    mapped_ = their_segment.mapped != nullptr;
    gex_Event_Wait(gex_Coll_BarrierNB(team_, 0));
  }
  ~Gasnet() { bench::leave(team_); }

  [[nodiscard]] bench::Description describe() const {
    return {bench::gasnet_version(),
            std::string("conduit ") + GASNET_CONDUIT_NAME_STR + (mapped_ ? ", memory mapped" : ""),
            std::nullopt,
            {{"thread level asked", "GASNET_PAR"},
             {"thread level granted", "GASNET_PAR"},
             {"put + flag",
              "AM long of at most " + std::to_string(longest_) + " B in one call, else put, wait, put"},
             {"endpoints", "one for all threads; the conduit decides"}}};
  }

  void put(int i, std::size_t offset, std::size_t bytes) {
    check(gex_RMA_PutNBI(team_, peer(), base_ + window_.target_offset(i) + offset, source(i) + offset,
                         bytes, GEX_EVENT_NOW, 0),
          "gex_RMA_PutNBI");
  }
  void signal(int i) {
    flush(i);
    check(gex_RMA_PutBlockingVal(team_, peer(), base_ + window_.flag_offset(i), window_.next(i),
                                 sizeof(uint32_t), 0),
          "gex_RMA_PutBlockingVal");
  }
  // What is longer than an active message may be is put before it.
  void put_signal(int i, std::size_t bytes) {
    const std::size_t last = std::min(bytes, longest_);
    const std::size_t before = bytes - last;
    if (before > 0) put(i, 0, before), flush(i);
    window_.next(i);
    check(gex_AM_RequestLong1(team_, peer(), kRaise, source(i) + before, last,
                              base_ + window_.target_offset(i) + before, GEX_EVENT_NOW, 0, i),
          "gex_AM_RequestLong1");
  }
  void wait(int i) {
    window_.wait(i, [] { gasnet_AMPoll(); });
  }
  void flush(int /*i*/) { gex_NBI_Wait(GEX_EC_PUT, 0); }
  void look(int /*i*/) { gasnet_AMPoll(); }
  void attend() { gasnet_AMPoll(); }

 private:
  static constexpr gex_AM_Index_t kRaise = GEX_AM_INDEX_BASE;

  // Adds one to the flag of that channel; several may come out of order.
  static void raise(gex_Token_t token, void* /*data*/, std::size_t /*bytes*/, gex_AM_Arg_t channel) {
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_ENTRY);
    const auto* self = static_cast<const Gasnet*>(info.gex_entry->gex_cdata);
    __atomic_fetch_add(self->window_.flag(channel), 1, __ATOMIC_RELEASE);
  }

  [[nodiscard]] gex_Rank_t peer() const { return static_cast<gex_Rank_t>(1 - rank_); }

  gex_TM_t team_;
  std::byte* base_ = nullptr;  // of the peer's segment, as the peer sees it
  bool mapped_ = false;
  std::size_t longest_ = 0;  // bytes of an active message
};

}  // namespace

int main(int argc, char** argv) {
  return bench::after_joining(argc, argv, [&] { return bench::worker_main<Gasnet>(argc, argv); });
}
