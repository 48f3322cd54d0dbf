// SPDX-License-Identifier: BSD-3-Clause
// The executable's static data: the pages of its writable segments that stay writable once it is loaded.
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include "core/state.hpp"

namespace shmem_core {
namespace {

struct Pages {
  uintptr_t begin;
  uintptr_t end;
};

// The executable is what the list begins with.
int collect_pages(dl_phdr_info* info, std::size_t /*size*/, void* result) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t read_only_end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO)
      read_only_end = (info->dlpi_addr + part.p_vaddr + part.p_memsz) / page * page;
  }
  auto& pages = *static_cast<std::vector<Pages>*>(result);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    uintptr_t begin = (info->dlpi_addr + part.p_vaddr) / page * page;
    const uintptr_t end = (info->dlpi_addr + part.p_vaddr + part.p_memsz + page - 1) / page * page;
    if (begin < read_only_end && read_only_end <= end) begin = read_only_end;
    if (begin < end) pages.push_back({begin, end});
  }
  return 1;
}

std::vector<Pages> find_pages() {
  std::vector<Pages> pages;
  ::dl_iterate_phdr(&collect_pages, &pages);
  return pages;
}

}  // namespace

std::size_t static_data_length() {
  std::size_t length = 0;
  for (const Pages& pages : find_pages()) length += pages.end - pages.begin;
  return length;
}

int adopt_static_data() {
  for (const Pages& pages : find_pages()) {
    const std::size_t length = pages.end - pages.begin;
    uint64_t offset = 0;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const int code = ompl_adopt(reinterpret_cast<void*>(pages.begin), length, &offset);
    if (code != OMPL_OK) return code;
    state().regions.push_back({pages.begin, length, offset});
  }
  return OMPL_OK;
}

}  // namespace shmem_core
