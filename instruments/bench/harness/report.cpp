// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

namespace bench {

Report report_of(const std::vector<ThreadReport>& threads) {
  Histogram all;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  for (const ThreadReport& thread : threads) {
    all.merge(thread.histogram);
    min_ns = std::min(min_ns, thread.min_ns);
    max_ns = std::max(max_ns, thread.max_ns);
  }
  Report report{{"threads", threads}, {"histogram", all}};
  if (max_ns > 0) report.insert(report.end(), {{"min_ns", min_ns}, {"max_ns", max_ns}});
  return report;
}

}  // namespace bench
