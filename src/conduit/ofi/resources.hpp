// SPDX-License-Identifier: BSD-3-Clause
// The objects of libfabric behind one endpoint of the pool. Each endpoint has all of them to itself,
// the fabric included, so that threads on different endpoints share nothing in the provider either.
#pragma once

#include "conduit/conduit.hpp"
#include "conduit/ofi/library.hpp"

namespace ompl::conduit::ofi {

// In the order of their making; they close in reverse.
struct Resources {
  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  Fid<fid_mr> segment;   // this rank's whole segment
  Fid<fid_eq> events;    // of connections
  Fid<fid_cq> queue;     // of everything else
  Fid<fid_ep> receiver;  // shared by all connections
  Fid<fid_pep> listener;

  // Makes all of them and listens. `info` is choose_provider()'s. The registration asks for `key`, which
  // the provider may ignore.
  int open(const Library& library, fi_info* info, const Job& job, uint64_t key);

  // A connection's endpoint, bound to the above: for an outgoing connection from choose_provider()'s
  // info, for an incoming one from the request's. Null on failure, with libfabric's code in *result.
  Fid<fid_ep> make_endpoint(fi_info* info, void* context, int* result) const;
};

}  // namespace ompl::conduit::ofi
