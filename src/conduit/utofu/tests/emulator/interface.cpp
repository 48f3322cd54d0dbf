// SPDX-License-Identifier: BSD-3-Clause
// uTofu's functions: each checks what it is given against uTofu's limits, says on standard error which one was broken, and
// answers with uTofu's code.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "device.hpp"

#define EXPORT [[gnu::visibility("default")]]

namespace emulator {
namespace {

template <class... Args>
int refuse(int code, fmt::format_string<Args...> text, Args&&... args) {
  fmt::print(stderr, "utofu emulator: {}\n", fmt::format(text, std::forward<Args>(args)...));
  return code;
}

constexpr unsigned long kCommandFlags =
    UTOFU_ONESIDED_FLAG_STRONG_ORDER | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE |
    UTOFU_ONESIDED_FLAG_CACHE_INJECTION | UTOFU_ONESIDED_FLAG_TCQ_NOTICE |
    UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;

struct Handle {
  std::shared_ptr<Vcq> vcq;
  std::optional<Vcq::Inside> inside;
};

int open(const char* function, utofu_vcq_hdl_t handle, Handle* out) {
  out->vcq = vcq_of(handle);
  if (out->vcq == nullptr)
    return refuse(UTOFU_ERR_INVALID_VCQ_HDL, "{}: {:#x} is no VCQ of this process", function, handle);
  out->inside.emplace(*out->vcq);
  return UTOFU_SUCCESS;
}

int check_steering(const char* function, const char* whose, utofu_stadd_t stadd, const SharedVcq& vcq,
                   Steering* out) {
  if (!out->parse(stadd))
    return refuse(UTOFU_ERR_INVALID_STADD, "{}: {:#x} is no steering address", function, stadd);
  if (!out->is_of(vcq))
    return refuse(
        UTOFU_ERR_INVALID_STADD,
        "{}: the {} steering address is of another VCQ; they are per VCQ: register the memory "
        "with each",
        function, whose);
  out->generation = vcq.generation;
  return UTOFU_SUCCESS;
}

// What all commands have. Those without local memory have a `local` of 0.
int post(const char* function, utofu_vcq_hdl_t handle, utofu_vcq_id_t to, utofu_stadd_t local,
         utofu_stadd_t remote, Command command) {
  Handle own;
  int code = open(function, handle, &own);
  if (code != UTOFU_SUCCESS) return code;
  command.to = find(to);
  if (command.to == nullptr)
    return refuse(UTOFU_ERR_INVALID_VCQ_ID, "{}: {:#x} is no VCQ id", function, to);
  if (command.length == 0 || command.length > kMaxPut)
    return refuse(UTOFU_ERR_INVALID_SIZE, "{}: {} bytes; 1 to {} can be moved at once", function,
                  command.length, kMaxPut);
  if (command.edata > kMaxEdata)
    return refuse(UTOFU_ERR_INVALID_EDATA, "{}: edata {:#x}; a notice carries one byte", function,
                  command.edata);
  if ((command.flags & ~kCommandFlags) != 0)
    return refuse(UTOFU_ERR_INVALID_FLAGS, "{}: the emulator knows no flags {:#x}", function,
                  command.flags & ~kCommandFlags);
  code = check_steering(function, "remote", remote, *command.to, &command.remote);
  if (code == UTOFU_SUCCESS && local != 0)
    code = check_steering(function, "local", local, own.vcq->shared(), &command.local);
  if (code != UTOFU_SUCCESS) return code;
  command.local_stadd = local;
  command.remote_stadd = remote;
  return own.vcq->post(command);
}

int post_piggyback(const char* function, utofu_vcq_hdl_t handle, utofu_vcq_id_t to, const void* data,
                   utofu_stadd_t remote, std::size_t length, std::size_t most, uint64_t edata,
                   unsigned long flags, void* cbdata) {
  if (length == 0 || length > most)
    return refuse(UTOFU_ERR_INVALID_SIZE, "{}: {} bytes; 1 to {} travel in a command", function, length,
                  most);
  Command command{.inlined = true, .length = length, .edata = edata, .flags = flags, .cbdata = cbdata};
  std::memcpy(command.data.data(), data, length);
  return post(function, handle, to, 0, remote, command);
}

// `op` as utofu_armw_op has it; 0 stands for compare and swap.
int post_atomic(const char* function, std::size_t length, utofu_vcq_hdl_t handle, utofu_vcq_id_t to,
                int op, uint64_t value, uint64_t compare, utofu_stadd_t remote, uint64_t edata,
                unsigned long flags, void* cbdata) {
  if (op < 0 || op > UTOFU_ARMW_OP_OR)
    return refuse(UTOFU_ERR_INVALID_OP, "{}: no operation {}", function, op);
  if (remote % length != 0)
    return refuse(UTOFU_ERR_INVALID_STADD, "{}: the word is not aligned to its {} bytes", function,
                  length);
  return post(function, handle, to, 0, remote,
              {.kind = Kind::atomic,
               .length = length,
               .op = op,
               .value = value,
               .compare = compare,
               .edata = edata,
               .flags = flags,
               .cbdata = cbdata});
}

// Compare and swap has functions of its own.
int armw(utofu_armw_op op) { return op == 0 ? -1 : static_cast<int>(op); }

int register_memory(const char* function, utofu_vcq_hdl_t handle, void* address, std::size_t size,
                    std::optional<unsigned> stag, unsigned long flags, utofu_stadd_t* stadd) {
  Handle own;
  if (const int code = open(function, handle, &own); code != UTOFU_SUCCESS) return code;
  if (reinterpret_cast<uintptr_t>(address) % kAlignment != 0)
    return refuse(UTOFU_ERR_INVALID_ADDRESS, "{}: {} is not aligned to {} bytes", function, address,
                  kAlignment);
  if (size == 0 || size >> Steering::kOffsetBits != 0)
    return refuse(UTOFU_ERR_INVALID_SIZE, "{}: {} bytes cannot be registered", function, size);
  if (stag && *stag >= kReservedStags)
    return refuse(UTOFU_ERR_INVALID_STAG, "{}: STag {}; 0 to {} are for users", function, *stag,
                  kReservedStags - 1);
  SharedVcq& vcq = own.vcq->shared();
  const std::lock_guard lock(vcq.mutex);
  unsigned place = stag.value_or(kReservedStags);
  if (stag && vcq.registrations[place].size != 0)
    return refuse(UTOFU_ERR_USED, "{}: STag {} is in use on this VCQ", function, place);
  while (!stag && place < kStags && vcq.registrations[place].size != 0) ++place;
  if (place == kStags) return UTOFU_ERR_FULL;
  vcq.registrations[place] = {.address = reinterpret_cast<uint64_t>(address),
                              .size = size,
                              .read_only = (flags & UTOFU_REG_MEM_FLAG_READ_ONLY) != 0};
  *stadd = Steering{vcq.node, vcq.index, place, 0, 0}.pack();
  return UTOFU_SUCCESS;
}

}  // namespace
}  // namespace emulator

using namespace emulator;  // NOLINT(google-build-using-namespace)

extern "C" {

EXPORT int utofu_get_onesided_tnis(utofu_tni_id_t** tni_ids, size_t* num_tnis) {
  auto* const list = static_cast<utofu_tni_id_t*>(std::calloc(kTnis, sizeof(utofu_tni_id_t)));
  if (list == nullptr) return UTOFU_ERR_OUT_OF_MEMORY;
  for (unsigned i = 0; i < kTnis; ++i) list[i] = static_cast<utofu_tni_id_t>(i);
  *tni_ids = list;
  *num_tnis = kTnis;
  return UTOFU_SUCCESS;
}

EXPORT int utofu_query_onesided_caps(utofu_tni_id_t tni_id, utofu_onesided_caps** tni_caps) {
  static utofu_onesided_caps caps = {
      .flags = UTOFU_ONESIDED_CAP_FLAG_ARMW,
      .armw_ops = UTOFU_ONESIDED_CAP_ARMW_OP_CSWAP | UTOFU_ONESIDED_CAP_ARMW_OP_SWAP |
                  UTOFU_ONESIDED_CAP_ARMW_OP_ADD | UTOFU_ONESIDED_CAP_ARMW_OP_XOR |
                  UTOFU_ONESIDED_CAP_ARMW_OP_AND | UTOFU_ONESIDED_CAP_ARMW_OP_OR,
      .num_cmp_ids = kComponents,
      .num_reserved_stags = kReservedStags,
      .cache_line_size = 256,
      .stag_address_alignment = kAlignment,
      .max_toq_desc_size = 64,
      .max_putget_size = kMaxPut,
      .max_piggyback_size = kMaxPiggyback,
      .max_edata_size = 1,
      .max_mtu = 1920,
      .max_gap = 255};
  if (tni_id >= kTnis)
    return refuse(UTOFU_ERR_INVALID_TNI_ID, "utofu_query_onesided_caps: no TNI {}", tni_id);
  *tni_caps = &caps;
  return UTOFU_SUCCESS;
}

EXPORT int utofu_create_vcq(utofu_tni_id_t tni_id, unsigned long flags, utofu_vcq_hdl_t* vcq_hdl) {
  if (tni_id >= kTnis) return refuse(UTOFU_ERR_INVALID_TNI_ID, "utofu_create_vcq: no TNI {}", tni_id);
  if ((flags & ~(UTOFU_VCQ_FLAG_THREAD_SAFE | UTOFU_VCQ_FLAG_EXCLUSIVE)) != 0)
    return refuse(UTOFU_ERR_INVALID_FLAGS, "utofu_create_vcq: the emulator knows no flags {:#x}",
                  flags);
  return make_vcq(tni_id, -1, flags, vcq_hdl);
}

EXPORT int utofu_create_vcq_with_cmp_id(utofu_tni_id_t tni_id, utofu_cmp_id_t cmp_id,
                                        unsigned long flags, utofu_vcq_hdl_t* vcq_hdl) {
  if (tni_id >= kTnis)
    return refuse(UTOFU_ERR_INVALID_TNI_ID, "utofu_create_vcq_with_cmp_id: no TNI {}", tni_id);
  if (cmp_id >= kComponents)
    return refuse(UTOFU_ERR_INVALID_CMP_ID, "utofu_create_vcq_with_cmp_id: component {}; there are {}",
                  cmp_id, kComponents);
  return make_vcq(tni_id, cmp_id, flags, vcq_hdl);
}

EXPORT int utofu_free_vcq(utofu_vcq_hdl_t vcq_hdl) {
  {
    Handle own;
    if (const int code = open("utofu_free_vcq", vcq_hdl, &own); code != UTOFU_SUCCESS) return code;
  }
  drop_vcq(vcq_hdl);
  return UTOFU_SUCCESS;
}

EXPORT int utofu_query_vcq_id(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t* vcq_id) {
  Handle own;
  if (const int code = open("utofu_query_vcq_id", vcq_hdl, &own); code != UTOFU_SUCCESS) return code;
  *vcq_id = own.vcq->shared().id();
  return UTOFU_SUCCESS;
}

EXPORT int utofu_reg_mem(utofu_vcq_hdl_t vcq_hdl, void* addr, size_t size, unsigned long flags,
                         utofu_stadd_t* stadd) {
  return register_memory("utofu_reg_mem", vcq_hdl, addr, size, std::nullopt, flags, stadd);
}

EXPORT int utofu_reg_mem_with_stag(utofu_vcq_hdl_t vcq_hdl, void* addr, size_t size, unsigned stag,
                                   unsigned long flags, utofu_stadd_t* stadd) {
  return register_memory("utofu_reg_mem_with_stag", vcq_hdl, addr, size, stag, flags, stadd);
}

EXPORT int utofu_query_stadd(utofu_vcq_id_t vcq_id, unsigned stag, utofu_stadd_t* stadd) {
  if (stag >= kReservedStags)
    return refuse(UTOFU_ERR_INVALID_STAG, "utofu_query_stadd: STag {}; 0 to {} are for users", stag,
                  kReservedStags - 1);
  const SharedVcq* const vcq = find(vcq_id);
  if (vcq == nullptr)
    return refuse(UTOFU_ERR_INVALID_VCQ_ID, "utofu_query_stadd: {:#x} is no VCQ id", vcq_id);
  *stadd = Steering{vcq->node, vcq->index, stag, 0, 0}.pack();
  return UTOFU_SUCCESS;
}

EXPORT int utofu_dereg_mem(utofu_vcq_hdl_t vcq_hdl, utofu_stadd_t stadd, unsigned long /*flags*/) {
  Handle own;
  int code = open("utofu_dereg_mem", vcq_hdl, &own);
  if (code != UTOFU_SUCCESS) return code;
  SharedVcq& vcq = own.vcq->shared();
  Steering at{};
  code = check_steering("utofu_dereg_mem", "given", stadd, vcq, &at);
  if (code != UTOFU_SUCCESS) return code;
  const std::lock_guard lock(vcq.mutex);
  if (vcq.registrations[at.stag].size == 0 || at.offset != 0)
    return refuse(UTOFU_ERR_INVALID_STADD, "utofu_dereg_mem: {:#x} is not registered", stadd);
  vcq.registrations[at.stag] = {};
  return UTOFU_SUCCESS;
}

EXPORT int utofu_put(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id, utofu_stadd_t lcl_stadd,
                     utofu_stadd_t rmt_stadd, size_t length, uint64_t edata, unsigned long flags,
                     void* cbdata) {
  return post("utofu_put", vcq_hdl, rmt_vcq_id, lcl_stadd, rmt_stadd,
              {.length = length, .edata = edata, .flags = flags, .cbdata = cbdata});
}

EXPORT int utofu_put_piggyback(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id, void* lcl_data,
                               utofu_stadd_t rmt_stadd, size_t length, uint64_t edata,
                               unsigned long flags, void* cbdata) {
  return post_piggyback("utofu_put_piggyback", vcq_hdl, rmt_vcq_id, lcl_data, rmt_stadd, length,
                        kMaxPiggyback, edata, flags, cbdata);
}

EXPORT int utofu_put_piggyback8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id, uint64_t lcl_data,
                                utofu_stadd_t rmt_stadd, size_t length, uint64_t edata,
                                unsigned long flags, void* cbdata) {
  return post_piggyback("utofu_put_piggyback8", vcq_hdl, rmt_vcq_id, &lcl_data, rmt_stadd, length,
                        sizeof lcl_data, edata, flags, cbdata);
}

EXPORT int utofu_get(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id, utofu_stadd_t lcl_stadd,
                     utofu_stadd_t rmt_stadd, size_t length, uint64_t edata, unsigned long flags,
                     void* cbdata) {
  return post("utofu_get", vcq_hdl, rmt_vcq_id, lcl_stadd, rmt_stadd,
              {.kind = Kind::get, .length = length, .edata = edata, .flags = flags, .cbdata = cbdata});
}

EXPORT int utofu_armw4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id, utofu_armw_op armw_op,
                       uint32_t op_value, utofu_stadd_t rmt_stadd, uint64_t edata, unsigned long flags,
                       void* cbdata) {
  return post_atomic("utofu_armw4", 4, vcq_hdl, rmt_vcq_id, armw(armw_op), op_value, 0, rmt_stadd,
                     edata, flags, cbdata);
}

EXPORT int utofu_armw8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id, utofu_armw_op armw_op,
                       uint64_t op_value, utofu_stadd_t rmt_stadd, uint64_t edata, unsigned long flags,
                       void* cbdata) {
  return post_atomic("utofu_armw8", 8, vcq_hdl, rmt_vcq_id, armw(armw_op), op_value, 0, rmt_stadd,
                     edata, flags, cbdata);
}

EXPORT int utofu_cswap4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id, uint32_t old_value,
                        uint32_t new_value, utofu_stadd_t rmt_stadd, uint64_t edata,
                        unsigned long flags, void* cbdata) {
  return post_atomic("utofu_cswap4", 4, vcq_hdl, rmt_vcq_id, 0, new_value, old_value, rmt_stadd, edata,
                     flags, cbdata);
}

EXPORT int utofu_cswap8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id, uint64_t old_value,
                        uint64_t new_value, utofu_stadd_t rmt_stadd, uint64_t edata,
                        unsigned long flags, void* cbdata) {
  return post_atomic("utofu_cswap8", 8, vcq_hdl, rmt_vcq_id, 0, new_value, old_value, rmt_stadd, edata,
                     flags, cbdata);
}

EXPORT int utofu_poll_tcq(utofu_vcq_hdl_t vcq_hdl, unsigned long /*flags*/, void** cbdata) {
  Handle own;
  const int code = open("utofu_poll_tcq", vcq_hdl, &own);
  return code != UTOFU_SUCCESS ? code : own.vcq->poll_tcq(cbdata);
}

EXPORT int utofu_poll_mrq(utofu_vcq_hdl_t vcq_hdl, unsigned long /*flags*/, utofu_mrq_notice* notice) {
  Handle own;
  const int code = open("utofu_poll_mrq", vcq_hdl, &own);
  return code != UTOFU_SUCCESS ? code : own.vcq->poll_mrq(notice);
}

EXPORT void utofu_query_utofu_version(int* major_ver, int* minor_ver) {
  *major_ver = 1;
  *minor_ver = 0;
}

}  // extern "C"
