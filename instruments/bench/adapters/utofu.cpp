// SPDX-License-Identifier: BSD-3-Clause
// Adapter of uTofu, Fugaku's low-level interface: put + flag is utofu_put of the data, in the command itself
// (utofu_put_piggyback) where they fit, and utofu_put_piggyback8 of the flag, which the target reads in its own memory. Both
// in strong order: the flag is written after the data. Each thread has a VCQ with a control queue of its own, on one TNI
// after the other, so nothing is locked. Never run on hardware.
#include <utofu.h>

#include <cstdlib>
#include <vector>

#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "utofu_vcq.hpp"

namespace {

using bench::check;

class Utofu {
 public:
  Utofu(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : rank_(bench::launched_rank()),
        window_(setup),
        memory_(static_cast<std::byte*>(std::aligned_alloc(bench::kPage, window_.size()))),
        vcqs_(static_cast<std::size_t>(setup.threads)) {
    const bench::Gathering both(setup.control + ".meet", rank_, 2);
    window_.place(memory_);
    utofu_tni_id_t* tnis = nullptr;
    check(utofu_get_onesided_tnis(&tnis, &tnis_), "utofu_get_onesided_tnis");
    for (std::size_t i = 0; i < vcqs_.size(); ++i)
      vcqs_[i].open(tnis[i % tnis_], memory_, window_.size(), both);
    std::free(tnis);
    (void)both.all(rank_);
  }
  ~Utofu() {
    vcqs_.clear();
    std::free(memory_);
  }
  Utofu(const Utofu&) = delete;
  Utofu& operator=(const Utofu&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    return {bench::utofu_version(),
            bench::utofu_transport(tnis_),
            static_cast<int>(vcqs_.size()),
            {{"thread level asked", "a VCQ of one thread"}, {"order of writes", "strong"}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return window_.source(i); }
  [[nodiscard]] std::byte* target(int i) const { return window_.target(i); }
  void put(int i, std::size_t offset, std::size_t bytes) {
    at(i).put(1 - rank_, source(i) + offset, window_.source_offset(i) + offset,
              window_.target_offset(i) + offset, bytes);
  }
  void put_alone(int i, std::size_t offset, std::size_t bytes) { put(i, offset, bytes); }
  void signal(int i) { at(i).put_word(1 - rank_, window_.next(i), window_.flag_offset(i)); }
  void wait(int i) {
    window_.wait(i, [] {});
  }
  // By a word that nobody reads, in order behind them.
  void flush(int i) {
    at(i).put_word(1 - rank_, uint64_t{0}, window_.word_offset(i) + sizeof(uint64_t),
                   UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE);
    at(i).await_notice();
  }
  void look(int /*i*/) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

 private:
  bench::Vcq& at(int i) { return vcqs_[static_cast<std::size_t>(i)]; }

  int rank_;
  bench::Window window_;
  std::byte* memory_;
  std::vector<bench::Vcq> vcqs_;
  std::size_t tnis_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Utofu>(argc, argv); }
