// SPDX-License-Identifier: BSD-3-Clause
// Adapter of OMPL: thread i uses its implicit context. With OMPL_BENCH_MPI it is compiled by an MPI's wrapper, for the mpi
// conduit, which uses the MPI of its program.
#include <cstdlib>

#include "omnipgas/ompl_ext.h"
#include "omnipgas/ompl_inline.h"

#include "harness/must.hpp"
#include "harness/worker.hpp"
#include "ompl_beside.hpp"

namespace {

using bench::expect;

class Ompl {
 public:
  Ompl(const bench::Setup& setup, int /*argc*/, char** /*argv*/) : buffer_(bench::pages(setup.bytes)) {
    expect(ompl_init(), "ompl_init");
    if (ompl_size() != 2) throw std::runtime_error("needs two ranks");
    rank_ = ompl_rank();
    peer_ = static_cast<uint32_t>(1 - rank_);
    const auto channels = static_cast<std::size_t>(setup.threads);
    // One allocation: a target and a source buffer per channel, then a page with the flag.
    stride_ = 2 * buffer_ + bench::kPage;
    expect(ompl_alloc(channels * stride_ + bench::kPage, &first_), "ompl_alloc");
    first_ = bench::pages(first_);
    base_ = static_cast<std::byte*>(ompl_ptr(static_cast<uint32_t>(rank_), first_));
    expect(ompl_barrier(), "ompl_barrier");
  }

  ~Ompl() { ompl_finalize(); }
  Ompl(const Ompl&) = delete;
  Ompl& operator=(const Ompl&) = delete;

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] bench::Description describe() const {
    const bool mapped = ompl_ptr(peer_, first_) != nullptr;
    return {ompl_version(), mapped ? "shared memory" : bench::Beside::kBetween, std::nullopt,
            beside_.details()};
  }

  [[nodiscard]] std::byte* source(int i) const { return target(i) + buffer_; }
  [[nodiscard]] std::byte* target(int i) const { return base_ + static_cast<uint64_t>(i) * stride_; }

  void put(int i, std::size_t offset, std::size_t bytes) {
    expect(ompl_put(reinterpret_cast<uint64_t>(source(i) + offset), peer_, target_offset(i) + offset,
                    bytes),
           "ompl_put");
  }
  void signal(int i) { expect(ompl_put_word(peer_, flag_offset(i)), "ompl_put_word"); }
  void put_signal(int i, std::size_t bytes) {
    expect(ompl_put_signal(reinterpret_cast<uint64_t>(source(i)), peer_, target_offset(i), bytes,
                           flag_offset(i)),
           "ompl_put_signal");
  }
  void wait(int i) { expect(ompl_wait(flag_offset(i)), "ompl_wait"); }
  void attend() { expect(bench::progress(), "ompl_progress"); }
  void flush(int /*i*/) { expect(ompl_flush(), "ompl_flush"); }
  void look(int /*i*/) { expect(ompl_flush(), "ompl_flush"); }
  [[nodiscard]] std::optional<uint64_t> failed_claims() const {
    if (!counts_) return std::nullopt;
    ompl_statistics statistics = OMPL_STATISTICS_INIT;
    expect(ompl_ctx_statistics(OMPL_CTX_DEFAULT, &statistics), "ompl_ctx_statistics");
    return statistics.failed_claims;
  }

 private:
  [[nodiscard]] uint64_t target_offset(int i) const {
    return first_ + static_cast<uint64_t>(i) * stride_;
  }
  [[nodiscard]] uint64_t flag_offset(int i) const { return target_offset(i) + 2 * buffer_; }

  bench::Beside beside_;
  std::size_t buffer_;
  std::size_t stride_ = 0;
  uint64_t first_ = 0;
  std::byte* base_ = nullptr;  // own segment at first_
  int rank_ = 0;
  uint32_t peer_ = 0;
  const bool counts_ = std::getenv("OMPL_STATISTICS") != nullptr;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Ompl>(argc, argv); }
