// SPDX-License-Identifier: BSD-3-Clause
// What the programs of these tests share. Arguments are NAME=NUMBER; `openmp=1` chooses that executor.
#pragma once

#include <omnipgas/tasklet_openmp.h>
#include <omnipgas/tasklet.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

class Arguments {
 public:
  Arguments(int count, char** values) {
    for (int i = 1; i < count; ++i) {
      const std::string text = values[i];
      const std::size_t at = text.find('=');
      if (at != std::string::npos)
        numbers_[text.substr(0, at)] = std::strtoull(text.c_str() + at + 1, nullptr, 10);
    }
  }
  [[nodiscard]] uint64_t get(const std::string& name, uint64_t otherwise) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? otherwise : found->second;
  }

 private:
  std::map<std::string, uint64_t> numbers_;
};

inline void require(int code, const char* what) {
  if (code >= 0) return;
  std::fprintf(stderr, "rank %d: %s: %s: %s\n", ompl_rank(), what, ompl_tasklet_strerror(code),
               ompl_error_detail());
  std::exit(1);
}

inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "rank %d: does not hold: %s\n", ompl_rank(), what);
  std::exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

inline int run(const Arguments& arguments, ompl_tasklet_fn function, void* argument) {
  return arguments.get("openmp", 0) != 0 ? ompl_tasklet_run_openmp(function, argument)
                                         : ompl_tasklet_run(function, argument);
}

// Within a task: runs a callable as a task.
template <class Code>
int task(Code code, std::initializer_list<ompl_tasklet_dependence> dependences = {}, int priority = 0,
         const char* name = nullptr) {
  return omnipgas::tasklet::create(std::move(code), {dependences.begin(), dependences.size()}, priority,
                                   name);
}
