// SPDX-License-Identifier: BSD-3-Clause
#include "tracer.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "memory.hpp"

namespace ompl::trace {

constinit OMPL_TRACE_TLS thread_local Local ompl_trace_local{};

constinit Tracer tracer;

namespace {

pthread_key_t thread_end;

void end_of_thread(void* thread) {
  ompl_trace_local.thread = nullptr;
  ompl_trace_local.depth = 1;  // what other destructors call is not recorded
  Tracer::remove_thread(static_cast<Thread*>(thread));
}

// A child of fork has no MPI, and must not write into its parent's file.
void in_child() { tracer.stop(); }

uint64_t hash(const char* text) {
  uint64_t value = 0xcbf29ce484222325U;
  for (; *text != '\0'; ++text) value = (value ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
  return value;
}

}  // namespace

bool Tracer::start(const char* folder, const FileHeader& header) {
  sites_ = map_zeroed<Defined>(kDefined);
  texts_ = map_zeroed<Defined>(kDefined);
  if (sites_ == nullptr || texts_ == nullptr || !requests.create(header.thread_level == 3) ||
      pthread_key_create(&thread_end, end_of_thread) != 0) {
    std::fprintf(stderr, "ompl trace: no memory for the tracer's tables; nothing is recorded\n");
    return false;
  }
  if (!file.create(folder, header, clock)) return false;
  pthread_atfork(nullptr, nullptr, in_child);
  definitions.open(file, kDefinitions);
  recording_ = true;
  return true;
}

FileHeader Tracer::header_of_process(uint32_t rank, uint32_t ranks) const {
  FileHeader header = header_of(rank, ranks);
  header.process = static_cast<uint64_t>(getpid());
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  header.wall = static_cast<uint64_t>(wall.tv_sec) * 1000000000U + static_cast<uint64_t>(wall.tv_nsec);
  std::strncpy(header.clock_name, clock.name(), sizeof header.clock_name - 1);
  gethostname(header.host, sizeof header.host - 1);
  if (readlink("/proc/self/exe", header.program, sizeof header.program - 1) < 0)
    header.program[0] = '\0';
  return header;
}

ClockPoint Tracer::clock_point() const {
  const Clock::Pair now = clock.pair();
  return {clock.ns(now.ticks), now.ns, now.uncertainty, 1};
}

bool Tracer::record_init(uint64_t begin, uint64_t end, void* caller) {
  Thread* const thread = add_thread();
  if (thread == nullptr) return false;
  Record record{};
  record.kind = Kind::kInit;
  record.peer = kNoPeer;
  record.comm = 1;
  record.bytes = file.header().ranks;
  record.site = define_site(reinterpret_cast<uintptr_t>(caller));
  record.begin = clock.ns(begin);
  record.end = clock.ns(end);
  thread->stream.append(record);
  thread->stream.record_tracer(end);
  return true;
}

Thread* Tracer::add_thread() {
  auto* const thread = map_zeroed<Thread>(1);
  if (thread == nullptr) return nullptr;
  thread->stream.open(file, next_thread_.fetch_add(1));
  pthread_setspecific(thread_end, thread);
  return ompl_trace_local.thread = thread;
}

void Tracer::remove_thread(Thread* thread) {
  thread->stream.close();
  unmap(static_cast<std::byte*>(thread->scratch), thread->scratch_bytes);
  unmap(thread, 1);
}

void* Thread::scratch_of(std::size_t bytes) {
  if (bytes > scratch_bytes) {
    unmap(static_cast<std::byte*>(scratch), scratch_bytes);
    scratch_bytes = std::max<std::size_t>(2 * bytes, 65536);
    scratch = map_zeroed<std::byte>(scratch_bytes);
    if (scratch == nullptr) scratch_bytes = 0;
  }
  return scratch;
}

uint32_t Tracer::id_of(Defined* table, uint32_t& count, uint64_t key, bool& is_new) {
  is_new = false;
  if (count == kDefined / 2) return 0;
  for (std::size_t i = key % kDefined;; i = (i + 1) % kDefined) {
    if (table[i].id != 0 && table[i].key == key) return table[i].id;
    if (table[i].id != 0) continue;
    is_new = true;
    table[i] = {key, ++count};
    return count;
  }
}

uint32_t Tracer::text_id(const char* text) {
  bool is_new;
  const uint32_t id = id_of(texts_, text_count_, hash(text), is_new);
  for (std::size_t left = std::strlen(text); is_new && left > 0;) {
    Text piece{};
    piece.id = id;
    piece.kind = Kind::kText;
    piece.count = static_cast<uint16_t>(std::min(left, Text::kMost));
    std::memcpy(piece.text, text, piece.count);
    definitions.append(piece);
    text += piece.count;
    left -= piece.count;
  }
  return id;
}

uint32_t Tracer::define_text(const char* text) {
  const std::lock_guard lock(mutex);
  return text_id(text);
}

uint32_t Tracer::define_site(uintptr_t address) {
  const std::lock_guard lock(mutex);
  bool is_new;
  const uint32_t id = id_of(sites_, site_count_, address, is_new);
  if (!is_new) return id;
  SiteDefinition site{};
  site.id = id;
  site.kind = Kind::kSite;
  site.offset = address;
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) != 0) {
    char program[PATH_MAX] = {};
    const bool is_program = map == nullptr || map->l_name[0] == '\0';
    if (is_program && readlink("/proc/self/exe", program, sizeof program - 1) > 0)
      info.dli_fname = program;
    site.module = text_id(info.dli_fname);
    if (map != nullptr) site.offset -= map->l_addr;
    if (info.dli_sname != nullptr) {
      site.symbol = text_id(info.dli_sname);
      site.inside = address - reinterpret_cast<uintptr_t>(info.dli_saddr);
    }
  }
  definitions.append(site);
  return id;
}

}  // namespace ompl::trace
