// SPDX-License-Identifier: BSD-3-Clause
// Static data of the executable, and of the libraries that belong to the program: the pages of their writable segments that stay
// writable once they are loaded.
//
// A library belongs to the program if the executable asks for it, itself or through others, and it was linked with OpenSHMEM
// itself, as oshcc does. What was preloaded or opened later is not looked at.
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/state.hpp"

namespace shmem_core {
namespace {

struct Pages {
  uintptr_t begin;
  uintptr_t end;
};

struct Object {
  std::string path;
  std::vector<std::string> needed;  // names of libraries
  std::vector<Pages> pages;
};

std::vector<Pages> pages_of(const dl_phdr_info& info) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::vector<Pages> pages;
  uintptr_t read_only_end = 0;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO)
      read_only_end = (info.dlpi_addr + part.p_vaddr + part.p_memsz) / page * page;
  }
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    uintptr_t begin = (info.dlpi_addr + part.p_vaddr) / page * page;
    const uintptr_t end = (info.dlpi_addr + part.p_vaddr + part.p_memsz + page - 1) / page * page;
    if (begin < read_only_end && read_only_end <= end) begin = read_only_end;
    if (begin < end) pages.push_back({begin, end});
  }
  return pages;
}

// The C library has relocated the address of the strings, or, on some machines, has not.
std::vector<std::string> needed_by(const dl_phdr_info& info) {
  std::vector<std::string> names;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* const entries =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    uintptr_t strings = 0;
    for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    if (strings == 0) continue;
    if (strings < info.dlpi_addr) strings += info.dlpi_addr;
    for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED)
        names.emplace_back(reinterpret_cast<const char*>(
            strings + entry->d_un.d_val));  // NOLINT(performance-no-int-to-ptr)
  }
  return names;
}

// The executable comes first.
int collect(dl_phdr_info* info, std::size_t /*size*/, void* result) {
  static_cast<std::vector<Object>*>(result)->push_back(
      {info->dlpi_name, needed_by(*info), pages_of(*info)});
  return 0;
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

const Object* find(const std::vector<Object>& objects, const std::string& name) {
  const auto found = std::ranges::find_if(
      objects, [&](const Object& object) { return name_of(object.path) == name_of(name); });
  return found == objects.end() ? nullptr : &*found;
}

// What an object needs, directly or not.
void add_needs(const std::vector<Object>& objects, const Object& of, std::set<const Object*>* all) {
  for (const std::string& name : of.needed) {
    const Object* const object = find(objects, name);
    if (object != nullptr && all->insert(object).second) add_needs(objects, *object, all);
  }
}

// This library.
const Object* own_library(const std::vector<Object>& objects) {
  static int of_this_library = 0;
  const auto place = reinterpret_cast<uintptr_t>(&of_this_library);
  for (const Object& object : objects)
    for (const Pages& pages : object.pages)
      if (place >= pages.begin && place < pages.end) return &object;
  return nullptr;
}

// In the order in which they were loaded, the same on every PE.
std::vector<Pages> find_pages() {
  std::vector<Object> objects;
  ::dl_iterate_phdr(&collect, &objects);
  if (objects.empty()) return {};
  std::set<const Object*> program;
  add_needs(objects, objects.front(), &program);
  const Object* const own = own_library(objects);
  std::vector<Pages> pages = objects.front().pages;
  for (const Object& object : objects) {
    const bool calls_us = std::ranges::any_of(
        object.needed, [&](const std::string& name) { return find(objects, name) == own; });
    if (own != nullptr && calls_us && program.contains(&object))
      pages.insert(pages.end(), object.pages.begin(), object.pages.end());
  }
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
    if (code == OMPL_ERR_MEMORY)
      return refuse(code, "no room for %zu bytes of static data: %s", length, ompl_error_detail());
    if (code != OMPL_OK) return code;
    state().regions.push_back({pages.begin, length, offset});
  }
  return OMPL_OK;
}

}  // namespace shmem_core
