// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace emulator {
namespace {

constexpr auto kTick = std::chrono::microseconds(300);

// The VCQs of this process, and the thread that stands for the hardware.
class Device {
 public:
  ~Device() {
    stop_.store(true);
    if (hardware_.joinable()) hardware_.join();
  }

  std::shared_ptr<Vcq> find(utofu_vcq_hdl_t handle) {
    const std::lock_guard lock(mutex_);
    const auto found = vcqs_.find(handle);
    return found != vcqs_.end() ? found->second : nullptr;
  }
  utofu_vcq_hdl_t add(SharedVcq& shared, unsigned long flags) {
    const std::lock_guard lock(mutex_);
    const utofu_vcq_hdl_t handle = ++handles_;
    vcqs_[handle] = std::make_shared<Vcq>(shared, flags, settings().seed + handle);
    if (!hardware_.joinable()) start();
    return handle;
  }
  void remove(utofu_vcq_hdl_t handle) {
    std::shared_ptr<Vcq> last;  // ends after the lock
    const std::lock_guard lock(mutex_);
    const auto found = vcqs_.find(handle);
    if (found == vcqs_.end()) return;
    last = std::move(found->second);
    vcqs_.erase(found);
  }

 private:
  void start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    hardware_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void run() {
    std::vector<std::shared_ptr<Vcq>> now;
    while (!stop_.load()) {
      {
        const std::lock_guard lock(mutex_);
        for (const auto& [handle, vcq] : vcqs_) now.push_back(vcq);
      }
      for (const auto& vcq : now) vcq->carry();
      now.clear();
      std::this_thread::sleep_for(kTick);
    }
  }

  std::mutex mutex_;
  std::map<utofu_vcq_hdl_t, std::shared_ptr<Vcq>> vcqs_;
  utofu_vcq_hdl_t handles_ = 0;
  std::thread hardware_;
  std::atomic<bool> stop_{false};
};

Device& device() {
  static Device one;
  return one;
}

// A free VCQ of the own node, or null. Under the machine's mutex.
SharedVcq* take_vcq(SharedNode& node) {
  for (SharedVcq& vcq : node.vcqs) {
    if (!vcq.live) return &vcq;
  }
  return nullptr;
}

struct Place {
  uint16_t cq, component;
};

// Which places of a TNI are taken.
struct Occupied {
  bool exclusive[kCqs] = {};
  bool component[kCqs][kComponents] = {};
  bool any[kCqs] = {};

  Occupied(const SharedNode& node, utofu_tni_id_t tni) {
    for (const SharedVcq& vcq : node.vcqs) {
      if (!vcq.live || vcq.tni != tni) continue;
      exclusive[vcq.cq] = exclusive[vcq.cq] || vcq.exclusive;
      component[vcq.cq][vcq.component] = any[vcq.cq] = true;
    }
  }
  // An exclusive VCQ needs an empty CQ; others share, each with a component of its own.
  std::optional<Place> find(bool wants_all, int wanted) const {
    for (uint16_t cq = 0; cq < kCqs; ++cq) {
      if (exclusive[cq] || (wants_all && any[cq])) continue;
      for (uint16_t id = 0; id < kComponents; ++id) {
        if ((wanted < 0 || id == wanted) && !component[cq][id]) return Place{cq, id};
      }
    }
    return std::nullopt;
  }
};

std::atomic<int> inside[kTnis][kCqs];

}  // namespace

Vcq::Inside::Inside(Vcq& vcq)
    : threads_(vcq.thread_safe_ ? nullptr : &inside[vcq.shared_.tni][vcq.shared_.cq]) {
  if (threads_ != nullptr && threads_->fetch_add(1, std::memory_order_relaxed) != 0)
    violation("two threads at a time use VCQs of one CQ, of which one is not thread-safe");
}
Vcq::Inside::~Inside() {
  if (threads_ != nullptr) threads_->fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<Vcq> vcq_of(utofu_vcq_hdl_t handle) { return device().find(handle); }

int make_vcq(utofu_tni_id_t tni, int component, unsigned long flags, utofu_vcq_hdl_t* handle) {
  SharedNode* const node = own_node();
  if (node == nullptr) return UTOFU_ERR_FATAL;
  const bool exclusive = (flags & UTOFU_VCQ_FLAG_EXCLUSIVE) != 0;
  const std::lock_guard lock(shared()->mutex);
  SharedVcq* const vcq = take_vcq(*node);
  const auto place = Occupied(*node, tni).find(exclusive, component);
  if (vcq == nullptr || !place) return UTOFU_ERR_FULL;
  if (vcq->generation == 0) vcq->mutex.make();
  const std::lock_guard inner(vcq->mutex);
  vcq->exclusive = exclusive;
  vcq->tni = tni;
  vcq->cq = place->cq;
  vcq->component = place->component;
  vcq->node = static_cast<uint16_t>(node - shared()->nodes);
  vcq->index = static_cast<uint16_t>(vcq - node->vcqs);
  vcq->taken = vcq->arrived = 0;
  ++vcq->generation;
  vcq->live = true;
  ++counts().vcqs;
  *handle = device().add(*vcq, flags);
  return UTOFU_SUCCESS;
}

void drop_vcq(utofu_vcq_hdl_t handle) {
  const std::shared_ptr<Vcq> vcq = vcq_of(handle);
  if (vcq == nullptr) return;
  device().remove(handle);
  const std::lock_guard machine(shared()->mutex);
  const std::lock_guard lock(vcq->shared().mutex);
  vcq->shared().live = false;
  for (Registration& memory : vcq->shared().registrations) {
    if (memory.size != 0) memory = {};
  }
  --counts().vcqs;
}

}  // namespace emulator
