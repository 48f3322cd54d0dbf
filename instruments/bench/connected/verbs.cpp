// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with bare Verbs: a reliable connected queue pair for each thread. Never run on hardware. See
// harness/connected.hpp.
#include "adapters/verbs_connection.hpp"
#include "harness/connected.hpp"
#include "harness/gathering.hpp"

namespace {

using bench::made;

// A thread's queue pairs, one to each rank, and the completions of all.
class Pairs {
 public:
  // Collective; `own` is what the others may write.
  void open(const bench::Port& port, const bench::Registered& own, const bench::Gathering& others) {
    const auto ranks = static_cast<std::size_t>(others.ranks());
    key_ = own.memory->lkey;
    completions_ = made(ibv_create_cq(port.context(), kDepth, nullptr, nullptr, 0), "ibv_create_cq");
    cards_.resize(ranks);
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      std::size_t in_request = 0;
      pairs_.push_back(bench::create_pair(own.domain, completions_, kDepth, &in_request));
      // Each one's pair to rank `peer`.
      const std::vector<bench::Card> of_all =
          others.all(bench::card_of(pairs_[peer], own.memory, port));
      if (static_cast<int>(peer) == others.rank()) cards_ = of_all;
    }
    for (std::size_t peer = 0; peer < ranks; ++peer) bench::connect(pairs_[peer], port, cards_[peer]);
  }
  ~Pairs() {
    for (ibv_qp* pair : pairs_) ibv_destroy_qp(pair);
    if (completions_ != nullptr) ibv_destroy_cq(completions_);
  }

  void put(int rank, std::byte* from, std::size_t to, std::size_t bytes) {
    const auto peer = static_cast<std::size_t>(rank);
    while (under_way_ == kDepth) progress();
    bench::write(pairs_[peer], cards_[peer], from, key_, to, bytes, IBV_SEND_SIGNALED, 0);
    ++under_way_;
  }
  void flush() {
    while (under_way_ > 0) progress();
  }

 private:
  static constexpr int kDepth = 64;  // requests under way

  void progress() {
    ibv_wc room;
    under_way_ -= static_cast<int>(bench::take(completions_, {&room, 1}).size());
  }

  ibv_cq* completions_ = nullptr;
  std::vector<ibv_qp*> pairs_;
  std::vector<bench::Card> cards_;  // of the other ends, by rank
  uint32_t key_ = 0;
  int under_way_ = 0;
};

class Verbs : public bench::Connected {
 public:
  Verbs(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : others_(setup),
        registered_(port_, make_regions(setup.threads), offset(setup.threads)),
        threads_(static_cast<std::size_t>(setup.threads)) {
    rank_ = others_.rank();
    ranks_ = others_.ranks();
    for (Pairs& each : threads_) each.open(port_, registered_, others_);
    (void)others_.all(rank());
  }

  [[nodiscard]] bench::Description describe() const override {
    return {bench::verbs_version(), port_.describe(), static_cast<int>(threads_.size()), {}};
  }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    at(thread).put(peer, region(thread) + from, offset(thread) + to, bytes);
  }
  void flush(int thread) override { at(thread).flush(); }
  void progress() override { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

 private:
  Pairs& at(int thread) { return threads_[static_cast<std::size_t>(thread)]; }

  bench::Port port_;  // before all else that takes time: without one nothing is done
  bench::Gathering others_;
  bench::Registered registered_;
  std::vector<Pairs> threads_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Verbs>(argc, argv); }
