// SPDX-License-Identifier: BSD-3-Clause
#include "requests.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "teams.hpp"

namespace ompl::mpi_collectives {
namespace {

constexpr int64_t kPatience_ns = 100'000;  // between looks for messages of MPI's
constexpr std::chrono::milliseconds kPause{1};
constexpr int kLinger = 100;  // pauses that the thread goes on for when nothing is left

// A nonblocking collective. It belongs to the list below until its request is complete, then to the request.
struct Pending {
  Call call{};
  ompl_request* request = nullptr;
  Staging staging;
  MPI_Request generalized = MPI_REQUEST_NULL;
  int code = 0;  // of ompl_request_test(): 0 while it is under way

  void drive() {
    if (code == 0) code = ompl_request_test(OMPL_CTX_DEFAULT, &request);
  }
  [[nodiscard]] int result() const {
    return code > 0 ? MPI_SUCCESS : fail(call.comm, name_of(call.function), code);
  }
};

// Others may wait for messages of this rank before they come here. MPICH looks nowhere for MPI_COMM_SELF.
void let_messages_pass() {
  int flag = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

class Collectives {
 public:
  // The request is made by the caller, who knows MPI.
  void add(std::unique_ptr<Pending> one) {
    const std::lock_guard lock(mutex_);
    under_way_.push_back(std::move(one));
    count_.store(under_way_.size(), std::memory_order_relaxed);
    if (!thread_.joinable()) thread_ = std::thread([this] { look_after(); });
    if (sleeps_) wake_.notify_one();
  }

  bool progress() {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const std::lock_guard lock(mutex_);
    for (auto at = under_way_.begin(); at != under_way_.end();) {
      (*at)->drive();
      if ((*at)->code == 0) {
        ++at;
        continue;
      }
      (*at)->staging.finish();
      const MPI_Request generalized = (*at)->generalized;
      at->release();  // free_state() deletes it, perhaps now
      at = under_way_.erase(at);
      PMPI_Grequest_complete(generalized);
    }
    count_.store(under_way_.size(), std::memory_order_relaxed);
    return true;
  }

  // Until the collective whose request that is is over, as a blocking one waits; false: it is none that is under way.
  bool wait(MPI_Request generalized) {
    std::unique_lock lock(mutex_);
    const auto found = std::ranges::find_if(
        under_way_, [=](const auto& one) { return one->generalized == generalized; });
    if (found == under_way_.end()) return false;
    Pending& one = **found;
    while (one.code == 0) {
      const int code = ompl_request_wait(OMPL_CTX_DEFAULT, &one.request, kPatience_ns);
      if (code == OMPL_ERR_TIMEOUT)
        let_messages_pass();
      else
        one.code = code >= OMPL_OK ? 1 : code;
    }
    lock.unlock();
    progress();
    return true;
  }

  bool has(MPI_Comm comm) {
    const std::lock_guard lock(mutex_);
    for (const auto& one : under_way_)
      if (comm == MPI_COMM_NULL || one->call.comm == comm) return true;
    return false;
  }

  void end() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      wake_.notify_one();
    }
    thread_.join();
  }

 private:
  // Drives collectives whose program computes, or waits in MPI for something else. It calls nothing of MPI's.
  void look_after() {
    std::unique_lock lock(mutex_);
    int idle = 0;
    while (!ends_) {
      sleeps_ = idle > kLinger;
      if (sleeps_) {
        wake_.wait(lock);
        idle = 0;
      } else {
        wake_.wait_for(lock, kPause);
      }
      idle = under_way_.empty() ? idle + 1 : 0;
      for (const auto& one : under_way_) one->drive();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<std::unique_ptr<Pending>> under_way_;
  std::atomic<std::size_t> count_{0};
  std::thread thread_;
  bool sleeps_ = false, ends_ = false;
};

Collectives& collectives() {
  // Never destroyed: MPI_Finalize may come from a function of atexit().
  static Collectives* const one = new Collectives;  // NOLINT(cppcoreguidelines-owning-memory)
  return *one;
}

int query(void* state, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return static_cast<const Pending*>(state)->result();
}

int free_state(void* state) {
  delete static_cast<Pending*>(
      state);  // NOLINT(cppcoreguidelines-owning-memory): released by progress()
  return MPI_SUCCESS;
}

int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }  // a collective goes on

}  // namespace

int complete(const Call& call, ompl_request* request, Staging staging) {
  if (call.request != nullptr) {
    auto one = std::make_unique<Pending>(
        Pending{.call = call, .request = request, .staging = std::move(staging)});
    PMPI_Grequest_start(query, free_state, cancel, one.get(), &one->generalized);
    *call.request = one->generalized;
    collectives().add(std::move(one));
    return MPI_SUCCESS;
  }
  int code = OMPL_OK;
  while ((code = ompl_request_wait(OMPL_CTX_DEFAULT, &request, kPatience_ns)) == OMPL_ERR_TIMEOUT)
    let_messages_pass();
  staging.finish();
  return code >= OMPL_OK ? MPI_SUCCESS : fail(call.comm, name_of(call.function), code);
}

bool progress() { return collectives().progress(); }

bool wait_for(MPI_Request request) { return collectives().wait(request); }

void finish_requests(MPI_Comm comm) {
  while (collectives().has(comm)) {
    progress();
    let_messages_pass();
    sched_yield();
  }
  if (comm == MPI_COMM_NULL) collectives().end();
}

}  // namespace ompl::mpi_collectives
