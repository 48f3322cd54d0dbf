// SPDX-License-Identifier: BSD-3-Clause
// A call of this layer, recorded. The library's own calls of its functions never come here (it is linked with
// -Bsymbolic-functions), so what comes inside of a call is the program's: of a callback, or of the yield hook.
#pragma once

#include <omnipgas/ompl_calls.h>
#include <omnipgas/ompl_memory.h>
#include <algorithm>

#include <cstdint>
#include <iterator>

#include "writer/behind.hpp"
#include "writer/tracer.hpp"

namespace ompl::trace {

// From a halo to its number, before the first one is made. False if there is no memory.
bool create_halo_table();
// From teams, requests and operations of collectives to what is known of them.
bool create_team_tables();

// Number of a word, by its offset.
inline uint32_t word_number(uint64_t offset) {
  return static_cast<uint32_t>(offset / sizeof(uint32_t));
}

// Words of a segment as calls name them: flags that are signalled or waited for, and those of atomics.
inline Word word_of(uint64_t offset, uint32_t function, uint32_t width, uint64_t value,
                    uint64_t compare = 0) {
  Word word{};
  word.kind = Kind::kWord;
  word.number = word_number(offset);
  word.function = function;
  word.width = width;
  word.value = value;
  word.compare = compare;
  return word;
}

inline Word word_of(const ompl_signal& signal) {
  const bool sets = signal.op == OMPL_SET32 || signal.op == OMPL_SET64;
  const bool wide = signal.op == OMPL_ADD64 || signal.op == OMPL_SET64;
  const uint64_t value = wide ? signal.value : static_cast<uint32_t>(signal.value);
  return word_of(signal.flag_addr, sets ? Word::kSet : Word::kAdd, wide ? 64 : 32, value);
}

static_assert(uint32_t{Word::kTake} == OMPL_TAKE && uint32_t{Word::kEqual} == OMPL_EQ &&
              uint32_t{Word::kNotEqual} == OMPL_NE && uint32_t{Word::kGreater} == OMPL_GT &&
              uint32_t{Word::kGreaterOrEqual} == OMPL_GE && uint32_t{Word::kLess} == OMPL_LT &&
              uint32_t{Word::kLessOrEqual} == OMPL_LE);

inline Word word_of(const ompl_condition& condition) {
  return word_of(condition.flag_addr, condition.comparison, condition.width, condition.value);
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

// What the thread's next ompl_flag_then() is for: the wait of a task, by its id; 0: not one.
struct NextWatch {
  uint32_t id;
  bool takes;  // the task itself takes one signal from the flag
};
NextWatch take_next_watch();

// Of the calling thread, while it is in a call.
struct Inside {
  uint64_t since;  // ticks: the begin of that call, or the end of the last one inside of it
  uint32_t site;
  bool computes;  // a function that another rank called runs: the time between its calls is no waiting
};

class Call {
 public:
  Call(Kind kind, void* caller, const Fields& fields)
      : outside_depth_(ompl_trace_local.depth), outside_(here()), thread_(enter_call()) {
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
    const uint64_t begin = tracer.clock.ticks();
    here() = {begin, record_.site, false};
    const int code = call();
    const uint64_t end = tracer.clock.ticks();
    if (has_moved()) thread_ = nullptr;
    if (here().since != begin) record_.flags |= kInterrupted;
    record_.begin = tracer.clock.ns(here().since);
    record_.end = tracer.clock.ns(end);
    if (code < 0) record_.flags |= kFailed;
    return code;
  }

  // A moment between two calls, of which nothing more is recorded; then it may be the record of a call. `posts`: it gets an id, which
  // is returned. `waited`: it begins with the call around it, which waited until then.
  uint32_t mark(Kind kind, bool posts, bool waited = false) {
    if (thread_ == nullptr) return 0;
    record_.kind = kind;
    record_.begin = record_.end = tracer.clock.ns(tracer.clock.ticks());
    if (waited && outside_depth_ > 0)
      record_.begin = std::max(tracer.clock.ns(outside_.since), thread_->stream.end());
    record_.request = posts ? thread_->request_id() : 0;
    thread_->stream.append(record_);
    return record_.request;
  }
  // The program's code within a call, recorded as if it were outside of it.
  void compute() const {
    if (thread_ != nullptr) here() = {tracer.clock.ticks(), record_.site, true};
  }

  // Once, behind run(): then what belongs to it.
  void append() {
    if (thread_ != nullptr) thread_->stream.append(record_);
  }
  // A new id, for what was posted and is waited for later.
  uint32_t take_request_id() {
    return thread_ == nullptr ? 0 : record_.request = thread_->request_id();
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
    if (thread_ == nullptr) return;
    in_parts<Ids>(count, number, [&](const Ids& part) { thread_->stream.append(part); });
  }
  template <typename Number>
  void append_counts(bool received, std::size_t count, const Number& number) {
    if (thread_ == nullptr) return;
    in_parts<Counts>(count, number, [&](Counts& part) {
      part.received = received ? 1 : 0;
      thread_->stream.append(part);
    });
  }

 private:
  // Asked again behind each call: a hook may return in another thread, whose records these are not.
  static Inside& here();
  [[nodiscard]] bool has_moved() const;
  static Thread* enter_call();
  void leave() const;

  uint32_t outside_depth_;
  Inside outside_;  // of the call that this one is in
  Thread* thread_;
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
