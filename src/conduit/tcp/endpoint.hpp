// SPDX-License-Identifier: BSD-3-Clause
// The data path: puts, gets and signals over the connections of one slot, and what comes in. endpoint.cpp: what is sent.
// progress.cpp: what comes.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "conduit/common/link_table.hpp"
#include "conduit/conduit.hpp"
#include "conduit/tcp/connections.hpp"
#include "conduit/tcp/wire.hpp"

namespace ompl::conduit::tcp {

class TcpEndpoint final : public LinkedEndpoint<TcpEndpoint> {
 public:
  static constexpr std::size_t kMaxMessage = std::size_t{1} << 30;

  TcpEndpoint(const SharedState& shared, uint32_t slot);
  ~TcpEndpoint() override;

  // Listens at `ips`; *port is where.
  int open(const std::vector<std::string>& ips, uint16_t* port);

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                  const Signal& record, bool* signalled) override;
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] int descriptor() const override { return connections_.descriptor(); }
  bool arm() override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string reason(uint32_t rank) const override;
  [[nodiscard]] const TcpLink* find_link(uint32_t rank) const { return connections_.find(rank); }
  [[nodiscard]] const Losses& losses() const { return connections_.losses(); }

 private:
  // A frame's head, data of a caller or of the segment, a record: in this order, of any of them none.
  using Pieces = std::array<iovec, 3>;

  TcpLink* ready(uint32_t rank, Post* answer);
  Post send(TcpLink& link, const Pieces& pieces);
  Post keep(TcpLink& link, const Pieces& pieces, std::size_t sent);
  bool flush(TcpLink& link);
  bool flush_frames(TcpLink& link);
  bool flush_owed(TcpLink& link);
  void keep_owed(TcpLink& link, const iovec& frame, const iovec& data, std::size_t sent);
  int flush_all();
  static bool is_for_later(TcpLink& link, int error);
  bool parted();

  int read(TcpLink& link, Sink& sink, int budget);
  int read_all(Sink& sink, int budget);
  int take_frames(Sink& sink, int budget);
  std::size_t take_data(TcpLink& link, Sink& sink, const std::byte* from, std::size_t length);
  bool begin(TcpLink& link, Sink& sink, const Frame& frame, const RecordRest& rest);
  bool begin_data(TcpLink& link, Sink& sink, const Frame& frame);
  void end_data(TcpLink& link, Sink& sink);
  [[nodiscard]] bool is_in_segment(uint64_t offset, std::size_t length) const {
    return offset <= shared_.job->capacity && length <= shared_.job->capacity - offset;
  }

  static constexpr std::size_t kRead = std::size_t{16} << 10;

  const SharedState& shared_;
  Connections connections_;
  std::unique_ptr<std::byte[]>
      buffer_;  // of what was read last: the beginning of a frame, then up to kRead bytes
  TcpLink* buffered_ = nullptr;     // whose it is, while some is not taken yet,
  std::size_t begin_ = 0;           // from here
  std::size_t end_ = 0;             // to here
  std::vector<TcpLink*> readable_;  // of the progress under way
  bool has_output_ = false;         // some link may have
  bool armed_ = false;              // since the last progress
  uint32_t turns_ = 0;              // calls of progress()
};

}  // namespace ompl::conduit::tcp
