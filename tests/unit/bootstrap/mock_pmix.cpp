// SPDX-License-Identifier: BSD-3-Clause
// A libpmix that does what a test tells it: well-behaved but for what `mock` says.
#include "mock_pmix.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

MockPmix mock;

namespace {

std::mutex mutex;
std::map<std::string, std::string> store;

// The result of the call of that name: hangs or fails if the test wants it.
pmix_status_t result_of(std::string_view call) {
  while (call == mock.hanging.load()) pause();
  return call == mock.failing.load() ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

pmix_value_t* allocate(pmix_data_type_t type) {
  auto* value = static_cast<pmix_value_t*>(std::calloc(1, sizeof(pmix_value_t)));
  value->type = type;
  return value;
}

pmix_value_t* number(uint32_t number) {
  pmix_value_t* value = allocate(PMIX_UINT32);
  value->data.uint32 = number;
  return value;
}

pmix_value_t* bytes(const std::string& bytes) {
  pmix_value_t* value = allocate(PMIX_BYTE_OBJECT);
  value->data.bo = {static_cast<char*>(std::malloc(bytes.size() + 1)), bytes.size()};
  std::memcpy(value->data.bo.bytes, bytes.data(), bytes.size());
  return value;
}

pmix_value_t* text(const char* text) {
  pmix_value_t* value = allocate(PMIX_STRING);
  value->data.string = strdup(text);
  return value;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Init(pmix_proc_t* proc, pmix_info_t*, size_t) {
  const pmix_status_t result = result_of("init");
  std::strncpy(proc->nspace, mock.name_space, PMIX_MAX_NSLEN);
  proc->rank = mock.rank;
  return result;
}

pmix_status_t PMIx_Finalize(const pmix_info_t*, size_t) { return result_of("finalize"); }
pmix_status_t PMIx_Abort(int, const char*, pmix_proc_t*, size_t) { return result_of("abort"); }
pmix_status_t PMIx_Commit() { return result_of("commit"); }

pmix_status_t PMIx_Put(pmix_scope_t, const char* key, pmix_value_t* value) {
  const pmix_status_t result = result_of("put");
  const std::lock_guard lock(mutex);
  store[key].assign(value->data.bo.bytes, value->data.bo.size);
  return result;
}

pmix_status_t PMIx_Fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t) {
  return result_of("fence");
}

pmix_status_t PMIx_Get(const pmix_proc_t*, const char* key, const pmix_info_t*, size_t,
                       pmix_value_t** value) {
  const std::string_view name = key;
  const pmix_status_t result = result_of(name == PMIX_JOB_SIZE ? "size" : "get");
  if (result != PMIX_SUCCESS) return result;
  const std::lock_guard lock(mutex);
  if (name == PMIX_JOB_SIZE) {
    *value = mock.size == 0 ? text("four") : number(mock.size);
  } else if (name == PMIX_HOSTNAME) {
    if (mock.host == nullptr) return PMIX_ERR_NOT_FOUND;
    *value = text(mock.host);
  } else {
    if (!store.contains(key)) return PMIX_ERR_NOT_FOUND;
    *value = mock.garbles ? number(7) : bytes(mock.cuts ? "" : store[key]);
  }
  return PMIX_SUCCESS;
}

const char* PMIx_Error_string(pmix_status_t) { return "the mock's error"; }
const char* PMIx_Get_version() { return "mock 1"; }

}  // extern "C"
