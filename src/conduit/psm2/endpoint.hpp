// SPDX-License-Identifier: BSD-3-Clause
// The data path: puts, gets and signals as active messages of one PSM2 endpoint, and what comes in. endpoint.cpp: what is sent.
// progress.cpp: what comes.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>

#include "conduit/common/link_table.hpp"
#include "conduit/conduit.hpp"
#include "conduit/psm2/connections.hpp"

namespace ompl::conduit::psm2 {

class Psm2Endpoint final : public LinkedEndpoint<Psm2Endpoint> {
 public:
  Psm2Endpoint(const SharedState& shared, uint32_t slot);
  ~Psm2Endpoint() override;

  // Opens PSM2's endpoint; *number is its number.
  int open(const PsmUuid& job, PsmEpid* number);
  // Longest data of one message, bytes.
  [[nodiscard]] std::size_t max_data() const { return max_data_; }

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                  const Signal& record, bool* signalled) override;
  Post put_with_immediate(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                          uint64_t flag) override;
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] uint64_t completed(uint32_t rank) const override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string reason(uint32_t rank) const override;
  [[nodiscard]] const Psm2Link* find_link(uint32_t rank) const { return connections_.find(rank); }
  [[nodiscard]] const Losses& losses() const { return connections_.losses(); }

 private:
  static int on_request(PsmToken token, uint64_t* arguments, int count, void* data, uint32_t length,
                        void* endpoint);
  static int on_reply(PsmToken token, uint64_t* arguments, int count, void* data, uint32_t length,
                      void* endpoint);

  // A message as a handler gets it.
  struct Incoming {
    PsmToken token;
    Head head;
    Arguments arguments;
    const void* data;
    std::size_t length;
  };
  static Incoming incoming(PsmToken token, const uint64_t* arguments, int count, const void* data,
                           uint32_t length);

  Psm2Link* ready(uint32_t rank, Post* answer);
  Post send(Psm2Link& link, const Arguments& arguments, int count, const void* data = nullptr,
            std::size_t length = 0);

  void take_request(const Incoming& message) noexcept;
  void take_counted(Psm2Link& link, const Incoming& message) noexcept;
  bool take_record(Psm2Link& link, const Incoming& message) noexcept;
  bool take_data(const Incoming& message, uint64_t offset) noexcept;
  bool answer_get(Psm2Link& link, const Incoming& message) noexcept;
  void take_hello(const Incoming& message) noexcept;
  void take_reply(const Incoming& message) noexcept;
  void take_answer(Psm2Link& link, const Incoming& message) noexcept;
  void reply(PsmToken token, const uint64_t* arguments, int count, const void* data = nullptr,
             std::size_t length = 0) noexcept;
  void reply_taken(Psm2Link& link, PsmToken token, uint8_t op) noexcept;
  bool deliver_or_keep(const WaitingRecord& record) noexcept;
  void deliver(Sink& sink, const WaitingRecord& record) noexcept;
  int deliver_waiting(Sink& sink, int budget) noexcept;
  void look_at_clock() noexcept;
  [[nodiscard]] bool is_budget_spent() const { return sink_ != nullptr && taken_ > budget_; }
  [[nodiscard]] bool is_in_segment(uint64_t offset, std::size_t length) const {
    return offset <= shared_.job->capacity && length <= shared_.job->capacity - offset;
  }

  const SharedState& shared_;
  const Library& library_;
  Connections connections_;
  PsmEndpoint* endpoint_ = nullptr;
  std::size_t max_data_ = 0;
  mutable std::atomic<bool> awaited_{false};  // somebody looks for completions
  // Held by whoever takes messages while the connector is away. A handler that waits for room for its answer may be interrupted
  // by another one.
  std::recursive_mutex waiting_mutex_;
  std::deque<WaitingRecord> waiting_;  // in their order
  Sink* sink_ = nullptr;               // of the progress() under way
  int budget_ = 0;                     // of it
  int taken_ = 0;                      // by it
  uint32_t turns_ = 0;                 // calls of progress()
  int64_t looked_ = 0;                 // ms
  bool warned_ = false;                // of strangers
};

}  // namespace ompl::conduit::psm2
