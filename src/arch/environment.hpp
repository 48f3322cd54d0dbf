// SPDX-License-Identifier: BSD-3-Clause
// Some libraries can be told what to do only by the environment, when they are loaded.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <mutex>
#include <string_view>
#include <vector>

namespace ompl::arch {

// While it lives the process has these variables too, "NAME=value" (literals), but for those that are set already.
// Other threads may read the environment meanwhile, from `all`, which therefore stays; they may not change it. One of
// them lives at a time.
class AddedVariables {
 public:
  AddedVariables(std::vector<char*>* all, std::initializer_list<const char*> added)
      : lock_(one_at_a_time()), kept_(environ) {
    all->clear();
    for (char** entry = kept_; entry != nullptr && *entry != nullptr; ++entry) all->push_back(*entry);
    for (const char* variable : added) {
      const std::string_view text = variable;
      const std::string_view name = text.substr(0, text.find('=') + 1);
      if (std::ranges::none_of(*all, [name](std::string_view set) { return set.starts_with(name); }))
        all->push_back(const_cast<char*>(variable));
    }
    all->push_back(nullptr);
    environ = all->data();
  }
  ~AddedVariables() { environ = kept_; }
  AddedVariables(const AddedVariables&) = delete;
  AddedVariables& operator=(const AddedVariables&) = delete;

 private:
  static std::mutex& one_at_a_time() {
    static std::mutex mutex;
    return mutex;
  }
  const std::lock_guard<std::mutex> lock_;
  char** const kept_;
};

}  // namespace ompl::arch
