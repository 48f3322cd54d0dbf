// SPDX-License-Identifier: BSD-3-Clause
// The data path: puts, gets and signals over the connections of one worker, and what comes in.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "conduit/common/link_table.hpp"
#include "conduit/common/operations.hpp"
#include "conduit/conduit.hpp"
#include "conduit/ucx/connections.hpp"
#include "conduit/ucx/resources.hpp"
#include "conduit/ucx/wire.hpp"

namespace ompl::conduit::ucx {

class UcxEndpoint;

// What UCX was asked for and has not done at once.
struct UcpOperation {
  UcxEndpoint* endpoint = nullptr;
  UcpLink* link = nullptr;
  uint64_t ticket = 0;  // 0: nobody waits for it
  // UCX reads these until the operation is complete.
  Message message;
  std::array<std::byte, 64> data;  // of a short put, a copy
  UcpOperation* next = nullptr;
};

class UcxEndpoint final : public LinkedEndpoint<UcxEndpoint> {
 public:
  UcxEndpoint(const SharedState& shared, uint32_t slot);
  ~UcxEndpoint() override;

  // Makes a worker of each context; adds their addresses to those of `networks`, which are as many.
  int open(const std::vector<std::unique_ptr<UcpContext>>& contexts,
           std::vector<WorkerAddresses>* networks);

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                  const Signal& record, bool* signalled) override;
  // Longest data that travel in a message.
  [[nodiscard]] std::size_t copy_limit() const { return copy_limit_; }
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] int descriptor() const override {
    return set_ >= 0 ? set_ : workers_.front()->descriptor();
  }
  bool arm() override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string reason(uint32_t rank) const override;
  [[nodiscard]] const UcpLink* find_link(uint32_t rank) const { return connections_.find(rank); }

 private:
  static ucs_status_t on_message(void* endpoint, const void* header, std::size_t header_length,
                                 void* data, std::size_t length, const ucp_am_recv_param_t* param);
  static void on_sent(void* request, ucs_status_t status, void* operation);

  // The connection to `rank` if it can be posted on, else null and the answer to give.
  UcpLink* ready(uint32_t rank, Post* answer) { return sending(connections_.use(rank), answer); }
  UcpOperation* begin(UcpLink& link, ucp_request_param_t* params);
  Post end(UcpOperation* operation, ucs_status_ptr_t result, bool in_use);
  Post send(UcpLink& link, Message message, Payload data = {}, bool at_once = false);
  Post send_record(UcpLink& link, Message message, Payload data = {}, bool at_once = false);
  bool parted();
  int open_worker(const UcpContext& context, WorkerAddresses* network);
  int open_set();
  unsigned progress_workers();
  bool take_in(const Message& message, Payload data);

  const SharedState& shared_;
  const uint32_t slot_;
  OperationPool<UcpOperation> operations_;
  Connections connections_;
  std::vector<std::unique_ptr<Worker>>
      workers_;             // of each network; end first: they may give back operations
  std::vector<bool> busy_;  // workers that something came in by, or that have a connection
  int set_ = -1;            // epoll, of several workers' descriptors
  uint32_t turns_ = 0;      // calls of progress()
  bool armed_ = false;      // since the last of them
  std::size_t copy_limit_ = 0;
  Sink* sink_ = nullptr;  // of the progress() under way
  int taken_ = 0;         // by the progress() under way
  bool warned_ = false;   // of strangers
  uint32_t idle_ = 0;     // calls of progress() that found nothing
};

}  // namespace ompl::conduit::ucx
