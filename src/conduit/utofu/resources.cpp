// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/utofu/resources.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace ompl::conduit::utofu {

Vcq::~Vcq() {
  if (handle_ != 0) library_.free_vcq(handle_);
}

int Vcq::open(const std::vector<utofu_tni_id_t>& tnis, std::size_t first) {
  int code = UTOFU_ERR_FULL;
  for (const unsigned long alone : {UTOFU_VCQ_FLAG_EXCLUSIVE, 0UL}) {
    for (std::size_t i = 0; i < tnis.size(); ++i) {
      tni_ = tnis[(first + i) % tnis.size()];
      code = library_.create_vcq(tni_, UTOFU_VCQ_FLAG_THREAD_SAFE | alone, &handle_);
      if (code == UTOFU_SUCCESS) code = library_.query_vcq_id(handle_, &id_);
      if (code == UTOFU_SUCCESS) return OMPL_OK;
    }
  }
  handle_ = 0;
  return fail(OMPL_ERR_MEMORY,
              "no virtual control queue on any of {} TNIs (code {}: {}); ask for fewer endpoints "
              "(OMPL_ENDPOINTS) or run fewer ranks on the node",
              tnis.size(), code, text_of(code));
}

int Registered::open(const Vcq& vcq, const void* memory, std::size_t length,
                     std::optional<unsigned> stag) {
  skipped_ = reinterpret_cast<uintptr_t>(memory) % kAlignment;
  auto* const begin = static_cast<std::byte*>(const_cast<void*>(memory)) - skipped_;
  const std::size_t whole = length + skipped_;
  const Library& library = vcq.library();
  const int code = stag ? library.reg_mem_with_stag(vcq.handle(), begin, whole, *stag, 0, &stadd_)
                        : library.reg_mem(vcq.handle(), begin, whole, 0, &stadd_);
  if (code == UTOFU_SUCCESS) vcq_ = &vcq;
  return code;
}

void Registered::drop() {
  if (vcq_ != nullptr) vcq_->library().dereg_mem(vcq_->handle(), stadd_, 0);
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, size_);
}

int Pages::open(std::size_t length) {
  void* const memory =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail(OMPL_ERR_MEMORY, "no {} bytes for an endpoint: {}", length, error_text(errno));
  data_ = static_cast<std::byte*>(memory);
  size_ = length;
  return OMPL_OK;
}

}  // namespace ompl::conduit::utofu
