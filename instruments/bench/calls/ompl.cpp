// SPDX-License-Identifier: BSD-3-Clause
// Remote calls of OMPL: a function for each channel, ompl_call() without a reply. See calls.hpp.
#include <omnipgas/ompl_calls.h>

#include <vector>

#include "adapters/ompl_beside.hpp"
#include "calls.hpp"
#include "harness/must.hpp"

namespace {

using bench::expect;

class Ompl : public bench::Calls {
 public:
  Ompl(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : Calls(setup), functions_(static_cast<std::size_t>(setup.threads)) {
    expect(ompl_init(), "ompl_init");
    if (ompl_size() != 2) throw std::runtime_error("needs two ranks");
    rank_ = ompl_rank();
    peer_ = static_cast<uint32_t>(1 - rank_);
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      functions_[i].self = this, functions_[i].channel = static_cast<int>(i);
      expect(ompl_call_register("arrive", run, &functions_[i], &functions_[i].number),
             "ompl_call_register");
    }
    expect(ompl_alloc(1, &somewhere_), "ompl_alloc");
  }
  ~Ompl() { ompl_finalize(); }

  [[nodiscard]] bench::Description describe() const {
    const bool mapped = ompl_ptr(peer_, somewhere_) != nullptr;
    return {ompl_version(), mapped ? "shared memory" : bench::Beside::kBetween, std::nullopt,
            beside_.details()};
  }

  void call(int i, std::size_t bytes) {
    ompl_call_request request = OMPL_CALL_INIT;
    request.function = at(i).number;
    request.arguments = source(i);
    request.length = bytes;
    expect(ompl_call(OMPL_CTX_DEFAULT, peer_, &request, nullptr, OMPL_FOREVER), "ompl_call");
  }
  void take(int i) {
    window_.wait(i, [] { expect(bench::progress(), "ompl_progress"); });
  }

 private:
  struct alignas(128) Function {
    Ompl* self = nullptr;
    int channel = 0;
    uint32_t number = 0;
  };
  static uint64_t run(void* function, const ompl_call_context* call) {
    const auto* const at = static_cast<const Function*>(function);
    at->self->arrive(at->channel, call->arguments, call->length);
    return 0;
  }
  [[nodiscard]] const Function& at(int i) const { return functions_[static_cast<std::size_t>(i)]; }

  bench::Beside beside_;
  std::vector<Function> functions_;
  uint64_t somewhere_ = 0;
  uint32_t peer_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::calls_main<Ompl>(argc, argv); }
