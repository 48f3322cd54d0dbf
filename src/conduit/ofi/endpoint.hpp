// SPDX-License-Identifier: BSD-3-Clause
// The data path: puts, gets and signals over the connections of one endpoint, and what comes in.
#pragma once

#include <array>
#include <string>

#include "conduit/conduit.hpp"
#include "conduit/ofi/connections.hpp"
#include "conduit/ofi/operation.hpp"
#include "conduit/ofi/resources.hpp"
#include "conduit/ofi/wait_set.hpp"
#include "conduit/ofi/wire.hpp"

namespace ompl::conduit::ofi {

class OfiEndpoint final : public Endpoint {
 public:
  OfiEndpoint(const Site& site, uint32_t slot);
  ~OfiEndpoint() override;

  // Opens everything and listens; adds this slot to `address`.
  int open(uint64_t key, Address* address);

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                  const Signal& record, bool* signalled) override;
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] uint64_t completed(uint32_t rank) const override;
  [[nodiscard]] int failure(uint32_t rank) const override;
  [[nodiscard]] int descriptor() const override { return wait_set_.descriptor(); }
  bool arm() override;
  [[nodiscard]] std::string describe() const override;

 private:
  // A receive buffer for one message; the context of its request.
  struct Receive {
    Message message;
  };
  enum class Kind : uint8_t { copied, in_place };
  static constexpr std::size_t kReceives = 128;

  Link* ready(uint32_t rank, Post* answer);
  bool begin(Link& link, Kind kind, Operation** operation, uint64_t* flags);
  Post end(Link& link, Kind kind, Operation* operation, ssize_t result);
  Post write(Link& link, const void* source, uint64_t offset, std::size_t length, uint64_t flags,
             uint64_t data);
  Post send(Link& link, const Message& message);
  void complete(const Operation& operation);
  void take_in(Sink& sink, const fi_cq_data_entry& entry);
  bool take_error();
  int poll_connections();
  void say_goodbye();
  bool post_receive(Receive* receive);

  [[nodiscard]] const Address& peer(const Link& link) const { return (*site_.peers)[link.rank]; }
  [[nodiscard]] fi_rma_iov remote(const Link& link, uint64_t offset, std::size_t length) const;

  const Site& site_;
  const uint32_t slot_;
  const std::size_t copy_limit_;
  Resources resources_;
  Connections connections_;
  WaitSet wait_set_;
  Operations operations_;
  std::array<Receive, kReceives> receives_;
  uint32_t polls_ = 0;            // of the connections
  int64_t events_looked_at_ = 0;  // ms
};

}  // namespace ompl::conduit::ofi
