// SPDX-License-Identifier: BSD-3-Clause
// The nonblocking collectives of the layer, between buffers in the segment. OMPL_COLL_PROGRESS says who makes progress,
// OMNI_ALGORITHM pins an algorithm by its name.
#include <cstdlib>
#include <cstring>

#include "harness/must.hpp"
#include "layer.hpp"
#include "worker.hpp"

namespace {

using bench::must;

// By its name; OMPL_COLL_AUTO without one.
int32_t algorithm() {
  const char* const wanted = std::getenv("OMNI_ALGORITHM");
  if (wanted == nullptr) return OMPL_COLL_AUTO;
  for (int32_t number = 0;; ++number) {
    const char* const name = ompl_algorithm_name(number);
    if (name == nullptr) throw std::runtime_error(std::string("OMNI_ALGORITHM: there is no ") + wanted);
    if (std::strcmp(name, wanted) == 0) return number;
  }
}

class Ompl {
 public:
  Ompl(int /*argc*/, char** /*argv*/) {
    options_.algorithm = algorithm();
    must(ompl_init(), "ompl_init");
    must(ompl_team_world(&team_), "ompl_team_world");
  }
  ~Ompl() { ompl_finalize(); }
  Ompl(const Ompl&) = delete;
  Ompl& operator=(const Ompl&) = delete;

  [[nodiscard]] static int rank() { return ompl_rank(); }
  [[nodiscard]] static int ranks() { return ompl_size(); }
  [[nodiscard]] bench::Description describe() const {
    const bool mapped =
        ompl_ptr(rank() == 0 ? static_cast<uint32_t>(ranks() - 1) : 0, place_) != nullptr;
    return {ompl_version(), mapped ? "shared memory" : "network", std::nullopt, {}};
  }

  void create(const bench::overlap::Shape& shape) {
    shape_ = shape;
    if (place_ != 0) must(ompl_free(place_), "ompl_free");
    const std::size_t outgoing = bench::pages(shape.outgoing());
    must(ompl_alloc(outgoing + shape.incoming() + bench::kPage, &place_), "ompl_alloc");
    outgoing_ = static_cast<std::byte*>(ompl_ptr(static_cast<uint32_t>(rank()), bench::pages(place_)));
    incoming_ = outgoing_ + outgoing;
  }
  [[nodiscard]] std::byte* outgoing() { return outgoing_; }
  [[nodiscard]] std::byte* incoming() { return incoming_; }

  void start() {
    must(bench::overlap::call(team_, shape_, outgoing_, incoming_, options_, &request_),
         "the collective");
  }
  void wait() {
    must(ompl_request_wait(OMPL_CTX_DEFAULT, &request_, OMPL_FOREVER), "ompl_request_wait");
  }
  void barrier() { must(ompl_team_barrier(team_, nullptr, nullptr), "ompl_team_barrier"); }

 private:
  ompl_team* team_ = nullptr;
  ompl_coll_options options_ = OMPL_COLL_OPTIONS_INIT;
  ompl_request* request_ = nullptr;
  bench::overlap::Shape shape_;
  uint64_t place_ = 0;  // of the buffers in the segment
  std::byte* outgoing_ = nullptr;
  std::byte* incoming_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) { return bench::overlap::worker_main<Ompl>(argc, argv); }
