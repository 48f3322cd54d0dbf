// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with GASNet-EX, whose threads share one endpoint. See harness/connected.hpp.
#include <gasnetex.h>

#include <cstring>
#include <vector>

#include "adapters/gasnet_join.hpp"
#include "harness/connected.hpp"

namespace {

using bench::check;

class Gasnet : public bench::Connected {
 public:
  Gasnet(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : team_(bench::joined), bases_(gex_TM_QuerySize(team_)) {
    rank_ = static_cast<int>(gex_TM_QueryRank(team_));
    ranks_ = static_cast<int>(bases_.size());
    gex_Segment_t segment;
    const std::size_t bytes = offset(setup.threads);
    check(gex_Segment_Attach(&segment, team_, bytes), "gex_Segment_Attach");
    std::memset(gex_Segment_QueryAddr(segment), 0, bytes);
    for (gex_Rank_t i = 0; i < bases_.size(); ++i) {
      bases_[i] = bench::segment_of(team_, i).theirs;
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team_, 0));
  }
  ~Gasnet() override { bench::leave(team_); }

  [[nodiscard]] bench::Description describe() const override {
    return {
        bench::gasnet_version(), std::string("conduit ") + GASNET_CONDUIT_NAME_STR, std::nullopt, {}};
  }
  [[nodiscard]] std::byte* region(int thread) const override { return at(rank(), thread); }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    check(gex_RMA_PutBlocking(team_, static_cast<gex_Rank_t>(peer), at(peer, thread) + to,
                              region(thread) + from, bytes, 0),
          "gex_RMA_PutBlocking");
  }
  void flush(int /*thread*/) override {}  // each put was complete at its target
  void progress() override { gasnet_AMPoll(); }

 private:
  [[nodiscard]] std::byte* at(int rank, int thread) const {
    return bases_[static_cast<std::size_t>(rank)] + offset(thread);
  }

  gex_TM_t team_;
  std::vector<std::byte*> bases_;  // of the segments, each as its own rank sees it
};

}  // namespace

int main(int argc, char** argv) {
  return bench::after_joining(argc, argv, [&] { return bench::connected_main<Gasnet>(argc, argv); });
}
