// SPDX-License-Identifier: BSD-3-Clause
// Adapter of OpenSHMEM. Since 1.5 put + flag is shmem_putmem_signal; before, shmem_putmem, shmem_fence and shmem_p of the
// flag, which is what a 1.4 library has. Each thread has a context of its own if the library makes one: contexts are how
// OpenSHMEM keeps threads from disturbing each other (specification 1.4, section 9.4). Fewer (OMNI_ENDPOINTS) are shared.
#include <cstring>
#include <vector>

#include "harness/endpoints.hpp"
#include "harness/worker.hpp"
#include "shmem_context.hpp"

namespace {

using bench::kPage;

constexpr int kLooksPerDrive = 100;  // at a flag
constexpr bool kNewerThan14 = SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION > 4;

std::string level_name(int level) {
  if (level == SHMEM_THREAD_MULTIPLE) return "SHMEM_THREAD_MULTIPLE";
  return level == SHMEM_THREAD_SERIALIZED ? "SHMEM_THREAD_SERIALIZED" : "at most SHMEM_THREAD_FUNNELED";
}

class Shmem {
 public:
  Shmem(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : buffer_(bench::pages(setup.bytes)),
        channels_(static_cast<std::size_t>(setup.threads)),
        contexts_(setup),
        crowded_(bench::crowded(setup.threads)) {
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &granted_) != 0)
      throw std::runtime_error("shmem_init_thread failed");
    rank_ = shmem_my_pe();
    if (shmem_n_pes() != 2) throw std::runtime_error("needs two ranks");
    if (granted_ < SHMEM_THREAD_MULTIPLE) throw std::runtime_error("got " + level_name(granted_));
    for (Channel& channel : channels_) channel.memory = bench::symmetric_memory(2 * buffer_ + kPage);
    for (bench::ShmemContext& each : contexts_.all()) {
      each.create(contexts_.shared());
      own_ += each.own ? 1 : 0;
    }
    shmem_barrier_all();
  }

  ~Shmem() {
    shmem_barrier_all();
    for (const bench::ShmemContext& each : contexts_.all()) each.destroy();
    for (const Channel& channel : channels_) shmem_free(channel.memory);
    shmem_finalize();
  }
  Shmem(const Shmem&) = delete;
  Shmem& operator=(const Shmem&) = delete;

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] bench::Description describe() const {
    char name[SHMEM_MAX_NAME_LEN + 1] = "";
    shmem_info_get_name(name);
    int major = 0;
    int minor = 0;
    shmem_info_get_version(&major, &minor);
    const bool mapped = shmem_ptr(channels_[0].memory, 1 - rank_) != nullptr;
    return {"OpenSHMEM " + std::to_string(major) + "." + std::to_string(minor) + " (" + name + ")",
            mapped ? "shared memory (shmem_ptr)" : "chosen by the library",
            std::nullopt,
            {{"thread level asked", level_name(SHMEM_THREAD_MULTIPLE)},
             {"thread level granted", level_name(granted_)},
             {"put + flag",
              kNewerThan14 ? "shmem_putmem_signal in one call, else put, fence, p" : "put, fence, p"},
             {"contexts", contexts_.text() + ", granted " + std::to_string(own_)}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return at(i).memory + buffer_; }
  [[nodiscard]] std::byte* target(int i) const { return at(i).memory; }

  void put(int i, std::size_t offset, std::size_t bytes) {
    shmem_ctx_putmem(context(i), target(i) + offset, source(i) + offset, bytes, 1 - rank_);
  }
  void signal(int i) {
    shmem_ctx_fence(context(i));
    shmem_ctx_uint64_p(context(i), flag(i), ++at(i).sent, 1 - rank_);
  }
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION > 4
  void put_signal(int i, std::size_t bytes) {
    shmem_ctx_putmem_signal(context(i), target(i), source(i), bytes, flag(i), ++at(i).sent,
                            SHMEM_SIGNAL_SET, 1 - rank_);
  }
#endif
  void wait(int i) {
    const uint64_t wanted = ++at(i).taken;
    for (int looks = 1; shmem_uint64_test(flag(i), SHMEM_CMP_GE, wanted) == 0; ++looks) {
      if (looks % kLooksPerDrive == 0) bench::drive(context(i));
      if (crowded_) sched_yield();
    }
  }
  void flush(int i) { shmem_ctx_quiet(context(i)); }
  void look(int i) { (void)shmem_uint64_test(flag(i), SHMEM_CMP_GE, 0); }

 private:
  // One per thread: a target, a source, and a page with the flag, at the same place of either rank.
  struct alignas(128) Channel {
    std::byte* memory = nullptr;
    uint64_t sent = 0;
    uint64_t taken = 0;
  };

  [[nodiscard]] shmem_ctx_t context(int i) const { return contexts_.of(i).handle; }
  [[nodiscard]] uint64_t* flag(int i) const {
    return reinterpret_cast<uint64_t*>(at(i).memory + 2 * buffer_);
  }
  Channel& at(int i) { return channels_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Channel& at(int i) const { return channels_[static_cast<std::size_t>(i)]; }

  std::size_t buffer_;
  std::vector<Channel> channels_;
  bench::Endpoints<bench::ShmemContext> contexts_;
  bool crowded_;  // more threads of both ranks than cores: a waiting thread yields
  int rank_ = 0;
  int granted_ = 0;
  int own_ = 0;  // contexts that the library made
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Shmem>(argc, argv); }
