// SPDX-License-Identifier: BSD-3-Clause
// Links through one endpoint and an address vector (FI_EP_RDM), where the provider has the connections, if
// there are any, and tells nothing of them. Both sides greet each other once, and prove that they know the job's
// secret; what comes later without the cookie of the pair is dropped. Where the provider would make a broken connection anew, everything is
// numbered: a gap is the end of the link, on both sides. Who has been silent is asked, and over TCP its
// kernel too.
#pragma once

#include "conduit/common/liveness_probe.hpp"
#include "conduit/ofi/links.hpp"

namespace ompl::conduit::ofi {

// Sends the messages of RdmPeers. Implemented by the endpoint.
class MessageSender {
 public:
  // Posts a copy on the link; an error will be reported. False: not now.
  virtual bool send_message(FabricLink& link, const void* bytes, std::size_t length) = 0;

 protected:
  ~MessageSender() = default;
};

class RdmPeers final : public FabricLinks {
 public:
  RdmPeers(const SharedState& shared, const Resources& resources, uint32_t slot, MessageSender& sender);

  int progress() override;
  void lost(FabricLink& link, std::string_view why) override;

  // A message came in. True if it holds a record of `source`.
  bool take_in(const void* bytes, std::size_t length, uint32_t* source, Signal* record);
  // The same for CQ data.
  bool take_in(uint64_t data, uint32_t* source, Signal* record);

  // The link is about to be posted on: this is what goes with the data.
  [[nodiscard]] static Sealed seal(const FabricLink& link, const Message& message);

 private:
  void begin(FabricLink& link) override;
  void end_outstanding(FabricLink& /*link*/) override {}  // it cannot
  bool insert(FabricLink& link);
  void greet(FabricLink& link);
  void greet_if_possible(FabricLink& link) noexcept;
  void greeted_by(const Greeting& greeting) noexcept;
  void take_greeting(const Greeting& greeting);
  bool opened(FabricLink& link, const Message& message, uint32_t* source, Signal* record);
  bool in_order(FabricLink& link, bool nothing_is_missing);
  bool send_control(FabricLink& link, uint8_t op);
  void tell(FabricLink& link);
  void give_up(FabricLink& link, std::string_view why);
  void look_after(int64_t now);
  void judge(FabricLink& link, LivenessProbe::Answer answer);
  [[nodiscard]] bool is_out_of_patience(const FabricLink& link, LivenessProbe::Answer answer) const;
  [[nodiscard]] std::string first_failure(const FabricLink& link, LivenessProbe::Answer answer) const;
  bool examine(FabricLink& link, int64_t now);

  MessageSender& sender_;
  const bool numbered_;
  const bool over_tcp_;
  bool replies_pending_ = false;  // greetings that could not be sent yet
  int64_t next_look_ = 0;         // ms
  LivenessProbe probe_{LivenessProbe::Rule::kept};
  FabricLink* probed_ = nullptr;
  std::size_t turn_ = 0;  // whose it is to be looked after
};

}  // namespace ompl::conduit::ofi
