// SPDX-License-Identifier: BSD-3-Clause
// The data path: puts, gets and signals over the links of one endpoint, and what comes in.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "conduit/common/link_table.hpp"
#include "conduit/conduit.hpp"
#include "conduit/ofi/local_memory.hpp"
#include "conduit/ofi/rdm_peers.hpp"
#include "conduit/ofi/resources.hpp"
#include "conduit/ofi/wait_set.hpp"
#include "conduit/ofi/wire.hpp"

namespace ompl::conduit::ofi {

class OfiEndpoint final : public LinkedEndpoint<OfiEndpoint>, public MessageSender {
 public:
  OfiEndpoint(const SharedState& shared, uint32_t slot);
  ~OfiEndpoint() override;

  // Opens everything and listens; adds this slot to `address`.
  int open(uint64_t key, Address* address);

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                  const Signal& record, bool* signalled) override;
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] std::string reason(uint32_t rank) const override;
  [[nodiscard]] int descriptor() const override { return wait_set_.descriptor(); }
  bool arm() override;
  [[nodiscard]] std::string describe() const override;

  [[nodiscard]] const FabricLink* find_link(uint32_t rank) const { return links_->find(rank); }
  [[nodiscard]] const Losses& losses() const { return links_->losses(); }

  bool send_message(FabricLink& link, const void* bytes, std::size_t length) override;

 private:
  // A receive buffer for one message; the context of its request.
  struct Receive {
    fi_context2 scratch;                            // the provider's, see FabricOperation
    std::array<std::byte, sizeof(Greeting)> bytes;  // the longest
  };
  // A request about to be posted.
  struct Request {
    FabricLink& link;
    bool copied;  // the source may be reused at once
    uint64_t access = FI_WRITE;
    uint64_t flags = 0;
    FabricOperation* operation = nullptr;
    iovec local{};
    void* descriptor = nullptr;
  };
  static constexpr std::size_t kReceives = 128;

  // The link to `rank` if it can be posted on, else null and the answer to give.
  FabricLink* ready(uint32_t rank, Post* answer) { return sending(links_->use(rank), answer); }
  bool begin(Request* request);
  bool begin_copy(Request* request);
  Post end(Request* request, ssize_t result);
  Post write(FabricLink& link, const void* source, uint64_t offset, std::size_t length,
             const Signal* record);
  Post send(FabricLink& link, const void* bytes, std::size_t length, uint64_t flags);
  Post send_record(FabricLink& link, const Signal& record);
  void complete(const FabricOperation& operation);
  void take_in(Sink& sink, const fi_cq_data_entry& entry);
  void take_message(Sink& sink, const Receive& receive, std::size_t length);
  bool take_error();
  int poll_links();
  void say_goodbye();
  bool post_receive(Receive* receive);
  void post_again(Receive* receive);
  void post_unposted();
  int open_receives();
  int publish(Address* address);

  [[nodiscard]] bool fits(const Signal& record) const { return immediates_ && fits_immediate(record); }
  // Long writes have no number of their own but that of an empty one behind them: ofi_rxm (1.17 to 2.5) crashes if
  // a connection ends inside a write with CQ data.
  [[nodiscard]] bool goes_unnumbered(std::size_t length) const {
    return numbered_ && length > inject_limit_;
  }
  [[nodiscard]] const Address& peer(const FabricLink& link) const {
    return (*shared_.peers)[link.rank];
  }
  [[nodiscard]] fi_rma_iov remote(const FabricLink& link, uint64_t offset, std::size_t length) const;

  const SharedState& shared_;
  const uint32_t slot_;
  const bool addressed_;
  const bool numbered_;
  bool is_open_ = false;  // else libfabric may not be asked for progress
  const bool immediates_;
  const std::size_t inject_limit_;
  const std::size_t copy_limit_;  // longer puts go in place
  const bool always_complete_;    // every request has an operation
  const uint64_t in_place_flags_;
  std::unique_ptr<std::byte[]> bounce_;  // the slots; outlives what reads them
  Resources resources_;
  FabricOperationPool operations_;
  LocalMemory memory_;
  std::unique_ptr<FabricLinks> links_;
  RdmPeers* rdm_peers_ = nullptr;  // links_, without connections
  WaitSet wait_set_;
  std::array<Receive, kReceives> receives_;
  std::array<Receive*, kReceives> unposted_{};
  std::size_t unposted_count_ = 0;
  uint32_t polls_ = 0;            // of the links
  int64_t events_looked_at_ = 0;  // ms
};

}  // namespace ompl::conduit::ofi
