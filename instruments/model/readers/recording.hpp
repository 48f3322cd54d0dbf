// SPDX-License-Identifier: BSD-3-Clause
// Reads what `omni model trace` recorded (docs/reference/trace-format.md), straight from the mapped files.
//
// The time between calls is computation, the time in them the model's. Each thread of a rank has its own processor. Receives from any source get the message that they got. Collective operations
// become messages (collectives.hpp), nonblocking ones in the background; MPI_Pcontrol(1) and (0) mark the part whose time is
// asked for. A call that is not modelled takes the time it took, as computation, and is counted.
#pragma once

#include <memory>
#include <string>

#include "model/trace.hpp"

namespace ompl::model {

class Recording : public Trace {
 public:
  // A folder with a file for each rank. Throws InputError.
  explicit Recording(const std::string& folder);
  ~Recording() override;

  [[nodiscard]] uint32_t ranks() const override;
  [[nodiscard]] std::span<const uint32_t> further_threads() const override;
  [[nodiscard]] std::unique_ptr<Stream> open() const override;
  [[nodiscard]] std::unique_ptr<Stream> open_with(const Algorithms& algorithms) const override;
  [[nodiscard]] uint32_t sites() const override;
  [[nodiscard]] std::string where(uint32_t rank, uint32_t site) const override;
  [[nodiscard]] const Address* address(uint32_t site) const override;

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

[[nodiscard]] bool is_recording(const std::string& path);

}  // namespace ompl::model
