// SPDX-License-Identifier: BSD-3-Clause
// Active messages of LCI 2: post_am with a handler as its remote completion, which reads the payload where it arrived. Each
// thread has a device of its own, as LCI advises. See calls.hpp.
#include <sched.h>
#include <lci.hpp>

#include <vector>

#include "adapters/lci_device.hpp"
#include "calls.hpp"

namespace {

class Lci : public bench::Calls {
 public:
  Lci(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : Calls(setup), devices_(static_cast<std::size_t>(setup.threads)) {
    self = this;
    lci::g_runtime_init_x().alloc_default_device(true)();
    if (lci::get_rank_n() != 2) throw std::runtime_error("needs two ranks");
    rank_ = lci::get_rank_me();
    // All ranks make theirs in the same order: devices and remote completions are numbered.
    for (lci::device_t& device : devices_) device = lci::alloc_device();
    handler_ = lci::alloc_handler_x(run).zero_copy_am(true)();
    remote_ = lci::register_rcomp(handler_);
    lci::barrier();
  }
  ~Lci() {
    lci::barrier();
    lci::deregister_rcomp(remote_);
    lci::free_comp(&handler_);
    for (lci::device_t& device : devices_) lci::free_device(&device);
    lci::g_runtime_fina();
  }

  [[nodiscard]] bench::Description describe() const {
    return {"LCI " LCI_VERSION_FULL,
            bench::lci_transport() + (LCI_WITH_SHM ? ", its own shared memory" : ""),
            static_cast<int>(devices_.size()),
            {{"thread level asked", "none: LCI has no levels"}, {"devices", "one per thread"}}};
  }

  // What is longer than LCI copies at once is out of the question here.
  void call(int i, std::size_t bytes) {
    const auto post = [&] {
      return lci::post_am_x(1 - rank_, source(i), bytes, lci::COMP_NULL, remote_)
          .device(device(i))
          .tag(static_cast<lci::tag_t>(i))();
    };
    while (post().is_retry()) {
      progress(i);
      if (window_.crowded()) sched_yield();
    }
  }
  void take(int i) {
    window_.wait(i, [this, i] { progress(i); });
  }

 private:
  static inline const Lci* self = nullptr;  // LCI's handlers are given nothing of the program's
  static void run(lci::status_t status) {
    self->arrive(static_cast<int>(status.tag), status.buffer, status.size);
    lci::put_upacket(status.buffer);
  }
  [[nodiscard]] lci::device_t device(int i) const { return devices_[static_cast<std::size_t>(i)]; }
  void progress(int i) const { lci::progress_x().device(device(i))(); }

  std::vector<lci::device_t> devices_;
  lci::comp_t handler_;
  lci::rcomp_t remote_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::calls_main<Lci>(argc, argv); }
