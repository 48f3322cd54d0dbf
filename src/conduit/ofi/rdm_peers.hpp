// SPDX-License-Identifier: BSD-3-Clause
// Links through one endpoint and an address vector (FI_EP_RDM), where the provider has the connections, if
// there are any, and tells nothing of them. Both sides say Hello once, with the job's secret and a cookie; what
// comes without the cookie is dropped. Where the provider would make a broken connection anew, everything is
// numbered: a gap is the end of the link, on both sides. Who has been silent is asked, and over TCP its
// kernel too.
#pragma once

#include "conduit/ofi/links.hpp"
#include "conduit/ofi/probe.hpp"

namespace ompl::conduit::ofi {

// Sends what contacts have to say. Implemented by the endpoint.
class Voice {
 public:
  // Posts a copy on the link; an error will be reported. False: not now.
  virtual bool say(Link& link, const void* bytes, std::size_t length) = 0;

 protected:
  ~Voice() = default;
};

class Contacts final : public Links {
 public:
  Contacts(const Site& site, const Resources& resources, uint32_t slot, Voice& voice);

  int progress() override;
  void lost(Link& link, std::string_view why) override;

  // A message came in. True if it holds a record of `source`.
  bool take_in(const void* bytes, std::size_t length, uint32_t* source, Signal* record);
  // The same for CQ data.
  bool take_in(uint64_t data, uint32_t* source, Signal* record);

  // The link is about to be posted on: this is what goes with the data.
  [[nodiscard]] static Sealed seal(const Link& link, const Message& message);

 private:
  void begin(Link& link) override;
  bool insert(Link& link);
  void greet(Link& link);
  void greeted_by(const Hello& hello);
  bool opened(Link& link, const Message& message, uint32_t* source, Signal* record);
  bool in_order(Link& link, bool nothing_is_missing);
  bool say(Link& link, uint8_t op);
  void tell(Link& link);
  void give_up(Link& link, const std::string& why);
  void look_after(int64_t now);
  void judge(Link& link, Probe::Answer answer);
  bool examine(Link& link, int64_t now);

  Voice& voice_;
  const bool numbered_;
  const bool over_tcp_;
  const uint64_t cookie_;
  bool owing_ = false;     // Hellos that could not be sent yet
  int64_t next_look_ = 0;  // ms
  Probe probe_;
  Link* probed_ = nullptr;
  std::size_t turn_ = 0;  // whose it is to be looked after
};

}  // namespace ompl::conduit::ofi
