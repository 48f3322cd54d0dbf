// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with uTofu: its VCQ's address, for each thread's VCQ. Never run on hardware. See harness/connected.hpp.
#include "adapters/utofu_vcq.hpp"
#include "harness/connected.hpp"

namespace {

class Utofu : public bench::Gathered {
 public:
  Utofu(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : Gathered(setup), vcqs_(static_cast<std::size_t>(setup.threads)) {
    std::byte* const memory = make_regions(setup.threads);
    tni_count_ = bench::open_all(vcqs_, memory, offset(setup.threads), others_);
  }

  [[nodiscard]] bench::Description describe() const override {
    return {
        bench::utofu_version(), bench::utofu_transport(tni_count_), static_cast<int>(vcqs_.size()), {}};
  }
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

  std::vector<bench::Vcq> vcqs_;
  std::size_t tni_count_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Utofu>(argc, argv); }
