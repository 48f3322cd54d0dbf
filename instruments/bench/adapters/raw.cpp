// SPDX-License-Identifier: BSD-3-Clause
// Adapter of the baseline: two processes by fork().
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "harness/worker.hpp"
#include "raw/baseline.h"

namespace {

class Raw {
 public:
  Raw(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : buffer_(bench::pages(setup.bytes)),
        flags_(bench::pages(static_cast<std::size_t>(setup.threads) * baseline_flag_size())),
        segment_(flags_ + 2 * static_cast<std::size_t>(setup.threads) * buffer_) {
    base_ = static_cast<std::byte*>(baseline_map(2 * segment_));
    if (base_ == nullptr) throw std::runtime_error("no shared memory for the segments");
    child_ = fork();
    if (child_ < 0) throw std::runtime_error("fork failed");
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      rank_ = 1;
    }
    baseline_set(static_cast<int>(bench::measuring(setup.threads)), rank_);
  }

  ~Raw() {
    if (rank_ == 1) return;
    int status = 0;
    waitpid(child_, &status, 0);
    if (WIFSIGNALED(status)) std::fprintf(stderr, "rank 1: signal %d\n", WTERMSIG(status));
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    return {"the baseline", "shared memory", std::nullopt, {}};
  }

  [[nodiscard]] std::byte* source(int channel) const { return buffers(rank_, channel) + buffer_; }
  [[nodiscard]] std::byte* target(int channel) const { return buffers(rank_, channel); }

  void put(int channel, std::size_t offset, std::size_t bytes) {
    baseline_put(buffers(1 - rank_, channel) + offset, source(channel) + offset, bytes);
  }
  void put_alone(int channel, std::size_t offset, std::size_t bytes) {
    baseline_put_checked(buffers(1 - rank_, channel), buffer_, offset, source(channel) + offset, bytes);
  }
  void signal(int channel) { baseline_signal(flag(1 - rank_, channel)); }
  void wait(int channel) { baseline_wait(flag(rank_, channel)); }
  void flush(int /*channel*/) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
  void look(int /*channel*/) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

 private:
  // A segment is the flags of all channels, then a target and a source buffer per channel.
  [[nodiscard]] baseline_flag* flag(int rank, int channel) const {
    return reinterpret_cast<baseline_flag*>(base_ + static_cast<std::size_t>(rank) * segment_ +
                                            static_cast<std::size_t>(channel) * baseline_flag_size());
  }
  [[nodiscard]] std::byte* buffers(int rank, int channel) const {
    return base_ + static_cast<std::size_t>(rank) * segment_ + flags_ +
           2 * static_cast<std::size_t>(channel) * buffer_;
  }

  std::size_t buffer_;
  std::size_t flags_;
  std::size_t segment_;
  std::byte* base_ = nullptr;
  int rank_ = 0;
  pid_t child_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Raw>(argc, argv); }
