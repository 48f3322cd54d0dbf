// SPDX-License-Identifier: BSD-3-Clause
// A call of this layer, recorded. The library's own calls of its functions never come here (it is linked with
// -Bsymbolic-functions), so what comes inside of a call is the program's: of a callback, or of the yield hook.
#pragma once

#include <omnipgas/ompl_ext.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "writer/behind.hpp"
#include "writer/tracer.hpp"

namespace ompl::trace {

// Number of a word, by its offset.
inline uint32_t word_number(uint64_t offset) {
  return static_cast<uint32_t>(offset / sizeof(uint32_t));
}

// What of a call is recorded beside its time.
struct Fields {
  int32_t peer = kNoPeer;
  uint64_t bytes = 0;
  uint32_t request = 0;  // number of a flag, or id of a handle or halo
  int32_t tag = 0;
};

// Id of the operation that a handle stands for, in the word of the handle that the library leaves to a tracer. It
// stays where the operation was complete at once, and goes where the handle is copied.
inline uint64_t& id_of(ompl_handle& handle) { return std::end(handle.opaque)[-1]; }

// Of the calling thread, while it is in a call.
struct Inside {
  uint64_t since;  // ticks: the begin of that call, or the end of the last one inside of it
  uint32_t site;
};

class Call {
 public:
  Call(Kind kind, void* caller, const Fields& fields) : thread_(enter_call()) {
    if (thread_ == nullptr) return;
    record_.kind = kind;
    record_.site = thread_->site_id(reinterpret_cast<uintptr_t>(caller));
    record_.comm = 1;
    record_.peer = fields.peer;
    record_.bytes = fields.bytes;
    record_.request = fields.request;
    record_.tag = fields.tag;
  }
  ~Call() {
    if (thread_ != nullptr) leave();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Call(Call&&) = delete;
  Call& operator=(Call&&) = delete;

  [[nodiscard]] bool is_recorded() const { return thread_ != nullptr; }
  [[nodiscard]] Record& record() { return record_; }

  // The call itself, between two time stamps.
  template <typename Function>
  int run(const Function& call) {
    if (thread_ == nullptr) return call();
    outside_site_ = here().site;
    here() = {tracer.clock.ticks(), record_.site};
    const int code = call();
    const uint64_t end = tracer.clock.ticks();
    if (has_moved()) thread_ = nullptr;
    record_.begin = tracer.clock.ns(here().since);
    record_.end = tracer.clock.ns(end);
    if (code < 0) record_.flags |= kFailed;
    return code;
  }

  // Once, behind run(): then what belongs to it.
  void append() {
    if (thread_ != nullptr) thread_->stream.append(record_);
  }
  // The same of a call that looks: its answer is 1, or 0 if it found nothing.
  template <typename Function>
  int look(const Function& call) {
    const int code = run(call);
    if (code > 0) record_.flags |= kCompleted;
    code == 0 ? append_idle() : append();
    return code;
  }
  // Of a call that posts without waiting; what is posted gets an id, if there is a handle.
  template <typename Function>
  int post(const Function& call, ompl_handle* handle = nullptr) {
    const int code = run(call);
    if (code == OMPL_OK) record_.flags |= kCompleted;
    if (code > OMPL_PENDING) record_.flags |= kRetried;
    if (thread_ != nullptr && handle != nullptr && was_posted(code))
      id_of(*handle) = record_.request = thread_->request_id();
    code > OMPL_PENDING ? append_idle() : append();
    return code;
  }
  static bool was_posted(int code) { return code == OMPL_OK || code == OMPL_PENDING; }
  void append_idle() {
    if (thread_ != nullptr) thread_->stream.append_idle(record_);
  }
  void append(const Word& word) {
    if (thread_ != nullptr) thread_->stream.append(word);
  }
  // `number(i)` of each.
  template <typename Number>
  void append_ids(std::size_t count, const Number& number) {
    for (std::size_t at = 0; thread_ != nullptr && at < count; at += Ids::kMost) {
      Ids ids{};
      ids.kind = Kind::kIds;
      ids.count = static_cast<uint16_t>(std::min(count - at, Ids::kMost));
      for (std::size_t i = 0; i < ids.count; ++i) ids.ids[i] = number(at + i);
      thread_->stream.append(ids);
    }
  }
  template <typename Number>
  void append_counts(bool received, std::size_t count, const Number& number) {
    for (std::size_t at = 0; thread_ != nullptr && at < count; at += Counts::kMost) {
      Counts counts{};
      counts.kind = Kind::kCounts;
      counts.received = received ? 1 : 0;
      counts.count = static_cast<uint16_t>(std::min(count - at, Counts::kMost));
      for (std::size_t i = 0; i < counts.count; ++i) counts.counts[i] = number(at + i);
      thread_->stream.append(counts);
    }
  }

 private:
  // Asked again behind each call: a hook may return in another thread, whose records these are not.
  static Inside& here();
  [[nodiscard]] bool has_moved() const;
  static Thread* enter_call();
  void leave() const;

  Thread* thread_;
  uint32_t outside_site_ = 0;
  Record record_{};
};

// A call of which all that is recorded is known before.
template <typename Function>
int traced(Kind kind, void* caller, const Fields& fields, const Function& call) {
  Call one(kind, caller, fields);
  const int code = one.run(call);
  one.append();
  return code;
}

// The rest of the arguments: what of the call is recorded, as Fields.
#define OMPL_TRACED(kind, function, arguments, ...)                                               \
  return ompl::trace::traced(ompl::trace::Kind::kind, __builtin_return_address(0), {__VA_ARGS__}, \
                             [&] { return OMPL_REAL(function) arguments; })

}  // namespace ompl::trace
