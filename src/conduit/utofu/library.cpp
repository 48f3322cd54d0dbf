// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/utofu/library.hpp"

#include <dlfcn.h>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"
#include "util/status.hpp"

namespace ompl::conduit::utofu {

int Library::load(const char* file) {
  std::string why;
  void* const handle = arch::open_library(file, &why);
  if (handle == nullptr) {
    return fail(OMPL_ERR_UNSUPPORTED,
                "uTofu cannot be loaded ({}): this machine has no Tofu interconnect, or the folder of "
                "libtofucom.so is missing in LD_LIBRARY_PATH",
                why);
  }
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!arch::find_symbol(handle, name, function)) missing = name;
  };
  find("utofu_get_onesided_tnis", &get_onesided_tnis);
  find("utofu_query_onesided_caps", &query_onesided_caps);
  find("utofu_create_vcq", &create_vcq);
  find("utofu_free_vcq", &free_vcq);
  find("utofu_query_vcq_id", &query_vcq_id);
  find("utofu_reg_mem", &reg_mem);
  find("utofu_reg_mem_with_stag", &reg_mem_with_stag);
  find("utofu_query_stadd", &query_stadd);
  find("utofu_dereg_mem", &dereg_mem);
  find("utofu_put", &put);
  find("utofu_put_piggyback", &put_piggyback);
  find("utofu_put_piggyback8", &put_piggyback8);
  find("utofu_get", &get);
  find("utofu_armw8", &armw8);
  find("utofu_poll_tcq", &poll_tcq);
  find("utofu_poll_mrq", &poll_mrq);
  if (missing == nullptr) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "{} has no {}: it is not uTofu's library", file, missing);
}

const char* text_of(int code) {
  switch (code) {
    case UTOFU_ERR_FULL:
      return "no virtual control queue is left (UTOFU_ERR_FULL)";
    case UTOFU_ERR_MRQ_PEER:
      return "the other side does not answer (UTOFU_ERR_MRQ_PEER)";
    case UTOFU_ERR_MRQ_RMT_MEMORY:
    case UTOFU_ERR_MRQ_RMT_STADD:
    case UTOFU_ERR_MRQ_RMT_LENGTH:
      return "memory of the other side is not registered (UTOFU_ERR_MRQ_RMT_*)";
    case UTOFU_ERR_TCQ_MEMORY:
    case UTOFU_ERR_TCQ_STADD:
    case UTOFU_ERR_TCQ_LENGTH:
      return "memory of this side is not registered (UTOFU_ERR_TCQ_*)";
    case UTOFU_ERR_OUT_OF_RESOURCE:
    case UTOFU_ERR_OUT_OF_MEMORY:
      return "the interconnect has no resources left (UTOFU_ERR_OUT_OF_*)";
    default:
      return "see the return codes in utofu.h";
  }
}

}  // namespace ompl::conduit::utofu
