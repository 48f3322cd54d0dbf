// SPDX-License-Identifier: BSD-3-Clause
// A mutex of which clang's thread safety analysis knows (-Wthread-safety, part of clang-tidy in `make lint`): members name the
// mutex that guards them, functions those that they need, and an access without it is an error. The names are clang's own.
#pragma once

#include <mutex>

#ifdef __clang__
#define OMPL_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define OMPL_THREAD_SAFETY(attribute)
#endif
#define OMPL_GUARDED_BY(mutex) OMPL_THREAD_SAFETY(guarded_by(mutex))
#define OMPL_REQUIRES(mutex) OMPL_THREAD_SAFETY(requires_capability(mutex))

namespace ompl {

class OMPL_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() OMPL_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void unlock() OMPL_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds a mutex as long as it lives.
class OMPL_THREAD_SAFETY(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) OMPL_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~Lock() OMPL_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace ompl
