// SPDX-License-Identifier: BSD-3-Clause
// How many endpoints the threads of a rank share, where a library lets its user choose (`omni endpoints`).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "adapter.hpp"

namespace bench {

// OMNI_ENDPOINTS of them, but no more than threads, which take them in turn; without it one for each thread.
template <class Endpoint>
class Endpoints {
 public:
  explicit Endpoints(const Setup& setup) {
    const char* text = std::getenv("OMNI_ENDPOINTS");
    const int count = text == nullptr ? setup.threads : std::clamp(std::atoi(text), 1, setup.threads);
    // Who asks for one is a program that does not know how many threads will come.
    shared_ = count < setup.threads || (text != nullptr && count == 1);
    all_ = std::vector<Endpoint>(static_cast<std::size_t>(count));
    for (int i = 0; i < setup.threads; ++i)
      of_thread_.push_back(&all_[static_cast<std::size_t>(i % count)]);
  }

  // Whether several threads may be at one of them at once.
  [[nodiscard]] bool shared() const { return shared_; }
  [[nodiscard]] int count() const { return static_cast<int>(all_.size()); }
  [[nodiscard]] std::string text() const {
    if (!shared_) return "one per thread";
    return count() == 1 ? "one for all threads" : std::to_string(count()) + " for all threads";
  }
  [[nodiscard]] Endpoint& of(int thread) const { return *of_thread_[static_cast<std::size_t>(thread)]; }
  [[nodiscard]] std::vector<Endpoint>& all() { return all_; }

 private:
  bool shared_ = false;
  std::vector<Endpoint> all_;
  std::vector<Endpoint*> of_thread_;
};

}  // namespace bench
