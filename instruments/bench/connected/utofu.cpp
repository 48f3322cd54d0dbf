// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with uTofu: its VCQ's address, for each thread's VCQ. Never run on hardware. See harness/connected.hpp.
#include <cstdlib>

#include "adapters/utofu_vcq.hpp"
#include "harness/connected.hpp"

namespace {

using bench::check;

class Utofu : public bench::Connected {
 public:
  Utofu(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : others_(setup.control + ".meet", bench::launched_rank(), bench::launched_ranks()),
        memory_(make_regions(setup.threads)),
        vcqs_(static_cast<std::size_t>(setup.threads)) {
    utofu_tni_id_t* tnis = nullptr;
    check(utofu_get_onesided_tnis(&tnis, &tni_count_), "utofu_get_onesided_tnis");
    for (std::size_t i = 0; i < vcqs_.size(); ++i)
      vcqs_[i].open(tnis[i % tni_count_], memory_, offset(setup.threads), others_);
    std::free(tnis);
    (void)others_.all(rank());
  }
  ~Utofu() override {
    vcqs_.clear();
    std::free(memory_);
  }

  [[nodiscard]] int rank() const override { return others_.rank(); }
  [[nodiscard]] int ranks() const override { return others_.ranks(); }
  [[nodiscard]] bench::Description describe() const override {
    return {
        bench::utofu_version(), bench::utofu_transport(tni_count_), static_cast<int>(vcqs_.size()), {}};
  }
  [[nodiscard]] std::byte* region(int thread) const override { return memory_ + offset(thread); }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    at(thread).put(peer, region(thread) + from, offset(thread) + from, offset(thread) + to, bytes);
  }
  // By a word to each that nobody reads, in order behind what was put there.
  void flush(int thread) override {
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer == rank()) continue;
      at(thread).put_word(peer, uint64_t{0}, offset(thread) + kTarget,
                          UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE);
      at(thread).await_notice();
    }
  }
  void progress() override { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

 private:
  bench::Vcq& at(int thread) { return vcqs_[static_cast<std::size_t>(thread)]; }

  bench::Gathering others_;
  std::byte* memory_;
  std::vector<bench::Vcq> vcqs_;
  std::size_t tni_count_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Utofu>(argc, argv); }
