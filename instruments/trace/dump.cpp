// SPDX-License-Identifier: BSD-3-Clause
// ompl_trace_dump: a trace as lines of JSON. What omni and the tests read traces with.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "common/command_line.hpp"
#include "reader/folder.hpp"

namespace {

using namespace ompl::trace;
using Json = nlohmann::ordered_json;

constexpr std::pair<Flag, const char*> kFlags[] = {
    {kAskedAnySource, "any_source"},
    {kAskedAnyTag, "any_tag"},
    {kCompleted, "completed"},
    {kSeveral, "several"},
    {kInPlace, "in_place"},
    {kCancelled, "cancelled"},
    {kFailed, "failed"},
    {kFortran, "fortran"},
    {kRepeated, "repeated"},
    {kRetried, "retried"},
    {kInterrupted, "interrupted"},
};

void print(const Json& line) {
  std::puts(line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

std::string kind_name(Kind kind) {
  const char* const name = name_of(kind);
  return name != nullptr ? name : std::to_string(static_cast<uint16_t>(kind));
}

Json flags_of(const Record& record) {
  Json names = Json::array();
  for (const auto& [flag, name] : kFlags) {
    if ((record.flags & flag) != 0) names.push_back(name);
  }
  return names;
}

Json match_of(const Record& match) {
  return {{"request", match.request},
          {"peer", match.peer},
          {"tag", match.tag},
          {"bytes", match.bytes},
          {"flags", flags_of(match)}};
}

Json word_of(const Word& word) {
  return {{"number", word.number},
          {"function", word.function},
          {"value", word.value},
          {"compare", word.compare},
          {"width", word.width}};
}

Json place_of(const RankTrace& trace, uint32_t id) {
  const auto found = trace.sites().find(id);
  if (found == trace.sites().end()) return {{"id", id}};
  const SiteDefinition& site = found->second;
  return {{"id", id},
          {"module", trace.text(site.module)},
          {"offset", site.offset},
          {"symbol", site.symbol != 0 ? trace.text(site.symbol) : ""},
          {"inside", site.inside}};
}

void print_call(const RankTrace& trace, uint32_t thread, const CallView& view, bool local) {
  const Record& call = *view.call;
  Json line = {{"call", kind_name(call.kind)},
               {"rank", trace.header().rank},
               {"thread", thread},
               {"begin", local ? static_cast<int64_t>(call.begin) : trace.reference_ns(call.begin)},
               {"end", local ? static_cast<int64_t>(call.end) : trace.reference_ns(call.end)},
               {"peer", call.peer},
               {"tag", call.tag},
               {"comm", call.comm},
               {"request", call.request},
               {"bytes", call.bytes},
               {"site", call.site},
               {"flags", flags_of(call)}};
  if (names_text(call.kind)) line["name"] = trace.text(call.request);
  if (!view.ids.empty()) line["ids"] = view.ids;
  if (!view.sent.empty()) line["sent"] = view.sent;
  if (!view.received.empty()) line["received"] = view.received;
  for (const Record& match : view.matches) line["matches"].push_back(match_of(match));
  for (const Word& word : view.words) line["words"].push_back(word_of(word));
  print(line);
}

void print_definitions(const RankTrace& trace) {
  for (const auto& [id, info] : trace.communicators()) {
    Json line = {{"communicator", id},
                 {"rank", trace.header().rank},
                 {"global", info.definition.global},
                 {"size", info.definition.size},
                 {"own_rank", info.definition.rank},
                 {"parent", info.definition.parent},
                 {"made_by", kind_name(info.definition.made_by)},
                 {"ranks", info.ranks},
                 {"remote_ranks", info.remote_ranks}};
    const auto topology = trace.topologies().find(id);
    if (topology != trace.topologies().end()) {
      line["topology"] = {topology->second.first, topology->second.second};
    }
    print(line);
  }
  for (const auto& [id, window] : trace.windows()) {
    print({{"window", id},
           {"rank", trace.header().rank},
           {"comm", window.comm},
           {"bytes", window.bytes}});
  }
  for (const auto& [id, site] : trace.sites()) {
    print({{"site", place_of(trace, id)}, {"rank", trace.header().rank}});
  }
}

bool sends(const Record& call) {
  switch (call.kind) {
    case Kind::kOmplPut:
    case Kind::kOmplPutSignal:
    case Kind::kOmplPutStrided:
    case Kind::kOmplPutIndexed:
      return true;
    case Kind::kOmplPutNb:
      return (call.flags & kRetried) == 0;
    default:
      return group_of(call.kind) == Group::kSend || group_of(call.kind) == Group::kPostSend;
  }
}

// What a rank did, in one line: omni's table.
void print_summary(const RankTrace& trace) {
  uint64_t calls = 0;
  uint64_t records = 0;
  uint64_t in_calls = 0;
  uint64_t in_tracer = 0;
  uint64_t sent = 0;
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  std::map<std::string, uint64_t> unknown;
  std::map<uint32_t, uint64_t> in_exchange;  // bytes to all neighbours, by halo
  for (const StreamView& thread : trace.threads()) {
    records += thread.records;
    trace.for_each_call(thread, [&](const CallView& view) {
      const Record& call = *view.call;
      const Group group = group_of(call.kind);
      if (group == Group::kTracer) {
        in_tracer += call.end - call.begin;
        return;
      }
      calls += (call.flags & kRepeated) != 0 ? call.bytes : 1;
      in_calls += call.end - call.begin;
      if (sends(call)) sent += call.bytes;
      if (call.kind == Kind::kOmplHaloCreate)
        in_exchange[call.request] = std::accumulate(view.sent.begin(), view.sent.end(), uint64_t{0});
      if (call.kind == Kind::kOmplHaloStart) sent += in_exchange[call.request];
      if (group == Group::kOpaque)
        ++unknown[name_of(call.kind) != nullptr ? trace.text(call.request) : kind_name(call.kind)];
      first = std::min(first, trace.reference_ns(call.begin));
      last = std::max(last, trace.reference_ns(call.end));
    });
  }
  const FileHeader& header = trace.header();
  static constexpr const char* kStates[] = {"ended without MPI_Finalize", "finalized", "aborted"};
  print({{"rank", header.rank},
         {"ranks", header.ranks},
         {"host", header.host},
         {"library", header.library},
         {"program", header.program},
         {"state", kStates[static_cast<uint32_t>(header.state)]},
         {"code", header.code},
         {"threads", trace.threads().size()},
         {"calls", calls},
         {"records", records},
         {"lost", header.lost},
         {"seconds", calls > 0 ? static_cast<double>(last - first) * 1e-9 : 0.0},
         {"mpi_seconds", static_cast<double>(in_calls) * 1e-9},
         {"tracer_seconds", static_cast<double>(in_tracer) * 1e-9},
         {"bytes_sent", sent},
         {"clock_uncertainty", trace.clock_uncertainty()},
         {"clock_offset", static_cast<int64_t>(header.clock[0].reference - header.clock[0].local)},
         {"clock", header.clock_name},
         {"unknown", unknown}});
}

void print_rank(const std::filesystem::path& path, bool summary, bool local) {
  const MappedFile file(path);
  const RankTrace trace(path.string(), file.bytes());
  if (summary) return print_summary(trace);
  print_definitions(trace);
  for (const StreamView& thread : trace.threads()) {
    trace.for_each_call(thread,
                        [&](const CallView& view) { print_call(trace, thread.number, view, local); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app(
        "Prints a trace as lines of JSON: definitions, then calls; times in ns of rank 0's host.");
    std::filesystem::path from;
    bool summary = false;
    bool local = false;
    app.add_option("trace", from, "Folder of a trace, or the file of one rank")->required();
    app.add_flag("--summary", summary, "One line for each rank instead");
    app.add_flag("--local", local, "Times of calls by each rank's own clock");
    ompl::say_printable(app);
    CLI11_PARSE(app, argc, argv);
    const bool folder = std::filesystem::is_directory(from);
    for (const auto& path : folder ? rank_files(from) : std::vector{from})
      print_rank(path, summary, local);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", ompl::printable(error.what()).c_str());
    return 1;
  }
}
