// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/bootstrap.hpp"

#include <map>

#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

class SingleBootstrap final : public Bootstrap {
 public:
  [[nodiscard]] std::string_view name() const override { return "single"; }
  [[nodiscard]] uint32_t rank() const override { return 0; }
  [[nodiscard]] uint32_t size() const override { return 1; }
  [[nodiscard]] std::vector<uint32_t> node_map() const override { return {0}; }

  int set(std::string_view key, std::string_view value) override {
    published_.insert_or_assign(std::string(key), value);
    return OMPL_OK;
  }
  int fence() override { return OMPL_OK; }
  int get(uint32_t rank, std::string_view key, std::string* value) override {
    const auto found = published_.find(key);
    if (rank != 0 || found == published_.end()) {
      return fail(OMPL_ERR_LAUNCH, "rank {} has not published \"{}\"", rank, key);
    }
    *value = found->second;
    return OMPL_OK;
  }

  int finish() override { return OMPL_OK; }
  void abort(int exit_code, std::string_view why) override {
    if (exit_code != 0) log::error("aborting: {}", why);  // no launcher: ending is left to the caller
  }

 private:
  std::map<std::string, std::string, std::less<>> published_;
};

}  // namespace

std::unique_ptr<Bootstrap> open_single() { return std::make_unique<SingleBootstrap>(); }

}  // namespace ompl::bootstrap
