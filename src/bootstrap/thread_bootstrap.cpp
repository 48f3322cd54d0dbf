// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/thread_bootstrap.hpp"

#include <condition_variable>
#include <map>
#include <utility>

#include "util/mutex.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {

struct ThreadStore {
  using Key = std::pair<uint32_t, std::string>;

  uint32_t size = 1;
  std::vector<uint32_t> node_map;
  std::chrono::milliseconds limit{};

  Mutex mutex;
  std::condition_variable_any changed;
  std::map<Key, std::string> published OMPL_GUARDED_BY(mutex);  // readable
  std::map<Key, std::string> fresh OMPL_GUARDED_BY(mutex);      // set since the last fence
  uint32_t arrived OMPL_GUARDED_BY(mutex) = 0;                  // ranks inside the current fence
  uint64_t fences OMPL_GUARDED_BY(mutex) = 0;                   // finished
  uint32_t finished OMPL_GUARDED_BY(mutex) = 0;
  std::string aborted OMPL_GUARDED_BY(mutex);
};

namespace {

class ThreadBootstrap final : public Bootstrap {
 public:
  ThreadBootstrap(std::shared_ptr<ThreadStore> store, uint32_t rank)
      : store_(std::move(store)), rank_(rank) {}

  [[nodiscard]] std::string_view name() const override { return "threads"; }
  [[nodiscard]] uint32_t rank() const override { return rank_; }
  [[nodiscard]] uint32_t size() const override { return store_->size; }
  [[nodiscard]] bool of_processes() const override { return false; }
  [[nodiscard]] std::vector<uint32_t> node_map() const override { return store_->node_map; }

  int set(std::string_view key, std::string_view value) override {
    const Lock lock(store_->mutex);
    store_->fresh[{rank_, std::string(key)}] = value;
    return OMPL_OK;
  }

  int fence() override {
    const Lock lock(store_->mutex);
    const uint64_t mine = store_->fences;
    if (++store_->arrived == store_->size) {
      store_->fresh.merge(store_->published);  // fresh values win
      store_->published = std::exchange(store_->fresh, {});
      store_->arrived = 0;
      ++store_->fences;
      store_->changed.notify_all();
    }
    const auto limit = std::chrono::steady_clock::now() + store_->limit;
    while (store_->fences == mine && store_->aborted.empty()) {
      if (store_->changed.wait_until(store_->mutex, limit) == std::cv_status::timeout) break;
    }
    if (store_->fences > mine) return OMPL_OK;
    if (!store_->aborted.empty())
      return fail(OMPL_ERR_PEER, "a rank aborted the job: {}", store_->aborted);
    return fail(OMPL_ERR_LAUNCH, "only {} of {} ranks came to a fence in time", store_->arrived,
                store_->size);
  }

  int get(uint32_t rank, std::string_view key, std::string* value) override {
    const Lock lock(store_->mutex);
    const auto found = store_->published.find({rank, std::string(key)});
    if (found == store_->published.end()) {
      return fail(OMPL_ERR_LAUNCH, "rank {} has not published \"{}\"", rank, key);
    }
    *value = found->second;
    return OMPL_OK;
  }

  // Unlike processes, ranks of one process use each other's own mapping: nobody may go before all are done.
  int finish() override {
    const Lock lock(store_->mutex);
    ++store_->finished;
    store_->changed.notify_all();
    const auto limit = std::chrono::steady_clock::now() + store_->limit;
    while (store_->finished != store_->size && store_->aborted.empty()) {
      if (store_->changed.wait_until(store_->mutex, limit) == std::cv_status::timeout) break;
    }
    return OMPL_OK;
  }

  void abort(int exit_code, std::string_view why) override {
    const Lock lock(store_->mutex);
    if (store_->aborted.empty()) store_->aborted = fmt::format("{} (exit code {})", why, exit_code);
    store_->changed.notify_all();
  }

 private:
  std::shared_ptr<ThreadStore> store_;
  uint32_t rank_;
};

}  // namespace

ThreadJob::ThreadJob(uint32_t size, std::vector<uint32_t> node_map, std::chrono::milliseconds limit)
    : store_(std::make_shared<ThreadStore>()) {
  store_->size = size;
  store_->node_map = std::move(node_map);
  store_->limit = limit;
}

std::unique_ptr<Bootstrap> ThreadJob::join(uint32_t rank) const {
  return std::make_unique<ThreadBootstrap>(store_, rank);
}

std::string ThreadJob::aborted() const {
  const Lock lock(store_->mutex);
  return store_->aborted;
}

uint32_t ThreadJob::finished() const {
  const Lock lock(store_->mutex);
  return store_->finished;
}

}  // namespace ompl::bootstrap
