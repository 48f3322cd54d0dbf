// SPDX-License-Identifier: BSD-3-Clause
#include "model/recording.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "model/rank_reader.hpp"

namespace ompl::model {

namespace {

// Send in solve+0x12 (app+0x13a4), or without an exported symbol Send in app+0x13a4.
std::string name_of(const RankFile& file, const trace::SiteDefinition& site) {
  const auto& trace = file.trace;
  const char* const kind = site.id < file.kinds.size() ? trace::name_of(file.kinds[site.id]) : nullptr;
  const std::string call = kind == nullptr ? "" : fmt::format("{} in ", kind);
  const std::string module = std::filesystem::path(trace.text(site.module)).filename().string();
  const std::string place = fmt::format("{}+{:#x}", module, site.offset);
  if (site.symbol == 0) return call + place;
  return fmt::format("{}{}+{:#x} ({})", call, trace.text(site.symbol), site.inside, place);
}

class RecordingStream : public Stream {
 public:
  RecordingStream(const std::vector<std::unique_ptr<RankFile>>& files, const Algorithms& algorithms) {
    for (uint32_t rank = 0; rank < files.size(); ++rank)
      ranks_.emplace_back(*files[rank], rank, algorithms);
  }
  bool next(uint32_t rank, Op& op) override { return ranks_[rank].next(op); }
  [[nodiscard]] std::map<std::string, uint64_t> not_modelled() const override {
    std::map<std::string, uint64_t> out;
    for (const RankReader& rank : ranks_)
      for (const auto& [name, count] : rank.not_modelled()) out[name] += count;
    return out;
  }
  [[nodiscard]] std::map<std::string, uint64_t> collectives() const override {
    std::map<std::string, uint64_t> out;
    for (std::size_t i = 0; i < kCollectives; ++i)
      for (const RankReader& rank : ranks_)
        if (const uint64_t count = rank.count_of(static_cast<Collective>(i)))
          out[std::string(name_of(static_cast<Collective>(i)))] += count;
    return out;
  }

 private:
  std::vector<RankReader> ranks_;
};

}  // namespace

struct Recording::Files {
  std::vector<std::unique_ptr<RankFile>> ranks;
  std::vector<std::string> sites{"unknown call site"};
  std::vector<Address> addresses{{}};  // of the same

  explicit Files(const std::string& folder) {
    read(trace::rank_files(folder));
    std::map<uint64_t, uint32_t> groups;
    std::map<std::pair<std::string, uint64_t>, uint32_t> known_sites;
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      RankFile& file = *ranks[rank];
      const auto& trace = file.trace;
      if (trace.header().rank != rank || trace.header().ranks != ranks.size())
        refuse("{}: the file of rank {} is of rank {} of {}", folder, rank, trace.header().rank,
               trace.header().ranks);
      for (const auto& [id, info] : trace.communicators()) {
        const auto& definition = info.definition;
        if (definition.rank >= definition.size)
          refuse("{}: rank {} of a communicator of {}", folder, definition.rank, definition.size);
        const auto number =
            groups.emplace(definition.global, static_cast<uint32_t>(groups.size())).first;
        file.groups[id] = {number->second, definition.rank, definition.size, &info};
      }
      for (const auto& [id, site] : trace.sites()) {
        const auto number = known_sites.emplace(std::pair{trace.text(site.module), site.offset},
                                                static_cast<uint32_t>(sites.size()));
        if (number.second) {
          sites.push_back(name_of(file, site));
          addresses.push_back({trace.text(site.module), site.offset});
        }
        file.sites[id] = number.first->second;
      }
    }
  }

 private:
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
  return std::make_unique<RecordingStream>(files_->ranks, algorithms);
}
uint32_t Recording::sites() const { return static_cast<uint32_t>(files_->sites.size()); }
std::string Recording::where(uint32_t /*rank*/, uint32_t site) const { return files_->sites[site]; }
const Address* Recording::address(uint32_t site) const {
  return site == 0 ? nullptr : &files_->addresses[site];
}

bool is_recording(const std::string& path) { return std::filesystem::is_directory(path); }

}  // namespace ompl::model
