// SPDX-License-Identifier: BSD-3-Clause
#include "solver/ranks/rows.hpp"

#include <algorithm>
#include <array>
#include <future>

#include "solver/matrix/matrix_file.hpp"
#include "solver/partition/shares.hpp"
#include "solver/ranks/all_to_all.hpp"
#include "solver/ranks/layer.hpp"
#include "solver/ranks/whole.hpp"

namespace ompl::solver {

namespace {

constexpr uint64_t kLeastShare = 65536;  // bytes that are worth a thread

// What one thread found.
struct Found {
  Tally tally;
  std::vector<std::vector<Entry>> entries;  // for each rank
};

class Reader {
 public:
  Reader(const std::string& path, uint32_t threads)
      : path_(path), rank_(my_rank()), ranks_(all_ranks()), threads_(threads) {}

  FileRows read() {
    alike([&] { open(); });
    expect_same({size_, head_.bytes, uint64_t{cut_}, threads_});
    if (cut_)
      read_shares();
    else
      alike([&] { listed_ = list_matrix(*lines_, [&](uint32_t rows) { return block_of(rows); }); });
    expect_same({listed_.rows, listed_.columns, static_cast<uint64_t>(listed_.mirror), listed_.count});
    FileRows out{.rows = listed_.rows, .mirrored = listed_.mirror == Mirror::symmetric, .mine = {}};
    const RowRange block = block_of(listed_.rows);
    alike([&] {
      out.mine.rows = rows_of(listed_, block, *lines_);
      listed_.entries = {};
    });
    alike([&] {
      check_square(listed_.rows, listed_.columns);
      check_finite(out.mine.rows, block.first);
      out.mine.global = block.numbers();
    });
    return out;
  }

 private:
  [[nodiscard]] RowRange block_of(uint32_t rows) const { return row_block(rows, ranks_, rank_); }

  void open() {
    lines_ = Lines::of_file(path_);
    const bool market = is_matrix_market(*lines_);
    size_ = lines_->size().value_or(0);
    if (!market || size_ == 0) return;
    head_ = read_matrix_market_head(*lines_);
    cut_ = !head_.array;
    if (!cut_) lines_ = Lines::of_file(path_);
    threads_ = static_cast<uint32_t>(std::clamp<uint64_t>(size_ / ranks_ / kLeastShare, 1, threads_));
  }

  // Otherwise shares would not fit together, or ranks wait for what nobody sends.
  void expect_same(const std::array<uint64_t, 4>& mine) const {
    const Received<uint64_t> seen = gather_everywhere<uint64_t>(mine, ranks_);
    alike([&] {
      for (uint32_t rank = 1; rank < ranks_; ++rank)
        if (!std::ranges::equal(seen.from(rank), seen.from(0)))
          refuse("{}: rank {} finds another file there than rank 0; it must be the same everywhere",
                 path_, rank);
    });
  }

  void read_shares() {
    std::vector<Found> found;
    alike([&] { found = parse(); });
    std::vector<Tally> mine;
    mine.reserve(found.size());
    for (const Found& f : found) mine.push_back(f.tally);
    const std::vector<Tally> all = gather_everywhere<Tally>(mine, ranks_).all;
    alike([&] { check_shares(all); });
    listed_ = listed_of(head_);
    uint64_t line = head_.line;
    for (std::size_t i = 0; i < first_share(); ++i) line += all[i].lines;
    for (Found& f : found) {
      for (auto& entries : f.entries)
        for (Entry& e : entries) e.line += line;
      line += f.tally.lines;
      add(exchange(std::move(f.entries)).all);
    }
  }

  [[nodiscard]] std::size_t first_share() const { return std::size_t{rank_} * threads_; }
  [[nodiscard]] Share share(std::size_t index) const {
    return share_of(head_, size_, static_cast<uint32_t>(index), ranks_ * threads_);
  }

  // A thread for each of this rank's shares.
  std::vector<Found> parse() const {
    std::vector<std::future<Found>> under_way;
    for (std::size_t i = 0; i < threads_; ++i)
      under_way.push_back(
          std::async(std::launch::async, [this, i] { return parse_share(first_share() + i); }));
    std::vector<Found> out;
    out.reserve(under_way.size());
    for (std::future<Found>& one : under_way) out.push_back(one.get());
    return out;
  }

  [[nodiscard]] Found parse_share(std::size_t index) const {
    Found out{.tally = {}, .entries = std::vector<std::vector<Entry>>(ranks_)};
    const auto owner_of = [&](uint32_t row) { return block_of_row(head_.rows, ranks_, row); };
    out.tally = read_share(Lines::of_file(path_), head_, share(index), [&](const Entry& e) {
      const uint32_t owner = owner_of(e.row);
      out.entries[owner].push_back(e);
      if (head_.mirror == Mirror::none) return;
      const uint32_t mirrors = owner_of(e.column);
      if (mirrors != owner) out.entries[mirrors].push_back(e);
    });
    return out;
  }

  void check_shares(std::span<const Tally> all) const {
    const std::optional<Fault> fault = first_fault(*lines_, head_, all);
    if (fault && fault->share / threads_ == rank_)
      refuse_share(Lines::of_file(path_), head_, share(fault->share), *fault);
  }

  void add(std::vector<Entry> more) {
    if (listed_.entries.empty())
      listed_.entries = std::move(more);
    else
      listed_.entries.insert(listed_.entries.end(), more.begin(), more.end());
  }

  const std::string path_;
  const uint32_t rank_, ranks_;
  uint32_t threads_;
  std::optional<Lines> lines_;
  uint64_t size_ = 0;  // 0: not known, so not to be cut
  bool cut_ = false;
  MatrixMarketHead head_;
  Listed listed_;
};

}  // namespace

FileRows read_rows(const std::string& path, uint32_t threads) { return Reader(path, threads).read(); }

}  // namespace ompl::solver
