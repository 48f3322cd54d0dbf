// SPDX-License-Identifier: BSD-3-Clause
// pthread_cancel() ends a thread inside system calls: where the layer holds something that other threads need, it must not.
#pragma once

#include <pthread.h>

namespace ompl::arch {

// While it lives the calling thread is not cancelled. It ends in the thread that made it, so no user code that may move a task to
// another thread runs meanwhile, except within pause().
class Uncancelled {
 public:
  Uncancelled() { begin(); }
  ~Uncancelled() { end(); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

  // Ends the thread here if it was cancelled, by unwinding the stack.
  void cancellation_point() {
    end();
    ::pthread_testcancel();
    begin();
  }
  // Calls what may take long, be cancelled, or return in another thread.
  template <class Call>
  auto pause(Call call) {
    const Pause open(*this);
    return call();
  }

 private:
  struct Pause {
    explicit Pause(Uncancelled& of) : whole(of) { whole.end(); }
    ~Pause() { whole.begin(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    Uncancelled& whole;
  };

  void begin() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  void end() const { ::pthread_setcancelstate(before_, nullptr); }

  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace ompl::arch
