// SPDX-License-Identifier: BSD-3-Clause
// Cholesky as OpenMP tasks beside one thread that does all communication. A task asks it to send; a task that stands for the
// arrival of a tile is detached, and that thread fulfils its event. There is a second thread even where one was asked for.
#include "cholesky.hpp"

#include <mutex>
#include <thread>

namespace {

using cholesky::Matrix;

// What tasks ask of the communicating thread.
class Communicator {
 public:
  explicit Communicator(Matrix* a) : matrix_(a) {}

  void send(int to, int i, int k) { ask({to, i, k, {}, false}); }
  void receive(int i, int k, omp_event_handle_t event) { ask({0, i, k, event, true}); }
  void end() { ended_.store(true, std::memory_order_release); }

  // Until end() was called and all is done.
  void run() {
    std::vector<Asked> asked;
    for (bool last = false; !last || !requests_.empty();) {
      last = ended_.load(std::memory_order_acquire);  // before it looks: nothing is asked after that
      {
        const std::lock_guard lock(mutex_);
        asked.swap(asked_);
      }
      for (const Asked& one : asked) {
        requests_.push_back(one.receives ? matrix_->receive(one.i, one.k)
                                         : matrix_->send(one.to, one.i, one.k));
        under_way_.push_back(one);
      }
      if (requests_.empty()) std::this_thread::yield();
      asked.clear();
      test();
    }
  }

 private:
  struct Asked {
    int to, i, k;
    omp_event_handle_t event;
    bool receives;
  };
  void ask(const Asked& one) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(one);
  }
  void test() {
    if (requests_.empty()) return;
    int count = 0;
    done_.resize(requests_.size());
    MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, done_.data(),
                 MPI_STATUSES_IGNORE);
    if (count <= 0) return;
    for (int n = 0; n < count; ++n) {
      const Asked& one = under_way_[static_cast<std::size_t>(done_[static_cast<std::size_t>(n)])];
      if (one.receives) omp_fulfill_event(one.event);
    }
    std::size_t kept = 0;
    for (std::size_t n = 0; n < requests_.size(); ++n) {
      if (requests_[n] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[n];
      under_way_[kept++] = under_way_[n];
    }
    requests_.resize(kept);
    under_way_.resize(kept);
  }

  Matrix* const matrix_;
  std::mutex mutex_;
  std::vector<Asked> asked_;
  std::atomic<bool> ended_{false};
  // Of the communicating thread.
  std::vector<MPI_Request> requests_;
  std::vector<Asked> under_way_;
  std::vector<int> done_;
};

void share(Matrix* a, Communicator* communicator, int i, int k) {
  [[maybe_unused]] double* const tile = a->tile(i, k);
  for (const int to : a->takers(i, k)) {
#pragma omp task depend(in : tile[0]) firstprivate(communicator, to, i, k) priority(2)
    communicator->send(to, i, k);
  }
  if (!a->comes(i, k)) return;
  omp_event_handle_t event{};
#pragma omp task depend(out : tile[0]) detach(event) firstprivate(communicator, i, k) priority(2)
  communicator->receive(i, k, event);
}

void factorize(Matrix* a, int threads) {
  Communicator communicator(a);
#pragma omp parallel num_threads(std::max(2, threads))
  {
    if (omp_get_thread_num() == 0) {
      communicator.run();
    } else if (omp_get_thread_num() == 1) {
      cholesky::make_tasks(a, [&](int i, int k) { share(a, &communicator, i, k); });
      communicator.end();
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return cholesky::run(argc, argv, MPI_THREAD_FUNNELED, factorize); }
