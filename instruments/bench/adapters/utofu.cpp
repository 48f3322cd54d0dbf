// SPDX-License-Identifier: BSD-3-Clause
// Adapter of uTofu, Fugaku's low-level interface: put + flag is utofu_put of the data, in the command itself
// (utofu_put_piggyback) where they fit, and utofu_put_piggyback8 of the flag, which the target reads in its own memory. Both
// in strong order: the flag is written after the data. Each thread has a VCQ with a control queue of its own, on one TNI
// after the other, so nothing is locked. Never run on hardware.
#include <utofu.h>

#include <vector>

#include "harness/window.hpp"
#include "harness/worker.hpp"
#include "utofu_vcq.hpp"

namespace {

class Utofu : public bench::WindowAdapter {
 public:
  Utofu(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : WindowAdapter(setup), vcqs_(static_cast<std::size_t>(setup.threads)) {
    const bench::Gathering both(setup, 2);
    rank_ = both.rank();
    std::byte* const memory = window_.allocate();
    tnis_ = bench::open_all(vcqs_, memory, window_.size(), both);
  }

  [[nodiscard]] bench::Description describe() const {
    return {bench::utofu_version(),
            bench::utofu_transport(tnis_),
            static_cast<int>(vcqs_.size()),
            {{"thread level asked", "a VCQ of one thread"}, {"order of writes", "strong"}}};
  }

  void put(int i, std::size_t offset, std::size_t bytes) {
    at(i).put(1 - rank_, source(i) + offset, window_.source_offset(i) + offset,
              window_.target_offset(i) + offset, bytes);
  }
  void signal(int i) { at(i).put_word(1 - rank_, window_.next(i), window_.flag_offset(i)); }
  // By a word that nobody reads, in order behind them.
  void flush(int i) {
    at(i).put_word(1 - rank_, uint64_t{0}, window_.word_offset(i) + sizeof(uint64_t),
                   UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE);
    at(i).await_notice();
  }
  void look(int /*i*/) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

 private:
  bench::Vcq& at(int i) { return vcqs_[static_cast<std::size_t>(i)]; }

  std::vector<bench::Vcq> vcqs_;
  std::size_t tnis_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Utofu>(argc, argv); }
