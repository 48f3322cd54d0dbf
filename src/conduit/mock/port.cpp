// SPDX-License-Identifier: BSD-3-Clause
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "conduit/mock/link.hpp"

namespace ompl::conduit::mock {

WakeEvent::WakeEvent(bool wanted) : fd_(wanted ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1) {}

WakeEvent::~WakeEvent() {
  if (fd_ >= 0) ::close(fd_);
}

// Relaxed throughout: work is queued, and looked for after arm(), under the mutex of the link or port
// it is in. So either the sleeper finds the work or the worker finds armed_.
void WakeEvent::arm() { armed_.store(true, std::memory_order_relaxed); }

void WakeEvent::disarm() {
  armed_.store(false, std::memory_order_relaxed);
  uint64_t count = 0;
  if (fd_ >= 0) [[maybe_unused]]
    const ssize_t got = ::read(fd_, &count, sizeof count);
}

void WakeEvent::notify() {
  if (!armed_.load(std::memory_order_relaxed) || !armed_.exchange(false, std::memory_order_relaxed))
    return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(fd_, &one, sizeof one);
}

bool Port::push(MockLink& link, const Signal& record, std::size_t limit) {
  const Lock lock(mutex_);
  if (arrivals_.size() >= limit) return false;
  arrivals_.push_back({&link, record});
  return true;
}

int Port::take(Sink& sink, int budget) {
  std::deque<Arrival> taken;
  {
    const Lock lock(mutex_);
    const auto count = std::min(arrivals_.size(), static_cast<std::size_t>(std::max(budget, 0)));
    const auto end = arrivals_.begin() + static_cast<std::ptrdiff_t>(count);
    taken.assign(arrivals_.begin(), end);
    arrivals_.erase(arrivals_.begin(), end);
  }
  for (const Arrival& arrival : taken) {
    arrival.link->record_taken(arrival.record);
    sink.signal(arrival.link->source(), arrival.record);
  }
  return static_cast<int>(taken.size());
}

std::size_t Port::waiting() {
  const Lock lock(mutex_);
  return arrivals_.size();
}

void Port::attach(MockLink& link) {
  bool too_late = false;
  {
    const Lock lock(mutex_);
    incoming_.push_back(&link);
    too_late = closed_;
  }
  if (too_late) link.target_departs();
}

void Port::list_incoming(std::vector<MockLink*>* links) {
  const Lock lock(mutex_);
  if (links->size() != incoming_.size()) *links = incoming_;
}

void Port::break_now() {
  const Lock lock(mutex_);
  broken_ = true;
  wake_event.notify();
}

bool Port::broken() {
  const Lock lock(mutex_);
  return broken_;
}

void Port::close() {
  std::vector<MockLink*> links;
  {
    const Lock lock(mutex_);
    closed_ = true;
    links = incoming_;
  }
  for (MockLink* link : links) link->target_departs();
}

}  // namespace ompl::conduit::mock
