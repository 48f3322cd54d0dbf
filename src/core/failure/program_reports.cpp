// SPDX-License-Identifier: BSD-3-Clause
#include "core/failure/program_reports.hpp"

#include <algorithm>
#include <array>

#include "util/mutex.hpp"

namespace ompl {
namespace {

constexpr std::size_t kLongest = 65536;

struct ProgramReport {
  ompl_report_fn function = nullptr;
  void* argument = nullptr;
  bool operator==(const ProgramReport&) const = default;
};

Mutex g_mutex;
std::array<ProgramReport, OMPL_REPORTS> g_reports OMPL_GUARDED_BY(g_mutex);

bool replace(const ProgramReport& from, const ProgramReport& to) {
  const Lock lock(g_mutex);
  auto* const found = std::find(g_reports.begin(), g_reports.end(), from);
  if (found == g_reports.end()) return false;
  *found = to;
  return true;
}

}  // namespace

int add_report(ompl_report_fn report, void* argument) {
  if (report == nullptr) return OMPL_ERR_ARG;
  return replace({}, {report, argument}) ? OMPL_OK : OMPL_ERR_MEMORY;
}

int remove_report(ompl_report_fn report, void* argument) {
  return report != nullptr && replace({report, argument}, {}) ? OMPL_OK : OMPL_ERR_ARG;
}

std::string program_reports() {
  std::string all;
  const Lock lock(g_mutex);
  for (const ProgramReport& report : g_reports) {
    if (report.function == nullptr) continue;
    std::string text(kLongest, '\0');
    const std::size_t length = report.function(text.data(), text.size(), report.argument);
    text.resize(std::min(length, kLongest - 1));
    all += text;
  }
  return all;
}

}  // namespace ompl
