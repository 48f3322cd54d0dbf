// SPDX-License-Identifier: BSD-3-Clause
// Operations in memory, in a few bytes each: numbers of variable length, peers relative to the rank, sites to the last
// one, requests counted back from the last.
#pragma once

#include <string>
#include <vector>

#include "model/trace.hpp"

namespace ompl::model {

class Program : public Trace {
 public:
  explicit Program(uint32_t ranks) : code_(ranks), posted_(ranks), site_(ranks), requests_(ranks) {}

  // One more of this rank; its number.
  uint32_t add_thread(uint32_t rank);
  // Appends to a thread. Throws InputError for a request that was not posted.
  void add(uint32_t thread, const Op& op);
  // No more comes for this thread.
  void finish(uint32_t thread) { code_[thread].shrink_to_fit(); }
  void name_sites(std::vector<std::string> names) { sites_ = std::move(names); }

  [[nodiscard]] uint32_t ranks() const override {
    return static_cast<uint32_t>(code_.size() - further_.size());
  }
  [[nodiscard]] std::span<const uint32_t> further_threads() const override { return further_; }
  [[nodiscard]] std::unique_ptr<Stream> open() const override;
  [[nodiscard]] uint32_t sites() const override { return static_cast<uint32_t>(sites_.size()); }
  // The site's name; without names the number is taken for a line of the file.
  [[nodiscard]] std::string where(uint32_t rank, uint32_t site) const override;

 private:
  friend class ProgramStream;
  std::vector<uint32_t> further_;           // ranks of the threads behind the first of each
  std::vector<std::vector<uint8_t>> code_;  // by thread, like the others
  std::vector<uint64_t> posted_;            // requests so far
  std::vector<uint32_t> site_;              // the last one
  std::vector<BranchRequests> requests_;
  std::vector<std::string> sites_;
};

}  // namespace ompl::model
