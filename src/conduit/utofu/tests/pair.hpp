// SPDX-License-Identifier: BSD-3-Clause
// Two VCQs of this process with registered memory, and how tests wait over them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>

#include "conduit/utofu/tests/emulator/emulator.h"
#include "conduit/utofu/tests/emulator/utofu.h"

namespace emulator::test {

// 64 KiB, aligned as registered memory must be.
struct alignas(256) Memory {
  std::array<uint64_t, 8192> words{};
};

class Vcq {
 public:
  explicit Vcq(utofu_tni_id_t tni, unsigned long flags = UTOFU_VCQ_FLAG_EXCLUSIVE) {
    EXPECT_EQ(utofu_create_vcq(tni, flags, &handle), UTOFU_SUCCESS);
    EXPECT_EQ(utofu_query_vcq_id(handle, &id), UTOFU_SUCCESS);
    EXPECT_EQ(utofu_reg_mem(handle, &memory, sizeof memory, 0, &stadd), UTOFU_SUCCESS);
  }
  ~Vcq() { EXPECT_EQ(utofu_free_vcq(handle), UTOFU_SUCCESS); }
  Vcq(const Vcq&) = delete;
  Vcq& operator=(const Vcq&) = delete;

  Memory memory;
  utofu_vcq_hdl_t handle = 0;
  utofu_vcq_id_t id = 0;
  utofu_stadd_t stadd = 0;
};

// The next notice, or error; UTOFU_ERR_NOT_FOUND after ten seconds.
inline int next_notice(Vcq& vcq, utofu_mrq_notice* notice) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(200);
  int code = UTOFU_ERR_NOT_FOUND;
  while (code == UTOFU_ERR_NOT_FOUND && std::chrono::steady_clock::now() < limit)
    code = utofu_poll_mrq(vcq.handle, 0, notice);
  return code;
}

// Calls one of uTofu's functions that post, until the answer is not BUSY.
template <class... Parameters>
int insist(Vcq& vcq, int (*post)(utofu_vcq_hdl_t, Parameters...),
           std::type_identity_t<Parameters>... arguments) {
  int code = post(vcq.handle, arguments...);
  while (code == UTOFU_ERR_BUSY) {
    void* done = nullptr;
    utofu_poll_tcq(vcq.handle, 0, &done);
    code = post(vcq.handle, arguments...);
  }
  return code;
}

// The settings of before come back at the end.
class Settings {
 public:
  Settings() { utofu_emulator_get(&before_); }
  ~Settings() {
    utofu_emulator_inject(0, 0);
    utofu_emulator_set(&before_);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  template <class Change>
  void change(Change&& how) const {
    utofu_emulator_settings now = before_;
    how(now);
    utofu_emulator_set(&now);
  }

 private:
  utofu_emulator_settings before_{};
};

}  // namespace emulator::test
