// SPDX-License-Identifier: BSD-3-Clause
// The data path: messages with records and small data, puts and gets of the rest to and from the target's window.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "conduit/common/completion_window.hpp"
#include "conduit/conduit.hpp"
#include "conduit/mpi/poll_timer.hpp"
#include "conduit/mpi/session.hpp"
#include "conduit/mpi/wire.hpp"

namespace ompl::conduit::mpi {

// What an endpoint and one rank have between them.
struct MpiLink {
  std::atomic<int> failure{OMPL_OK};
  std::atomic<bool> departed{false};  // its endpoint was closed in order
  int failing = OMPL_OK;   // the failure that is known once MPI has let go of callers' memory,
  int64_t fail_by = 0;     // or at that time (ms)
  std::string why;         // of the failure
  uint32_t sending = 0;    // messages under way
  uint64_t sent = 0;       // messages
  uint32_t putting = 0;    // puts to its window of which the source is in use
  bool unflushed = false;  // some put to its window may not have arrived
  bool met = false;        // there was a message, either way
  CompletionWindow<64> window;
};

template <class Handle>
class MpiEndpoint final : public Endpoint, private Member {
 public:
  MpiEndpoint(Session<Handle>& session, uint32_t slot);
  ~MpiEndpoint() override { session_.part(*this); }

  Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) override;
  Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) override;
  Post signal(uint32_t rank, const Signal& record) override;
  Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                  const Signal& record, bool* signalled) override;
  int progress(Sink& sink, int budget) override;
  [[nodiscard]] uint64_t completed(uint32_t rank) const override;
  [[nodiscard]] int failure(uint32_t rank) const override;
  [[nodiscard]] bool departed(uint32_t rank) const override { return links_[rank].departed; }
  [[nodiscard]] std::string reason(uint32_t rank) const override { return links_[rank].why; }
  [[nodiscard]] int descriptor() const override { return poll_timer_.descriptor(); }
  bool arm() override {
    // Not at every release beside a sleeper: a long look is a long claim.
    slept_ = poll_timer_.set() || slept_;
    return true;
  }
  [[nodiscard]] std::string describe() const override;

 private:
  // What MPI has not completed yet.
  struct MpiOperation {
    uint32_t rank = 0;
    uint64_t ticket = 0;  // 0: a message
    bool is_put = false;
    MessageBuffer* buffer = nullptr;  // of a message
  };
  static constexpr std::size_t kBuffers = 64;  // of messages under way
  static constexpr std::size_t kOperations = 128;

  using Visit = typename Session<Handle>::Visit;
  template <class Call>
  Post transfer(uint32_t rank, bool is_put, Call call);
  Post send(uint32_t rank, Message message, Payload data = {});
  Post emit(uint32_t rank, Message message, Payload data);
  void track(Handle request, const MpiOperation& operation);
  int look(Sink& sink, int budget);
  void take_in(const MessageBuffer& buffer, Sink& sink);
  int complete();
  void finish(const MpiOperation& operation);
  void fail(uint32_t rank, std::string_view why, int code = OMPL_ERR_LINK) noexcept;
  void fail_now(MpiLink& link) noexcept;
  void look_at_failing();
  void fail_lost();
  Post lost(uint32_t rank, const char* function, int code);
  int broken(const char* function, int code);
  void leave(bool in_order) override;

  Session<Handle>& session_;
  const arch::MpiLibrary<Handle>& mpi_;
  MessageInbox<Handle>& inbox_;
  const uint32_t slot_;
  std::unique_ptr<MpiLink[]> links_;  // by rank

  std::unique_ptr<std::array<MessageBuffer, kBuffers>> buffers_ =
      std::make_unique<std::array<MessageBuffer, kBuffers>>();
  std::array<MessageBuffer*, kBuffers> free_{};
  std::size_t free_count_ = 0;

  std::array<Handle, kOperations> requests_{};
  std::array<MpiOperation, kOperations> operations_{};
  std::array<int, kOperations> finished_{};
  std::atomic<std::size_t> outstanding_{0};
  bool broken_ = false;
  uint32_t losses_ = 0;   // ranks that the watch has given up, as far as they are known here
  uint32_t failing_ = 0;  // links
  PollTimer poll_timer_;
  bool slept_ = false;
};

extern template class MpiEndpoint<int>;
extern template class MpiEndpoint<void*>;

}  // namespace ompl::conduit::mpi
