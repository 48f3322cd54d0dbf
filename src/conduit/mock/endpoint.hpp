// SPDX-License-Identifier: BSD-3-Clause
// One slot of one rank on the wire.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "conduit/conduit.hpp"
#include "conduit/mock/link.hpp"

namespace ompl::conduit::mock {

class MockEndpoint final : public Endpoint {
 public:
  // peer_slots: the size of each rank's pool; 0 where the rank is not reached.
  MockEndpoint(Wire& wire, uint32_t rank, uint32_t slot, const std::vector<uint32_t>& peer_slots);
  ~MockEndpoint() override;

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_with_immediate(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                          uint64_t flag) override;
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] uint64_t completed(uint32_t rank) const override;
  [[nodiscard]] int failure(uint32_t rank) const override;
  [[nodiscard]] bool departed(uint32_t rank) const override;
  [[nodiscard]] int descriptor() const override { return port_.wake_event.fd(); }
  bool arm() override;
  [[nodiscard]] std::string describe() const override;

 private:
  class Claim;

  bool idle();
  int break_down();
  int carry(int budget);
  int advance(int budget);

  Wire& wire_;
  Port& port_;
  const uint32_t rank_, slot_;
  Dice dice_;
  std::vector<MockLink*> links_;     // by rank
  std::vector<MockLink*> incoming_;  // those that end here
  bool broken_ = false;
  std::atomic<bool> claimed_{false};  // relaxed: it must not order what it is to check
};

}  // namespace ompl::conduit::mock
