// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/pmix.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "bootstrap/mpi.hpp"
#include "bootstrap/pmix_library.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

// Ends every published value: some versions of PMIx take no empty ones.
constexpr char kEnd = '.';
constexpr pmix_rank_t kEveryRank = PMIX_RANK_WILDCARD;

// The result of a call of libpmix, most of which wait without any limit; nothing if the limit passed. The
// call goes on then, in its own thread: it must own all that it uses.
std::optional<pmix_status_t> bounded(std::chrono::milliseconds limit,
                                     std::function<pmix_status_t()> call) {
  std::packaged_task<pmix_status_t()> task(std::move(call));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  if (result.wait_for(limit) != std::future_status::ready) return std::nullopt;
  return result.get();
}

// The session that ends at the exit of the process; see the top of pmix.hpp. Exit handlers take no argument.
decltype(&::PMIx_Finalize) g_finalize_put_off;
pid_t g_pmix_put_off_by = 0;

void finalize_client_at_exit() {
  if (::getpid() != g_pmix_put_off_by) return;  // the child of a fork
  bounded(kAbortPatience, [] { return g_finalize_put_off(nullptr, 0); });
}

pmix_proc_t process(const pmix_proc_t& self, pmix_rank_t rank) {
  pmix_proc_t other = self;
  other.rank = rank;
  return other;
}

// An attribute that is switched on.
pmix_info_t attribute(std::string_view key) {
  pmix_info_t info{};
  key.copy(info.key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

// Takes a value of libpmix apart and frees it.
struct PmixValue {
  std::optional<uint32_t> number;
  std::optional<std::string> bytes;  // of a text too

  static PmixValue from(pmix_value_t* value) {
    PmixValue taken;
    if (value->type == PMIX_UINT32) taken.number = value->data.uint32;
    if (value->type == PMIX_STRING && value->data.string != nullptr) {
      taken.bytes.emplace(value->data.string);
      std::free(value->data.string);
    }
    if (value->type == PMIX_BYTE_OBJECT && value->data.bo.bytes != nullptr) {
      taken.bytes.emplace(value->data.bo.bytes, value->data.bo.size);
      std::free(value->data.bo.bytes);
    }
    std::free(value);
    return taken;
  }
};

class Pmix final : public Bootstrap {
 public:
  explicit Pmix(PmixSession session) : session_(std::move(session)) {}

  int open();

  [[nodiscard]] std::string_view name() const override { return "pmix"; }
  [[nodiscard]] uint32_t rank() const override { return session_.rank; }
  [[nodiscard]] uint32_t size() const override { return size_; }
  [[nodiscard]] std::vector<uint32_t> node_map() const override { return node_map_; }

  int set(std::string_view key, std::string_view value) override;
  int fence() override;
  int get(uint32_t rank, std::string_view key, std::string* value) override;
  int finish() override;
  void abort(int exit_code, std::string_view why) override;

 private:
  int initialise();
  int read_size();
  void read_mapping();
  // Runs a call within the session's limit; OMPL_ERR_LAUNCH names `what` failed, and how.
  int run(std::string_view what, std::function<pmix_status_t()> call) const;
  [[nodiscard]] std::string advice() const;
  static std::string key_name(std::string_view key) { return fmt::format("ompl-{}", key); }

  PmixSession session_;
  PmixLibrary pmix_;
  pmix_proc_t self_{};
  uint32_t size_ = 0;
  std::vector<uint32_t> node_map_;
};

// PMIx_Get of one value, without asking the server if `local`; for use within bounded().
pmix_status_t read_value(const PmixLibrary& pmix, const pmix_proc_t& whose, const std::string& key,
                         bool local, PmixValue* out) {
  const pmix_info_t how = attribute(local ? PMIX_OPTIONAL : PMIX_IMMEDIATE);
  pmix_value_t* value = nullptr;
  const pmix_status_t status = pmix.get(&whose, key.c_str(), &how, 1, &value);
  if (status != PMIX_SUCCESS) return status;
  if (value == nullptr) return PMIX_ERR_NOT_FOUND;
  *out = PmixValue::from(value);
  return PMIX_SUCCESS;
}

int Pmix::run(std::string_view what, std::function<pmix_status_t()> call) const {
  const auto status = bounded(session_.limit, std::move(call));
  if (!status) {
    return fail(
        OMPL_ERR_LAUNCH,
        "{} got no answer from the launcher (PMIX_NAMESPACE={}) for {} ms; has another rank hung "
        "before its ompl_init?",
        what, session_.name_space, session_.limit.count());
  }
  if (*status == PMIX_SUCCESS) return OMPL_OK;
  return fail(OMPL_ERR_LAUNCH, "{} failed: {}; {}", what, pmix_.error_string(*status), advice());
}

std::string Pmix::advice() const {
  const char* launchers = ::secure_getenv("PMIX_VERSION");
  const std::string_view ours = pmix_.get_version();
  if (launchers == nullptr || ours.find(launchers) != std::string_view::npos) {
    return fmt::format("is the launcher (PMIX_NAMESPACE={}) still there?", session_.name_space);
  }
  return fmt::format(
      "the launcher's PMIX_VERSION is {}, but this process has loaded {}: set OMPL_PMIX_LIBRARY to "
      "the "
      "launcher's libpmix.so.2",
      launchers, ours);
}

int Pmix::open() {
  int result = pmix_.load(session_.library);
  if (result == OMPL_OK) result = initialise();
  if (result == OMPL_OK) result = read_size();
  if (result == OMPL_OK) read_mapping();
  return result;
}

int Pmix::initialise() {
  const auto self = std::make_shared<pmix_proc_t>();
  const int result =
      run("PMIx_Init", [pmix = pmix_, self] { return pmix.init(self.get(), nullptr, 0); });
  if (result != OMPL_OK) return result;
  self_ = *self;
  const std::string_view name_space(self_.nspace, strnlen(self_.nspace, sizeof self_.nspace));
  if (name_space != session_.name_space || self_.rank != session_.rank) {
    return fail(OMPL_ERR_LAUNCH,
                "PMIX_NAMESPACE={} and PMIX_RANK={}, but PMIx took this process for rank {} of \"{}\"; "
                "pass the launcher's environment on unchanged",
                session_.name_space, session_.rank, self_.rank, name_space);
  }
  return OMPL_OK;
}

int Pmix::read_size() {
  const auto taken = std::make_shared<PmixValue>();
  const int result = run("reading the job's size", [pmix = pmix_, self = self_, taken] {
    return read_value(pmix, process(self, kEveryRank), PMIX_JOB_SIZE, false, taken.get());
  });
  if (result != OMPL_OK) return result;
  size_ = taken->number.value_or(0);
  if (session_.rank >= size_) {
    return fail(OMPL_ERR_LAUNCH, "PMIX_RANK={} is not below the job's size {}", session_.rank, size_);
  }
  return OMPL_OK;
}

// Nodes are told apart by name and numbered in the order of their first ranks. (PMIX_NODEID would be a
// number, but Slurm gives it only for ranks of the own node.) The layout of nodes is a hint: a launcher
// without it is fine.
void Pmix::read_mapping() {
  const auto names = std::make_shared<std::vector<std::string>>();
  const auto status = bounded(session_.limit, [pmix = pmix_, self = self_, size = size_, names] {
    for (uint32_t rank = 0; rank < size; ++rank) {
      PmixValue taken;
      const auto result = read_value(pmix, process(self, rank), PMIX_HOSTNAME, true, &taken);
      if (result != PMIX_SUCCESS) return result;
      names->push_back(taken.bytes.value_or(""));
    }
    return PMIX_SUCCESS;
  });
  if (status != PMIX_SUCCESS) {
    log::info("the launcher's PMIx does not tell the node of every rank");
    return;
  }
  std::map<std::string, uint32_t> numbers;
  for (const auto& name : *names) {
    node_map_.push_back(numbers.try_emplace(name, static_cast<uint32_t>(numbers.size())).first->second);
  }
}

int Pmix::set(std::string_view key, std::string_view value) {
  if (key_name(key).size() > PMIX_MAX_KEYLEN) {
    return fail(OMPL_ERR_LAUNCH, "the key \"{}\" does not fit into PMIx; take a shorter word", key);
  }
  return run(fmt::format("publishing \"{}\"", key),
             [pmix = pmix_, name = key_name(key), bytes = std::string(value) + kEnd]() mutable {
               pmix_value_t object{};
               object.type = PMIX_BYTE_OBJECT;
               object.data.bo = {bytes.data(), bytes.size()};
               return pmix.put(PMIX_GLOBAL, name.c_str(), &object);
             });
}

int Pmix::fence() {
  return run("PMIx_Fence", [pmix = pmix_, all = process(self_, kEveryRank)] {
    const pmix_status_t status = pmix.commit();
    if (status != PMIX_SUCCESS) return status;
    const pmix_info_t collect = attribute(PMIX_COLLECT_DATA);
    return pmix.fence(&all, 1, &collect, 1);
  });
}

int Pmix::get(uint32_t rank, std::string_view key, std::string* value) {
  if (rank >= size_) return fail(OMPL_ERR_LAUNCH, "rank {} of {} published nothing", rank, size_);
  const auto taken = std::make_shared<PmixValue>();
  const int result = run(fmt::format("reading \"{}\" of rank {}", key, rank),
                         [pmix = pmix_, whose = process(self_, rank), name = key_name(key), taken] {
                           return read_value(pmix, whose, name, false, taken.get());
                         });
  if (result != OMPL_OK) return result;
  if (!taken->bytes || !taken->bytes->ends_with(kEnd)) {
    return fail(OMPL_ERR_LAUNCH, "the launcher garbled what rank {} published", rank);
  }
  taken->bytes->pop_back();
  *value = std::move(*taken->bytes);
  return OMPL_OK;
}

int Pmix::finish() {
  if (mpi_phase() != MpiPhase::before_init) {
    return run("PMIx_Finalize", [pmix = pmix_] { return pmix.finalize(nullptr, 0); });
  }
  g_finalize_put_off = pmix_.finalize;
  g_pmix_put_off_by = ::getpid();
  return std::atexit(finalize_client_at_exit) == 0 ? OMPL_OK : fail(OMPL_ERR_SYSTEM, "atexit: no room");
}

void Pmix::abort(int exit_code, std::string_view why) {
  if (exit_code != 0) log::error("aborting the job: {}", why);
  const auto status = bounded(kAbortPatience, [pmix = pmix_, exit_code, text = std::string(why)] {
    return pmix.abort(exit_code, text.c_str(), nullptr, 0);
  });
  if (status == PMIX_SUCCESS) std::this_thread::sleep_for(kAbortPatience);  // the end comes by a signal
}

}  // namespace

int open_pmix(const PmixSession& session, std::unique_ptr<Bootstrap>* out) {
  auto pmix = std::make_unique<Pmix>(session);
  const int result = pmix->open();
  if (result == OMPL_OK) *out = std::move(pmix);
  return result;
}

}  // namespace ompl::bootstrap
