// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/otf2/trace.hpp"

#include <sys/resource.h>

#include "model/readers/otf2/archive.hpp"
#include "model/readers/otf2/definitions.hpp"
#include "model/readers/otf2/events.hpp"

namespace ompl::model {

namespace {

// Each rank's file stays open while it is read.
void allow_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class Otf2Stream : public CallStream {
 public:
  Otf2Stream(const std::string& anchor, const otf2::Definitions& definitions, const otf2::Sites& sites,
             const Algorithms& algorithms)
      : archive_(anchor) {
    archive_.open_events(definitions.ranks);
    for (uint32_t rank = 0; rank < definitions.ranks.size(); ++rank)
      add(std::make_unique<otf2::Rank>(definitions, archive_, definitions.ranks[rank], rank, algorithms,
                                       sites));
  }

 private:
  otf2::Archive archive_;
};

class Otf2Trace : public Trace {
 public:
  explicit Otf2Trace(const std::string& anchor) : Otf2Trace(anchor, otf2::Archive(anchor)) {}

  [[nodiscard]] uint32_t ranks() const override {
    return static_cast<uint32_t>(definitions_.ranks.size());
  }
  [[nodiscard]] std::unique_ptr<Stream> open() const override { return open_with({}); }
  [[nodiscard]] std::unique_ptr<Stream> open_with(const Algorithms& algorithms) const override {
    return std::make_unique<Otf2Stream>(anchor_, definitions_, sites_, algorithms);
  }
  [[nodiscard]] uint32_t sites() const override { return static_cast<uint32_t>(names_.size()); }
  [[nodiscard]] std::string where(uint32_t /*rank*/, uint32_t site) const override {
    return names_[site];
  }

 private:
  Otf2Trace(const std::string& anchor, otf2::Archive archive)
      : anchor_(anchor), definitions_(archive, anchor) {
    scan(archive);
    names_.resize(sites_.all().size() + 1, "unknown call site");
    for (const auto& [place, number] : sites_.all())
      names_[number] = name_of(place.first, place.second);
  }

  void scan(otf2::Archive& archive) {
    using otf2::Rank;
    std::vector<uint64_t> locations = definitions_.threads;
    locations.insert(locations.end(), definitions_.ranks.begin(), definitions_.ranks.end());
    archive.open_events(locations);
    for (const uint64_t location : definitions_.threads)
      Rank(definitions_, archive, location, Rank::kNone, {}, sites_).scan();
    for (uint32_t rank = 0; rank < ranks(); ++rank)
      Rank(definitions_, archive, definitions_.ranks[rank], rank, {}, sites_, &sites_).scan();
  }

  // MPI_Send in solve (solve.c:12)
  [[nodiscard]] std::string name_of(uint32_t function, uint32_t region) const {
    const otf2::Region& called = definitions_.regions.at(function);
    if (region == OTF2_UNDEFINED_REGION)
      return called.place.empty() ? called.name : fmt::format("{} in {}", called.name, called.place);
    const otf2::Region& caller = definitions_.regions.at(region);
    return caller.place.empty() ? fmt::format("{} in {}", called.name, caller.name)
                                : fmt::format("{} in {} ({})", called.name, caller.name, caller.place);
  }

  std::string anchor_;
  otf2::Definitions definitions_;
  otf2::Sites sites_;
  std::vector<std::string> names_{};  // of sites
};

}  // namespace

std::unique_ptr<Trace> read_otf2(const std::string& anchor) {
  allow_open_files();
  const otf2::WatchDog dog;
  return std::make_unique<Otf2Trace>(anchor);
}

}  // namespace ompl::model
