// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "arch/machine.hpp"
#include "conduit/psm2/endpoint.hpp"
#include "conduit/registry.hpp"
#include "util/log.hpp"
#include "util/secret.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::psm2 {
namespace {

class Psm2Conduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "psm2"; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.ordered_signals = true,
            .ordered_puts = true,
            .remote_completion = true,
            .stalls_sender = true,  // a limit of messages under way: the credits are this conduit's own
            .max_fused_put = max_data_,
            .immediate_puts = true,
            .max_message = max_data_,
            .max_endpoints = Library::allows_several() ? UINT32_MAX : 1U};
  }
  [[nodiscard]] std::size_t connection_bytes(const Job& /*job*/) const override {
    return sizeof(Psm2Link);
  }
  int open(const Job& job) override;
  [[nodiscard]] std::string address() const override { return own_.encode(shared_.job->secret); }
  Reach connect(uint32_t rank, std::string_view address) override;
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;

 private:
  int choose_devices(const Settings& settings);

  Library library_;
  LivenessListener liveness_;
  std::vector<NetworkInterface> interfaces_;
  Address own_;
  std::vector<Address> peers_;
  SharedState shared_;
  std::size_t max_data_ = 256;                            // as much as PSM2 promises
  std::vector<std::unique_ptr<Psm2Endpoint>> endpoints_;  // until handed out
};

// What PSM2's shared memory needs to be common: the file system that its files are in, and the user.
uint64_t memory_identity() {
  struct stat status {};
  if (::stat("/dev/shm", &status) != 0) return 0;
  return keyed_hash("psm2 shm", fmt::format("{} {} {} {}", arch::host_identity(), status.st_dev,
                                            status.st_ino, ::getuid())) |
         1;
}

// The same on all ranks, and another one for each job.
PsmUuid key_of_job(const Job& job) {
  PsmUuid key{};
  const Proof proof = prove(job.secret, "psm2 key", {job.size});
  std::memcpy(key.data(), proof.data(), key.size());
  return key;
}

// PSM2 chooses by PSM2_DEVICES; without hfi among them it needs no card.
int Psm2Conduit::choose_devices(const Settings& settings) {
  const std::string& list = settings.psm2_devices;
  const auto names = [&list](const char* device) { return list.find(device) != std::string::npos; };
  own_.by_memory = !list.empty() && !names("hfi") && !names("ipath") && !names("ips");
  shared_.devices = own_.by_memory ? Devices::memory : Devices::fabric;
  if (own_.by_memory || arch::has_file(arch::kOmniPathDevices)) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED,
              "there is no Omni-Path card here ({}); PSM2_DEVICES=self,shm and OMPL_CONDUITS=self,psm2 "
              "run it between processes of one host, for tests",
              arch::kOmniPathDevices);
}

int Psm2Conduit::open(const Job& job) {
  if (job.size > 1 && job.secret.empty()) return fail(OMPL_ERR_ARG, "the job has no secret");
  int code = choose_devices(*job.settings);
  if (code == OMPL_OK) code = library_.load(shared_.devices);
  if (code != OMPL_OK) return code;
  interfaces_ = own_interfaces();
  own_.host = liveness_addresses(*job.settings);
  if (code = liveness_.open(own_.host.ips(), &own_.port); code != OMPL_OK) return code;
  note_signal_actions();
  peers_.resize(job.size);
  own_.challenge = unpredictable_number();
  own_.memory = memory_identity();
  shared_.library = &library_;
  shared_.job = &job;
  shared_.own = &own_;
  shared_.peers = &peers_;
  shared_.liveness = &liveness_;
  for (uint32_t rank = 0; rank < job.size; ++rank)
    shared_.cookies.push_back(cookie(job.secret, rank, job.rank, own_.challenge));
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    endpoints_.push_back(std::make_unique<Psm2Endpoint>(shared_, slot));
    code = endpoints_.back()->open(key_of_job(job), &own_.slots.emplace_back());
    if (code != OMPL_OK) return code;
    max_data_ = endpoints_.back()->max_data();
  }
  log::info("psm2: {} endpoints, by {}", job.slots,
            own_.by_memory ? "shared memory, without a card" : "Omni-Path (never run on a card)");
  return OMPL_OK;
}

Reach Psm2Conduit::connect(uint32_t rank, std::string_view address) {
  Address peer;
  const char* wrong = peer.parse(address, shared_.job->secret);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == shared_.job->rank) return {.why = "this rank itself"};
  if (peer.by_memory != own_.by_memory) return {.why = "PSM2_DEVICES differs: one side lacks hfi"};
  if (own_.by_memory && (own_.memory == 0 || peer.memory != own_.memory))
    return {.why = "PSM2 without hfi reaches the same user's processes on one host only"};
  // Without an address in common nobody is asked whether it lives.
  if (order_for_use(interfaces_, own_.host.network, &peer.host) != nullptr) peer.port = 0;
  peers_[rank] = std::move(peer);
  return {.usable = true,
          .why = own_.by_memory ? "PSM2's shared memory (no card)" : "PSM2 (never run on a card)"};
}

int Psm2Conduit::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (slot >= endpoints_.size() || !endpoints_[slot])
    return fail(OMPL_ERR_ARG, "endpoint {} is not there to be opened", slot);
  *out = std::move(endpoints_[slot]);
  return OMPL_OK;
}

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<Psm2Conduit>(); }

}  // namespace ompl::conduit::psm2
