// SPDX-License-Identifier: BSD-3-Clause
// The objects of libfabric behind one endpoint of the pool. Each endpoint has all of them to itself,
// the fabric included, so that threads on different endpoints share nothing in the provider either.
#pragma once

#include <string>

#include "conduit/conduit.hpp"
#include "conduit/ofi/provider.hpp"

namespace ompl::conduit::ofi {

// In the order of their making; they close in reverse.
struct Resources {
  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  Fid<fid_cq> queue;     // of all but connection events
  Fid<fid_eq> events;    // of connections; null without
  Fid<fid_mr> segment;   // this rank's whole segment
  Fid<fid_av> peers;     // null with connections
  Fid<fid_ep> receiver;  // shared by all connections; or the one endpoint that sends and receives
  Fid<fid_pep> listener;
  bool can_sleep = true;  // the queues have descriptors

  // Makes all of them, listens or is ready to receive. Registrations ask for `key` and those after it,
  // which the provider may ignore.
  int open(const Library& library, const ProviderChoice& choice, const Job& job, uint64_t key);

  // A connection's endpoint, bound to the above: for an outgoing connection from choose_provider()'s
  // info, for an incoming one from the request's. Null on failure, with libfabric's code in *result.
  Fid<fid_ep> make_endpoint(fi_info* info, void* context, int* result) const;

  // Registers memory; libfabric's code.
  int register_memory(const void* address, std::size_t length, uint64_t access, Fid<fid_mr>* out);

  // The name that others put into their address vectors; "" if the provider does not tell.
  [[nodiscard]] std::string name() const;

 private:
  int open_connected(fi_info* info, const char** step);
  int open_addressed(fi_info* info, const char** step);

  bool bind_registrations_ = false;  // FI_MR_ENDPOINT
  uint64_t next_key_ = 0;
  uint64_t key_mask_ = UINT64_MAX;
};

}  // namespace ompl::conduit::ofi
