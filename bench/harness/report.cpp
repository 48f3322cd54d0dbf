// SPDX-License-Identifier: BSD-3-Clause
#include "harness/report.hpp"

namespace bench {

nlohmann::json to_json(const std::vector<ThreadReport>& threads) {
  nlohmann::json body;
  Histogram all;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  body["threads"] = nlohmann::json::array();
  for (const ThreadReport& thread : threads) {
    body["threads"].push_back(
        {{"iterations", thread.iterations}, {"seconds", thread.seconds}, {"sent", thread.sent}});
    if (thread.failed_claims) body["threads"].back()["failed_claims"] = *thread.failed_claims;
    all.merge(thread.histogram);
    min_ns = std::min(min_ns, thread.min_ns);
    max_ns = std::max(max_ns, thread.max_ns);
  }
  body["histogram"] = nlohmann::json::array();
  for (const auto& [bucket, count] : all.counts()) body["histogram"].push_back({bucket, count});
  if (max_ns > 0) body.update({{"min_ns", min_ns}, {"max_ns", max_ns}});
  return body;
}

}  // namespace bench
