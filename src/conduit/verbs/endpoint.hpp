// SPDX-License-Identifier: BSD-3-Clause
// The data path: puts, gets and signals over the connections of one endpoint, and what comes in.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "conduit/common/link_table.hpp"
#include "conduit/conduit.hpp"
#include "conduit/verbs/connections.hpp"
#include "conduit/verbs/resources.hpp"
#include "conduit/verbs/wait_set.hpp"

namespace ompl::conduit::verbs {

class VerbsEndpoint final : public LinkedEndpoint<VerbsEndpoint> {
 public:
  VerbsEndpoint(const SharedState& shared, uint32_t slot);
  ~VerbsEndpoint() override;

  // Opens everything; adds this slot to `address`.
  int open(Address* address);

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                  const Signal& record, bool* signalled) override;
  Post put_with_immediate(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                          uint64_t flag) override;
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] std::string reason(uint32_t rank) const override {
    return failure(rank) != OMPL_OK ? connections_.find(rank)->why : connections_.losses().why(rank);
  }
  [[nodiscard]] const QueuePairLink* find_link(uint32_t rank) const { return connections_.find(rank); }
  [[nodiscard]] const Losses& losses() const { return connections_.losses(); }
  // Bytes that a request carries itself.
  [[nodiscard]] uint32_t inline_limit() const { return resources_.inline_limit; }
  [[nodiscard]] int descriptor() const override { return wait_set_.descriptor(); }
  bool arm() override;
  [[nodiscard]] std::string describe() const override;

 private:
  // A request under construction, with what it will hold.
  struct Request {
    ibv_send_wr work{};
    ibv_sge data{};
    InFlightResources in_flight{};
    Message message;
    Post::State state = Post::State::done;  // of the answer once it is posted
  };
  static constexpr int kBatch = 16;  // completions taken at once
  struct Taken {
    std::array<ibv_wc, kBatch> completions;
    int count = 0;
  };

  // Whether so many requests can be posted now.
  [[nodiscard]] bool has_room(const QueuePairLink& link, uint64_t requests) const {
    return link.posted + requests <= link.limit && outstanding_ <= kOutstanding - requests;
  }
  bool borrows(QueuePairLink& link, uint64_t requests);
  bool can_post(QueuePairLink& link) { return has_room(link, 1) || borrows(link, 1); }
  Post prepare_put_with_immediate(uint32_t rank, const void* source, uint64_t offset,
                                  std::size_t length, uint64_t flag);
  QueuePairLink* ready(uint32_t rank, uint64_t requests, Post* answer);
  bool aim(QueuePairLink& link, uint64_t offset, std::size_t length, Request* request, Post* answer);
  bool aim_anew(QueuePairLink& link, uint64_t offset, std::size_t length, Post* answer);
  bool aim_at_local(QueuePairLink& link, uint64_t offset, std::size_t length, Post* answer);
  bool fetch_key(QueuePairLink& link, int place);
  void ask_for_key(QueuePairLink& link, int place);
  bool load(const void* source, std::size_t length, Request* request, Post* answer);
  bool use_region(const void* memory, std::size_t length, Request* request);
  bool use_bounce(std::size_t length, Request* request, Post* answer);
  bool register_for(const void* memory, std::size_t length, int access, Request* request, Post* answer);
  bool use_message(const Message& message, Request* request, Post* answer);
  void use_inline(const void* data, std::size_t length, Request* request) const;
  void give_back(const InFlightResources& in_flight);
  Post post(QueuePairLink& link, Request& last, Request* first = nullptr);
  int send(const QueuePairLink& link, ibv_send_wr* list, ibv_send_wr** bad) const;
  bool introduce(QueuePairLink& link);
  Post refused(QueuePairLink& link, int error, bool all);
  void posted(QueuePairLink& link, const Request& request);
  Post posted_alone(QueuePairLink& link, const Request& first, int error);
  Post write(QueuePairLink& link, ibv_wr_opcode opcode, const void* source, uint64_t offset,
             std::size_t length, const Signal* record, bool* signalled = nullptr);

  int take(ibv_cq* queue, Taken* into, int most);
  int take_in_sent(int most);
  void arrived(Sink& sink, const ibv_wc& completion);
  void arrived_from_anyone(Sink& sink, const ibv_wc& completion, const Message& message);
  void finished(const ibv_wc& completion);
  void reap(QueuePairLink& link, uint64_t number, bool good);
  void fetched(QueuePairLink& link, const InFlightResources& in_flight);
  void refill();
  void look_at_clock();
  void heartbeat(int64_t now);
  void say_goodbye();

  const SharedState& shared_;
  const std::atomic<uint64_t>& segment_version_;
  const uint32_t slot_;
  Resources resources_;
  Connections connections_;
  WaitSet wait_set_;
  InFlightPool in_flight_;
  std::vector<uint32_t> bounces_;   // free
  std::vector<uint32_t> receives_;  // buffers to be posted again
  Taken received_, sent_;           // by arm(), for the next progress()
  // Completions that a post took in: others may wait for them, whom the next progress() tells.
  int untold_ = 0;
  uint32_t outstanding_ = 0;  // requests of all links
  struct {
    ibv_send_wr work{};
    ibv_sge data{};
  } immediate_;            // the request of put_with_immediate()
  int source_region_ = 0;  // of the last put or get from the segment, a hint
  uint32_t polls_ = 0;
  int64_t last_tick_ = 0, last_heartbeat_ = 0;  // ms
};

}  // namespace ompl::conduit::verbs
