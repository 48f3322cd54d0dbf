// SPDX-License-Identifier: BSD-3-Clause
// The C++20 interface of halo.h. What halo.h says of a function holds for its namesake here; contexts, time limits, errors
// and collective destructors are those of ompl.hpp.
#ifndef OMNIPGAS_HALO_HPP
#define OMNIPGAS_HALO_HPP

#include <omnipgas/halo.h>
#include <omnipgas/ompl.hpp>

#include <vector>

namespace omnipgas {

// How a halo is exchanged: one of OMPL_HALO_*, and how many vectors go at once.
struct HaloOptions {
  int32_t strategy = OMPL_HALO_DOUBLE_BUFFER;
  std::size_t vectors = 1;  // that every exchange sends
};

// A halo of vectors of `length` elements. Made and freed collectively; the lists of the neighbours are copied.
template <Transferable T>
class Halo {
 public:
  Halo(std::span<const ompl_halo_neighbor> neighbors, std::size_t length, HaloOptions options = {})
      : length_(length), vectors_(options.vectors), counts_(neighbors.size()) {
    std::ranges::transform(neighbors, counts_.begin(), &ompl_halo_neighbor::receive_count);
    ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
    config.element = sizeof(T);
    config.vectors = vectors_;
    config.length = length_;
    config.strategy = options.strategy;
    check(ompl_halo_create(&config, neighbors.data(), neighbors.size(), &halo_));
  }
  Halo(Halo&& other) noexcept
      : length_(other.length_),
        vectors_(other.vectors_),
        counts_(std::move(other.counts_)),
        halo_(std::exchange(other.halo_, nullptr)),
        exceptions_(other.exceptions_) {}
  Halo& operator=(Halo&&) = delete;  // it would free, collectively
  ~Halo() {
    if (leaving_normally(exceptions_)) static_cast<void>(ompl_halo_destroy(halo_));
  }
  void free() { check(ompl_halo_destroy(std::exchange(halo_, nullptr))); }

  // Starts an exchange of these vectors, on the thread's implicit context.
  void start(const SourceOf<T> auto&... vectors) { check(start_within(OMPL_FOREVER, vectors...)); }
  // False if the time is up: call again, with the same vectors.
  template <class Rep, class Period>
  bool start_for(std::chrono::duration<Rep, Period> limit, const SourceOf<T> auto&... vectors) {
    return check_timed(start_within(limit_ns(limit), vectors...));
  }
  // Whether the exchange started last is complete.
  bool test(Via context = {}) { return check(ompl_halo_test(context, halo_)) != 0; }
  void wait(Via context = {}) { check(ompl_halo_wait(context, halo_, OMPL_FOREVER)); }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit, Via context = {}) {
    return check_timed(ompl_halo_wait(context, halo_, limit_ns(limit)));
  }
  // The numbers of neighbours whose data have arrived and that were not named yet, at the beginning of `found`, which has
  // room for all neighbours; none once all were named.
  std::span<std::size_t> wait_some(std::span<std::size_t> found, Via context = {}) {
    check_sizes(found.size(), counts_.size());
    std::size_t count = 0;
    check(ompl_halo_wait_some(context, halo_, found.data(), &count, OMPL_FOREVER));
    return found.first(count);
  }

  // What came from a neighbour; empty if there is no such neighbour or vector. Until the next start.
  [[nodiscard]] std::span<const T> data(std::size_t neighbor, std::size_t vector = 0) const {
    const auto* const first = static_cast<const T*>(ompl_halo_data(halo_, neighbor, vector));
    return {first, first == nullptr ? 0 : counts_[neighbor]};
  }
  // Copies it to its positions.
  void unpack(std::size_t neighbor, TargetOf<T> auto&&... vectors) const {
    check_vectors(vectors...);
    void* const addresses[] = {std::ranges::data(vectors)..., nullptr};
    check(ompl_halo_unpack(halo_, neighbor, addresses));
  }
  [[nodiscard]] std::string describe() const {
    std::string text(ompl_halo_describe(halo_, nullptr, 0), '\0');
    ompl_halo_describe(halo_, text.data(), text.size() + 1);
    return text;
  }

 private:
  int start_within(int64_t timeout_ns, const SourceOf<T> auto&... vectors) {
    check_vectors(vectors...);
    const void* const addresses[] = {std::ranges::data(vectors)..., nullptr};
    return ompl_halo_start(OMPL_CTX_DEFAULT, halo_, addresses, timeout_ns);
  }
  void check_vectors(const SourceOf<T> auto&... vectors) const {
    if (sizeof...(vectors) != vectors_) [[unlikely]]
      throw Error(OMPL_ERR_ARG, "the halo exchanges " + std::to_string(vectors_) + " vectors");
    (check_sizes(std::ranges::size(vectors), length_), ...);
  }

  std::size_t length_;
  std::size_t vectors_;
  std::vector<std::size_t> counts_;  // elements from each neighbour
  ompl_halo* halo_ = nullptr;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace omnipgas

#endif  // OMNIPGAS_HALO_HPP
