// SPDX-License-Identifier: BSD-3-Clause
// What the program does on signals of the system is the program's: libraries that we load must not change it.
#pragma once

#include <array>
#include <csignal>

namespace ompl::arch {

// Restores every signal's action at the end of its life.
class KeptSignals {
 public:
  KeptSignals() {
    for (int number = 1; number < kCount; ++number)
      ::sigaction(number, nullptr, &actions_.at(index(number)));
  }
  ~KeptSignals() {
    for (int number = 1; number < kCount; ++number)
      ::sigaction(number, &actions_.at(index(number)), nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr int kCount = 32;  // the classic ones
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  std::array<struct sigaction, kCount> actions_{};
};

}  // namespace ompl::arch
