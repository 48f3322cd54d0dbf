// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with OMPL: what putting to it through every endpoint of the pool needs, one for each thread: a context
// begins with the endpoint of its number. See harness/connected.hpp.
#include <omnipgas/ompl_ext.h>

#include <vector>

#include "adapters/ompl_beside.hpp"
#include "harness/connected.hpp"
#include "harness/must.hpp"

namespace {

using bench::expect;

class Ompl : public bench::Connected {
 public:
  Ompl(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : contexts_(static_cast<std::size_t>(setup.threads)) {
    expect(ompl_init(), "ompl_init");
    rank_ = ompl_rank();
    ranks_ = ompl_size();
    for (ompl_ctx*& context : contexts_) expect(ompl_ctx_create(&context), "ompl_ctx_create");
    expect(ompl_alloc(contexts_.size() * kRegion + bench::kPage, &first_), "ompl_alloc");
    first_ = bench::pages(first_);
    memory_ = static_cast<std::byte*>(ompl_ptr(static_cast<uint32_t>(ompl_rank()), first_));
    expect(ompl_barrier(), "ompl_barrier");
  }
  ~Ompl() override {
    for (ompl_ctx* context : contexts_) ompl_ctx_destroy(context);
    ompl_finalize();
  }

  [[nodiscard]] bench::Description describe() const override {
    const bool mapped = ompl_ptr(static_cast<uint32_t>((rank() + 1) % ranks()), first_) != nullptr;
    return {ompl_version(), mapped ? "shared memory" : bench::Beside::kBetween, std::nullopt,
            beside_.details()};
  }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    expect(ompl_ctx_put(at(thread), reinterpret_cast<uint64_t>(region(thread) + from),
                        static_cast<uint32_t>(peer), first_ + offset(thread) + to, bytes, kLimitNs),
           "ompl_ctx_put");
  }
  void flush(int thread) override { expect(ompl_ctx_quiet(at(thread), kLimitNs), "ompl_ctx_quiet"); }
  void progress() override { expect(bench::progress(), "ompl_progress"); }

 private:
  static constexpr int64_t kLimitNs = 20000000000;
  [[nodiscard]] ompl_ctx* at(int thread) const { return contexts_[static_cast<std::size_t>(thread)]; }

  bench::Beside beside_;
  std::vector<ompl_ctx*> contexts_;
  uint64_t first_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Ompl>(argc, argv); }
