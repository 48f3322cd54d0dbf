// SPDX-License-Identifier: BSD-3-Clause
#include "solver/ranks/halo_exchange.hpp"

#include "solver/ranks/layer.hpp"

namespace ompl::solver {

namespace {

// A look is a system call or two, where a network has to be looked at: at 1 Gbit/s 12 kB come between two.
constexpr std::chrono::microseconds kBetweenLooks(100);

}  // namespace

HaloExchange::HaloExchange(const LocalMatrix& matrix, int32_t strategy)
    : landed_(matrix.pattern.neighbours.size()) {
  std::vector<ompl_halo_neighbor> neighbours;
  for (const Pattern::Neighbour& n : matrix.pattern.neighbours) {
    ompl_halo_neighbor& to = neighbours.emplace_back();
    to.send_indices = n.send.data();
    to.send_count = n.send.size();
    to.receive_count = n.receive;
    to.rank = n.part;
  }
  ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  config.strategy = strategy;
  check(ompl_halo_create(&config, neighbours.data(), neighbours.size(), &halo_), "ompl_halo_create");
}

void HaloExchange::start(const double* x) {
  const void* const vectors[] = {x};
  check(ompl_halo_start(OMPL_CTX_DEFAULT, halo_, vectors, OMPL_FOREVER), "ompl_halo_start");
}

void HaloExchange::progress() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kBetweenLooks) return;
  looked_ = now;
  (void)ompl_halo_test(OMPL_CTX_DEFAULT, halo_);  // an error comes again in wait()
}

const double* const* HaloExchange::wait() {
  check(ompl_halo_wait(OMPL_CTX_DEFAULT, halo_, OMPL_FOREVER), "ompl_halo_wait");
  for (std::size_t i = 0; i < landed_.size(); ++i)
    landed_[i] = static_cast<const double*>(ompl_halo_data(halo_, i, 0));
  return landed_.data();
}

std::string HaloExchange::describe() const {
  std::string text(ompl_halo_describe(halo_, nullptr, 0), '\0');
  ompl_halo_describe(halo_, text.data(), text.size() + 1);
  return text;
}

void HaloExchange::end() {
  check(ompl_halo_destroy(halo_), "ompl_halo_destroy");
  halo_ = nullptr;
}

}  // namespace ompl::solver
