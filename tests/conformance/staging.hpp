// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets of "memory of a GPU" between ranks that are threads, over a stand-in for CUDA's driver (tests/process/gpu), which
// LD_LIBRARY_PATH leads to. Once the driver is loaded every later world of the process looks for its memory: so it is no rule of
// the suite.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"
#include "process/gpu/cuda_driver.hpp"

namespace ompl::conformance {

constexpr std::size_t kStagedChunk = 4096;

// Another fabric, with short chunks.
class ShortChunks final : public Fabric {
 public:
  explicit ShortChunks(std::unique_ptr<Fabric> fabric) : fabric_(std::move(fabric)) {}
  std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t rank) override {
    return fabric_->conduits(rank);
  }
  void tune(uint32_t rank, Settings* settings) const override {
    fabric_->tune(rank, settings);
    settings->gpu_chunk = kStagedChunk;
  }
  [[nodiscard]] std::string describe() const override { return fabric_->describe(); }

 private:
  const std::unique_ptr<Fabric> fabric_;
};

inline Cuda& stand_in() {
  static Cuda cuda = [] {
    Cuda made;
    made.open();
    return made;
  }();
  return cuda;
}

// One transfer of each kind between a device and the rank on the right.
class StagedRank {
 public:
  StagedRank(Rank& r, uint64_t data, uint64_t flag, std::size_t most)
      : r_(r), data_(data), flag_(flag), device_(make(most)) {}

  void transfers(std::size_t length, uint64_t seed) {
    fill(length, seed);
    ok(r_.put_signal(device_, r_.right(), data_, length, flag_));
    arrived(length, seed);
    fill(length, seed + 1);
    const ompl_signal signal = {.flag_addr = flag_, .value = 1, .op = OMPL_ADD32};
    complete([&](ompl_handle* handle) {
      return ompl_put_nb(r_.ctx(), address(device_), r_.right(), data_, length, &signal, 0, handle);
    });
    arrived(length, seed + 1);
    fill(length, seed + 2);  // to be replaced
    complete([&](ompl_handle* handle) {
      return ompl_get_nb(r_.ctx(), address(device_), r_.right(), data_, length, handle);
    });
    holds(length, seed + 1 + 100 * r_.rank);  // what this rank put there
    ok(r_.put(device_, r_.right(), data_, length));
    ok(r_.get(device_, r_.right(), data_, length));
    holds(length, seed + 1 + 100 * r_.rank);
    ok(r_.barrier());
  }

 private:
  static void* make(std::size_t most) {
    Cuda::must(stand_in().set_current(stand_in().context), "cuCtxSetCurrent");
    return reinterpret_cast<void*>(stand_in().memory(most));  // NOLINT(performance-no-int-to-ptr)
  }
  void fill(std::size_t length, uint64_t seed) {
    stand_in().fill(address(device_), pattern(length, seed + 100 * r_.rank).data(), length);
  }
  void holds(std::size_t length, uint64_t seed) {
    std::vector<std::byte> back(length);
    stand_in().read(back.data(), address(device_), length);
    EXPECT_EQ(mismatch(back.data(), length, seed), length);
  }
  void arrived(std::size_t length, uint64_t seed) {
    ok(r_.wait(flag_));
    EXPECT_EQ(mismatch(r_.own(data_), length, seed + 100 * r_.left()), length);
    ok(r_.barrier());
  }
  template <class Operation>
  void complete(Operation operation) {
    ompl_handle handle = OMPL_HANDLE_INIT;
    int code = operation(&handle);
    while (code > OMPL_PENDING) {
      const int progressed = ompl_progress(r_.ctx(), 1'000'000);
      if (progressed < OMPL_OK) ok(progressed);
      code = operation(&handle);
    }
    EXPECT_GE(code, OMPL_OK);
    ok(ompl_handle_wait(r_.ctx(), &handle, OMPL_FOREVER));
  }

  Rank& r_;
  const uint64_t data_;
  const uint64_t flag_;
  void* const device_;
};

inline void expect_staging(std::unique_ptr<Fabric> fabric) {
  constexpr std::size_t kMost = 5 * kStagedChunk + 7;
  stand_in();
  ThreadWorld world(std::make_unique<ShortChunks>(std::move(fabric)), {.ranks = 2});
  const uint64_t data = world.allocate(kMost);
  const uint64_t flag = world.allocate(64);
  world.run([&](Rank& r) {
    StagedRank staged(r, data, flag, kMost);
    uint64_t seed = 1;
    for (const std::size_t length : {std::size_t{1}, kStagedChunk, 2 * kStagedChunk + 1, kMost})
      staged.transfers(length, seed += 10);
  });
}

}  // namespace ompl::conformance
