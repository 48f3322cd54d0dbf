// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include "conduit/mpi/endpoint.hpp"
#include "util/status.hpp"

namespace ompl::conduit::mpi {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 30;  // MPI counts in int

template <class Handle>
class MpiConduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.ordered_signals = true, .max_message = kLongest};
  }
  int open(const Job& job) override { return session_.prepare(job); }
  // MPI knows who the others are; the watch does not.
  [[nodiscard]] std::string address() const override { return session_.watch().address(); }
  Reach connect(uint32_t rank, std::string_view address) override {
    if (!session_.watch().note(rank, address)) return {.why = "its address makes no sense"};
    return {.usable = true, .why = session_.describe()};
  }
  [[nodiscard]] int admits() const override { return session_.admits(); }
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;

 private:
  Session<Handle> session_;
};

// All ranks have agreed on this conduit when they come here: the first endpoint is where they meet.
template <class Handle>
int MpiConduit<Handle>::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (!session_.is_open()) {
    if (const int code = session_.open(); code != OMPL_OK) return code;
  }
  *out = std::make_unique<MpiEndpoint<Handle>>(session_, slot);
  return OMPL_OK;
}

}  // namespace

std::unique_ptr<Conduit> make() {
  if (arch::mpi_abi() == arch::MpiAbi::mpich) return std::make_unique<MpiConduit<int>>();
  return std::make_unique<MpiConduit<void*>>();
}

}  // namespace ompl::conduit::mpi
