// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/recording.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include "model/readers/rank_reader.hpp"

namespace ompl::model {

namespace {

// Send in solve+0x12 (app+0x13a4)
std::string name_of(const RankFile& file, const trace::SiteDefinition& site) {
  const char* const kind = site.id < file.kinds.size() ? trace::name_of(file.kinds[site.id]) : nullptr;
  return (kind == nullptr ? "" : fmt::format("{} in ", kind)) + place_of(file.trace, site);
}

}  // namespace

struct Recording::Files {
  std::vector<std::unique_ptr<RankFile>> ranks;
  std::vector<std::string> sites{"unknown call site"};
  std::vector<Address> addresses{{}};  // of the same
  std::vector<uint32_t> further_threads;
  std::optional<Signals>
      signals;  // if some call says more of a word than one signal and one wait for it
  std::optional<RemoteCalls> remote_calls;  // if there are any

  explicit Files(const std::string& folder) {
    read(trace::rank_files(folder));
    std::map<uint64_t, uint32_t> groups;
    std::map<std::pair<std::string, uint64_t>, uint32_t> known_sites;
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      RankFile& file = *ranks[rank];
      file.place(folder, rank, static_cast<uint32_t>(ranks.size()), groups);
      const auto& trace = file.trace;
      for (const auto& [id, site] : trace.sites()) {
        const auto number = known_sites.emplace(std::pair{trace.text(site.module), site.offset},
                                                static_cast<uint32_t>(sites.size()));
        if (number.second) {
          sites.push_back(name_of(file, site));
          addresses.push_back({trace.text(site.module), site.offset});
        }
        file.sites[id] = number.first->second;
      }
      for (auto& [text, number] : file.task_names) number = site_of_task(trace.text(text));
      for (std::size_t thread = 1; thread < trace.threads().size(); ++thread)
        further_threads.push_back(rank);
    }
    if (std::ranges::any_of(ranks, [](const auto& file) { return file->names_words; })) find_signals();
    if (std::ranges::any_of(ranks, [](const auto& file) { return file->calls_functions; }))
      find_remote_calls();
  }

 private:
  std::map<std::string, uint32_t> tasks_;  // by name, the same for all ranks

  uint32_t site_of_task(const std::string& name) {
    const auto number = tasks_.emplace(name, static_cast<uint32_t>(sites.size()));
    if (number.second) {
      sites.push_back("task " + name);
      addresses.emplace_back();
    }
    return number.first->second;
  }

  // Checks the ranks' files, on all cores.
  void read(const std::vector<std::filesystem::path>& paths) {
    ranks.resize(paths.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t rank = next++; rank < paths.size(); rank = next++)
        ranks[rank] = std::make_unique<RankFile>(paths[rank]);
    };
    std::vector<std::future<void>> others;
    const std::size_t threads =
        std::min<std::size_t>(std::thread::hardware_concurrency(), paths.size());
    for (std::size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
    work();
    for (auto& other : others) other.get();
  }

  [[nodiscard]] std::vector<const trace::RankTrace*> traces() const {
    std::vector<const trace::RankTrace*> found;
    for (const auto& file : ranks) found.push_back(&file->trace);
    return found;
  }

  void find_remote_calls() {
    remote_calls.emplace(traces());
    for (const auto& file : ranks) file->remote_calls = &*remote_calls;
  }

  void find_signals() {
    signals.emplace(traces());
    for (const auto& file : ranks) file->signals = &*signals;
  }
};

Recording::Recording(const std::string& folder) {
  try {
    files_ = std::make_unique<Files>(folder);
  } catch (const trace::TraceError& error) {
    refuse("{}", error.what());
  }
}

Recording::~Recording() = default;

uint32_t Recording::ranks() const { return static_cast<uint32_t>(files_->ranks.size()); }
std::unique_ptr<Stream> Recording::open() const { return open_with({}); }
std::unique_ptr<Stream> Recording::open_with(const Algorithms& algorithms) const {
  auto stream = std::make_unique<CallStream>();
  for (uint32_t thread = 0; thread < threads(); ++thread) {
    const uint32_t rank = rank_of(thread);
    stream->add(std::make_unique<RankReader>(*files_->ranks[rank], rank, number_in_rank(thread) - 1,
                                             algorithms));
  }
  return stream;
}
std::span<const uint32_t> Recording::further_threads() const { return files_->further_threads; }
uint32_t Recording::sites() const { return static_cast<uint32_t>(files_->sites.size()); }
std::string Recording::where(uint32_t /*rank*/, uint32_t site) const { return files_->sites[site]; }
const Address* Recording::address(uint32_t site) const {
  return files_->addresses[site].module.empty() ? nullptr : &files_->addresses[site];
}

bool is_recording(const std::string& path) { return std::filesystem::is_directory(path); }

}  // namespace ompl::model
