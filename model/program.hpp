// SPDX-License-Identifier: BSD-3-Clause
// Operations in memory, in a few bytes each: numbers of variable length, peers relative to the rank, requests
// counted back from the last.
#pragma once

#include <string>
#include <vector>

#include "model/trace.hpp"

namespace ompl::model {

class Program : public Trace {
 public:
  explicit Program(uint32_t ranks) : code_(ranks), posted_(ranks) {}

  // Appends to a rank. Throws InputError for a request that was not posted.
  void add(uint32_t rank, const Op& op);
  // No more comes for this rank.
  void finish(uint32_t rank) { code_[rank].shrink_to_fit(); }
  void name_sites(std::vector<std::string> names) { sites_ = std::move(names); }

  [[nodiscard]] uint32_t ranks() const override { return static_cast<uint32_t>(code_.size()); }
  [[nodiscard]] std::unique_ptr<Stream> open() const override;
  [[nodiscard]] uint32_t sites() const override { return static_cast<uint32_t>(sites_.size()); }
  // The site's name; without names the number is taken for a line of the file.
  [[nodiscard]] std::string where(uint32_t rank, uint32_t site) const override;

 private:
  friend class ProgramStream;
  std::vector<std::vector<uint8_t>> code_;
  std::vector<uint64_t> posted_;  // requests so far
  std::vector<std::string> sites_;
};

}  // namespace ompl::model
