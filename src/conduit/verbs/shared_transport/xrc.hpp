// SPDX-License-Identifier: BSD-3-Clause
// Extended reliable connections (XRC): an endpoint has one queue pair for all ranks of a node, its initiator; the node
// has a target for it, which all its ranks share, and a request says which shared receive queue it is for. Never run on
// hardware.
//
// The ranks of a node share a domain. The first that an initiator asks for a connection makes the target; the others
// open it, so that it lives as long as any of them. What breaks an initiator breaks the endpoint's links to all ranks
// of that node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conduit/verbs/library.hpp"

namespace ompl::conduit::verbs {

struct Device;
struct QueuePairLink;
struct Resources;
struct Route;
struct SharedState;

// A queue pair that several links send by: to all ranks of a node (XRC), or to one after the other (DC).
struct Initiator {
  Owned<ibv_qp> pair{nullptr, nullptr};
  uint32_t outstanding = 0;  // requests of all links
  bool broken = false;
};

// The XRC domain of a rank's node: it belongs to a file that every rank of the job and node opens.
class XrcDomain {
 public:
  XrcDomain() = default;
  ~XrcDomain() { remove_file(); }
  XrcDomain(const XrcDomain&) = delete;
  XrcDomain& operator=(const XrcDomain&) = delete;

  // `name` is this job's on this node. OMPL_ERR_UNSUPPORTED if the device has no XRC.
  int open(const Device& device, const std::string& name);
  // Every rank has opened it: the file is wanted no more.
  void remove_file();
  [[nodiscard]] ibv_xrcd* get() const { return domain_.get(); }

 private:
  std::string file_;
  Owned<ibv_xrcd> domain_{nullptr, nullptr};
};

struct XrcInitiator final : Initiator {
  uint64_t node = 0;
  uint32_t first_packet = 0;
  uint32_t target = 0;                    // at that node; 0 until a rank there has made it
  const QueuePairLink* asking = nullptr;  // the link whose rank is to make it
};

// Of one endpoint.
class Xrc {
 public:
  // The initiator to that node, made if need be; null on failure, with errno set.
  XrcInitiator* initiator(const SharedState& shared, const Resources& resources, uint64_t node);

 private:
  std::vector<std::unique_ptr<XrcInitiator>> initiators_;
};

// The endpoint's receive queue; its completions go to `completions`. Null on failure, with errno set.
Owned<ibv_srq> make_xrc_queue(const SharedState& shared, ibv_cq* completions);
// A target for the initiator at the end of `route`, or another rank's target by its number. Null on failure, with
// errno set.
Owned<ibv_qp> make_xrc_target(const SharedState& shared, const Route& route);
Owned<ibv_qp> open_xrc_target(const SharedState& shared, uint32_t number);

}  // namespace ompl::conduit::verbs
