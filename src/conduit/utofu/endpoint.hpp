// SPDX-License-Identifier: BSD-3-Clause
// The data path: puts, gets and signals by one VCQ, and what comes in.
#pragma once

#include <string>
#include <vector>

#include "conduit/conduit.hpp"
#include "conduit/utofu/connections.hpp"

namespace ompl::conduit::utofu {

class UtofuEndpoint final : public LinkedEndpoint<UtofuEndpoint> {
 public:
  // Data that travel in a command.
  static constexpr std::size_t kPiggyback = 32;

  UtofuEndpoint(const SharedState& shared, const Vcq& vcq, uint32_t slot);
  ~UtofuEndpoint() override;

  int open();

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                  const Signal& record, bool* signalled) override;
  Post put_with_immediate(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                          uint64_t flag) override;
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] uint64_t completed(uint32_t rank) const override {
    if (!awaited_.load(std::memory_order_relaxed)) awaited_.store(true, std::memory_order_relaxed);
    return LinkedEndpoint::completed(rank);
  }
  [[nodiscard]] std::string reason(uint32_t rank) const override {
    return connections_.find(rank)->why;
  }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] const VcqLink* find_link(uint32_t rank) const { return connections_.find(rank); }

 private:
  static constexpr std::size_t kBounce = 8192;
  static constexpr uint16_t kBounces = 64;

  VcqLink* ready(uint32_t rank, uint64_t records, Post* answer);
  bool aim(VcqLink& link, uint64_t offset, std::size_t length, Post* answer);
  bool aim_at_local(VcqLink& link, uint64_t offset, std::size_t length, Post* answer);
  bool load(const void* memory, std::size_t length, bool read, VcqOperation* operation,
            utofu_stadd_t* local, Post* answer);
  bool find_region(const void* memory, std::size_t length, utofu_stadd_t* local);
  Post post_record(VcqLink& link, const Record& record);
  Post prepare_put_with_immediate(uint32_t rank, const void* source, uint64_t offset,
                                  std::size_t length, uint64_t flag);
  Post alone(VcqLink& link, std::size_t length, const Post& record);
  int put_record(const VcqLink& link, Record record, uint8_t number, unsigned long flags, void* report);
  Post refused(int code, VcqLink& link);
  Post answer_to(int code, VcqLink& link, VcqOperation& operation, Post::State state);
  void release(VcqOperation& operation);

  int take_notices(int budget);
  void take_reports();
  int take_records(Sink& sink, int budget);
  bool deliver(Sink& sink, Incoming& from, const Record& record);
  bool parted();

  const SharedState& shared_;
  const std::atomic<uint64_t>& segment_version_;
  const Vcq& vcq_;
  const Library& library_;
  const utofu_vcq_hdl_t handle_;
  VcqOperationPool operations_;
  Connections connections_;
  Pages bounce_pages_;
  Registered bounce_memory_;
  std::vector<uint16_t> bounces_;             // free
  std::size_t next_incoming_ = 0;             // the ring that is looked into first
  int source_region_ = 0;                     // of the last put or get from the segment, a hint
  mutable std::atomic<bool> awaited_{false};  // somebody asked what is completed
};

}  // namespace ompl::conduit::utofu
