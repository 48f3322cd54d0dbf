// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>

#include "conduit/common/operations.hpp"
#include "conduit/ofi/library.hpp"

namespace ompl::conduit::ofi {

struct FabricLink;

// The context of a request to libfabric.
struct FabricOperation {
  fi_context2 scratch;  // the provider's while the request is under way (FI_CONTEXT, FI_CONTEXT2)
  FabricLink* link = nullptr;
  uint64_t ticket = 0;          // 0: data were copied, and
  uint32_t mark = 0;            // this many sends of the link have left once it completes
  std::byte* bounce = nullptr;  // room for data that the provider does not copy
  Fid<fid_mr> registration;     // made for this operation
  FabricOperation* next = nullptr;
};

class FabricOperationPool final : public conduit::OperationPool<FabricOperation> {
 public:
  void give_back(FabricOperation* operation) {
    operation->registration.reset();
    conduit::OperationPool<FabricOperation>::give_back(operation);
  }
  // Gives each its part of kCount * `size` bytes.
  void hand_out(std::byte* memory, std::size_t size) {
    for (FabricOperation& operation : all_) {
      operation.bounce = memory;
      memory += size;
    }
  }
};

}  // namespace ompl::conduit::ofi
