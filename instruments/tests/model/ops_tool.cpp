// SPDX-License-Identifier: BSD-3-Clause
// For tests: reads cases, one JSON object a line, replays each, prints one JSON object a line.
//   {"params": a parameter file, "model": name, "sharing": bool, "buffer": bytes, "noise": number, "compute_scale": number,
//    "cores": threads that replay,
//    "programs": for each rank [["compute", ns], ["send"|"isend", peer, tag, communicator, bytes, synchronous],
//                               ["recv"|"irecv", peer, tag, communicator], ["wait", [request, ...], [handed, ...]],
//                               ["hand", request or -1, number], ["branch", [operations]], ...],
//    "threads": further threads: [[rank, [operations]], ...]}
// The call site of an operation is its number in its thread's program.
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/input_error.hpp"
#include "model/program.hpp"
#include "model/replay/replay.hpp"
#include "model/writers/report.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

Op message_op(const json& row) {
  const std::string kind = row[0];
  const bool sends = kind == "send" || kind == "isend";
  Op op{.peer = row[1], .tag = row[2]};
  op.communicator = row[3];
  if (sends) {
    op.kind = kind == "send" ? OpKind::send : OpKind::isend;
    op.bytes = row[4];
    op.synchronous = row[5];
  } else {
    op.kind = kind == "recv" ? OpKind::recv : OpKind::irecv;
  }
  return op;
}

void add_wait(Program& program, uint32_t thread, uint32_t site, const json& row) {
  std::vector<Op> waits;
  for (const uint64_t request : row[1])
    waits.push_back({.kind = OpKind::wait, .more = true, .site = site, .request = request});
  if (row.size() > 2)
    for (const uint64_t number : row[2])
      waits.push_back(
          {.kind = OpKind::wait, .more = true, .handed = true, .site = site, .number = number});
  waits.back().more = false;
  for (const Op& wait : waits) program.add(thread, wait);
}

void add_rows(Program& program, uint32_t thread, const json& rows) {
  uint32_t site = 0;
  for (const json& row : rows) {
    const std::string kind = row[0];
    if (kind == "compute") {
      program.add(thread, {.site = site, .ns = row[1]});
    } else if (kind == "wait") {
      add_wait(program, thread, site, row);
    } else if (kind == "hand") {
      program.add(thread, {.kind = OpKind::hand,
                           .site = site,
                           .request = row[1] < 0 ? Op::kNoRequest : row[1].get<uint64_t>(),
                           .number = row[2]});
    } else if (kind == "branch") {
      Op op{.kind = OpKind::branch,
            .site = site,
            .peer = static_cast<int32_t>(program.rank_of(thread)),
            .bytes = 1};
      program.add(thread, op);
      add_rows(program, thread, row[1]);
      op.bytes = 0;
      program.add(thread, op);
    } else {
      Op op = message_op(row);
      op.site = site;
      program.add(thread, op);
    }
    ++site;
  }
}

json replay_case(const json& one) {
  Parameters parameters = parse_parameters(one["params"], model_named(std::string(one["model"])));
  parameters.value[compute] = one.value("compute_scale", 1.0);
  const Options options{.sharing = one.value("sharing", true),
                        .noise = one.value("noise", 0.0),
                        .eager_buffer = one.value("buffer", uint64_t{0}),
                        .threads = one.value("cores", 1U)};
  Program program(static_cast<uint32_t>(one["programs"].size()));
  for (uint32_t rank = 0; rank < program.ranks(); ++rank)
    add_rows(program, rank, one["programs"][rank]);
  for (const json& thread : one.value("threads", json::array()))
    add_rows(program, program.add_thread(thread[0]), thread[1]);
  Prediction prediction{.result = replay(program, parameters, options)};
  if (prediction.result.blocked_count > 0) return {{"deadlock", describe_deadlock(prediction.result)}};
  json out = to_json(prediction, program, parameters);
  const Sensitivity path = trace_critical_path(program, parameters, options);
  out["sensitivity"] = to_json(path, prediction.result, program, parameters, std::nan(""));
  return out;
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    json out;
    try {
      out = replay_case(json::parse(line));
    } catch (const ompl::InputError& error) {
      out = {{"refused", error.what()}};
    }
    std::cout << out.dump() << '\n';
  }
}
