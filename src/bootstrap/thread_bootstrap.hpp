// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of one process, for tests: a store object shared by the Bootstraps of a job.
#pragma once

#include <chrono>
#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace ompl::bootstrap {

struct ThreadStore;

// Any thread may call any member function.
class ThreadJob {
 public:
  // `node_map` as Bootstrap::node_map() shall return it; `limit` bounds every fence.
  explicit ThreadJob(uint32_t size, std::vector<uint32_t> node_map = {},
                     std::chrono::milliseconds limit = std::chrono::seconds(60));

  // The Bootstrap of one rank. Its finish() returns when all ranks have called theirs, one aborted, or the
  // limit passed. It may outlive this object. Call once per rank.
  [[nodiscard]] std::unique_ptr<Bootstrap> join(uint32_t rank) const;

  // Why a rank called abort(), the first one; "" if none did. From then on all fences fail.
  [[nodiscard]] std::string aborted() const;
  // How many ranks called finish().
  [[nodiscard]] uint32_t finished() const;

 private:
  std::shared_ptr<ThreadStore> store_;
};

}  // namespace ompl::bootstrap
