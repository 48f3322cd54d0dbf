// SPDX-License-Identifier: BSD-3-Clause
// How programs over GPI-2 (GASPI) start, share memory, and end. Every function throws std::runtime_error.
#pragma once

#include <GASPI.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "harness/gathering.hpp"

namespace bench {

inline void check(gaspi_return_t result, const char* what) {
  if (result == GASPI_SUCCESS) return;
  gaspi_string_t text = nullptr;
  const bool known = gaspi_print_error(result, &text) == GASPI_SUCCESS && text != nullptr;
  throw std::runtime_error(std::string(what) + ": " + (known ? text : "unknown error"));
}

// All ranks call constructor, segment() and destructor.
class GaspiProcess {
 public:
  static constexpr gaspi_segment_id_t kSegment = 0;  // the only one

  GaspiProcess(const Setup& setup, int queues) {
    check(gaspi_config_get(&config_), "gaspi_config_get");
    as_started_by_gaspi_run(setup.control + ".machines", Gathering(setup));
    config_.queue_num = static_cast<gaspi_number_t>(queues);
    check(gaspi_config_set(config_), "gaspi_config_set");
    check(gaspi_proc_init(kLimitMs), "gaspi_proc_init");
    check(gaspi_proc_rank(&rank_), "gaspi_proc_rank");
    check(gaspi_proc_num(&ranks_), "gaspi_proc_num");
  }
  ~GaspiProcess() {
    gaspi_barrier(GASPI_GROUP_ALL, kLimitMs);
    gaspi_proc_term(kLimitMs);
  }
  GaspiProcess(const GaspiProcess&) = delete;
  GaspiProcess& operator=(const GaspiProcess&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const char* device() const {
    return config_.network == GASPI_ETHERNET ? "tcp" : "InfiniBand or another device";
  }
  static std::string version() {
    float number = 0;
    check(gaspi_version(&number), "gaspi_version");
    return "GPI-2, version " + std::to_string(number);
  }
  // Memory of that many bytes, zero, that every rank may write.
  static std::byte* segment(std::size_t bytes) {
    gaspi_pointer_t memory = nullptr;
    check(gaspi_segment_create(kSegment, bytes, GASPI_GROUP_ALL, kLimitMs, GASPI_MEM_INITIALIZED),
          "gaspi_segment_create");
    check(gaspi_segment_ptr(kSegment, &memory), "gaspi_segment_ptr");
    check(gaspi_barrier(GASPI_GROUP_ALL, kLimitMs), "gaspi_barrier");
    return static_cast<std::byte*>(memory);
  }
  // Once the queue has room.
  template <class Call>
  static void post(gaspi_queue_id_t queue, const char* what, Call call) {
    gaspi_return_t result = call();
    while (result == GASPI_QUEUE_FULL) {
      check(gaspi_wait(queue, GASPI_BLOCK), "gaspi_wait");
      result = call();
    }
    check(result, what);
  }

 private:
  static constexpr gaspi_timeout_t kLimitMs = 20000;

  // gaspi_run's variables, if another launcher started the ranks: it needs ssh, and one machine needs none.
  static void as_started_by_gaspi_run(const std::string& machines, const Gathering& ranks) {
    if (ranks.rank() == 0) {
      std::FILE* const file = std::fopen(machines.c_str(), "w");
      if (file == nullptr) throw std::runtime_error("cannot write " + machines);
      for (int i = 0; i < ranks.ranks(); ++i) std::fputs("localhost\n", file);
      std::fclose(file);
    }
    (void)ranks.all(ranks.rank());
    const std::string number = std::to_string(ranks.rank());
    setenv("GASPI_RANK", number.c_str(), 1);
    setenv("GASPI_SOCKET", number.c_str(), 1);
    setenv("GASPI_NRANKS", std::to_string(ranks.ranks()).c_str(), 1);
    setenv("GASPI_MFILE", machines.c_str(), 1);
    setenv("GASPI_MASTER", "localhost", 1);
  }

  gaspi_config_t config_;
  gaspi_rank_t rank_ = 0, ranks_ = 0;
};

}  // namespace bench
