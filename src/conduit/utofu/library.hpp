// SPDX-License-Identifier: BSD-3-Clause
// uTofu, loaded when a network is needed and not before: the tree builds with its header alone and starts on machines
// without it.
#pragma once

#include <utofu.h>

namespace ompl::conduit::utofu {

// The functions of uTofu that we call. Once loaded it stays.
struct Library {
  decltype(&::utofu_get_onesided_tnis) get_onesided_tnis = nullptr;
  decltype(&::utofu_query_onesided_caps) query_onesided_caps = nullptr;
  decltype(&::utofu_create_vcq) create_vcq = nullptr;
  decltype(&::utofu_free_vcq) free_vcq = nullptr;
  decltype(&::utofu_query_vcq_id) query_vcq_id = nullptr;
  decltype(&::utofu_reg_mem) reg_mem = nullptr;
  decltype(&::utofu_reg_mem_with_stag) reg_mem_with_stag = nullptr;
  decltype(&::utofu_query_stadd) query_stadd = nullptr;
  decltype(&::utofu_dereg_mem) dereg_mem = nullptr;
  decltype(&::utofu_put) put = nullptr;
  decltype(&::utofu_put_piggyback) put_piggyback = nullptr;
  decltype(&::utofu_put_piggyback8) put_piggyback8 = nullptr;
  decltype(&::utofu_get) get = nullptr;
  decltype(&::utofu_armw8) armw8 = nullptr;
  decltype(&::utofu_poll_tcq) poll_tcq = nullptr;
  decltype(&::utofu_poll_mrq) poll_mrq = nullptr;

  // OMPL_ERR_UNSUPPORTED, with the loader's reason, if `file` cannot be loaded.
  int load(const char* file = "libtofucom.so");
};

// A return code in words.
const char* text_of(int code);

}  // namespace ompl::conduit::utofu
