// SPDX-License-Identifier: BSD-3-Clause
// Which provider of libfabric, and which network interface of this node, the conduit uses, and how.
#pragma once

#include <string>

#include "conduit/common/ip_address.hpp"
#include "conduit/ofi/conduit.hpp"
#include "conduit/ofi/library.hpp"

namespace ompl {
struct Settings;
}

namespace ompl::conduit::ofi {

// One entry of fi_getinfo(), and what follows from it: asked for, never found out by failing.
struct ProviderChoice {
  std::string name;  // as in OMPL_OFI_PROVIDER; both sides must have the same
  Info info;
  bool addressed =
      false;  // FI_EP_RDM: one endpoint for all, peers by address; else connections (FI_EP_MSG)
  bool ordered = true;     // signals follow puts by themselves; else puts report remote completion [7]
  bool immediates = true;  // CQ data of 8 bytes
  bool numbered = false;   // it reconnects in secret: puts and records are counted [18]
  bool over_tcp = false;   // names are addresses of TCP listeners
  bool registers = false;  // local memory has to be registered (FI_MR_LOCAL)
  std::string why;         // in words, with those that were passed over

  // Takes the place of the address that it binds to, of either family.
  void set_source(const SocketAddress& address) const;
  [[nodiscard]] bool mode(uint64_t bits) const { return (info->mode & bits) != 0; }
  [[nodiscard]] bool mr_mode(int bits) const { return (info->domain_attr->mr_mode & bits) != 0; }
};

// Finds the first provider of the built-in preference, or the one asked for, that can carry the conduit.
// OMPL_ERR_UNSUPPORTED, with the reason for each that was tried.
int choose_provider(const Library& library, const Settings& settings, const Demands& demands,
                    ProviderChoice* out);

}  // namespace ompl::conduit::ofi
