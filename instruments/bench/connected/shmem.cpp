// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with OpenSHMEM: all that a put to it needs, in a context for each thread where the library grants it.
// See harness/connected.hpp.
#include <cstring>
#include <stdexcept>
#include <vector>

#include "adapters/shmem_context.hpp"
#include "harness/connected.hpp"

namespace {

class Shmem : public bench::Connected {
 public:
  Shmem(const bench::Setup& setup, int& /*argc*/, char**& /*argv*/)
      : channels_(static_cast<std::size_t>(setup.threads)) {
    int granted = 0;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &granted) != 0 || granted < SHMEM_THREAD_MULTIPLE)
      throw std::runtime_error("shmem_init_thread did not grant SHMEM_THREAD_MULTIPLE");
    rank_ = shmem_my_pe();
    ranks_ = shmem_n_pes();
    for (Channel& channel : channels_) {
      channel.memory = bench::symmetric_memory(kRegion);
      channel.context.create(false);
    }
    shmem_barrier_all();
  }
  ~Shmem() override {
    shmem_barrier_all();
    for (const Channel& channel : channels_) {
      channel.context.destroy();
      shmem_free(channel.memory);
    }
    shmem_finalize();
  }

  [[nodiscard]] bench::Description describe() const override {
    char name[SHMEM_MAX_NAME_LEN + 1] = "";
    shmem_info_get_name(name);
    return {std::string("OpenSHMEM (") + name + ")", "chosen by the library", std::nullopt, {}};
  }
  [[nodiscard]] std::byte* region(int thread) const override { return at(thread).memory; }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    shmem_ctx_putmem(at(thread).context.handle, region(thread) + to, region(thread) + from, bytes,
                     peer);
  }
  void flush(int thread) override { shmem_ctx_quiet(at(thread).context.handle); }
  void progress() override {
    for (const Channel& channel : channels_) bench::drive(channel.context.handle);
  }

 private:
  struct Channel {
    bench::ShmemContext context;
    std::byte* memory = nullptr;
  };
  [[nodiscard]] const Channel& at(int thread) const {
    return channels_[static_cast<std::size_t>(thread)];
  }

  std::vector<Channel> channels_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Shmem>(argc, argv); }
