// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads that copy from each other: every partition solves the same system, in the same iterations.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <thread>

#include "solver/cg/cg.hpp"
#include "solver/matrix/generate.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

// What the ranks share. Each reads what the others published between two barriers.
struct World {
  explicit World(uint32_t ranks) : barrier(ranks), values(ranks), vectors(ranks), patterns(ranks) {}
  std::barrier<> barrier;
  std::vector<std::span<double>> values;
  std::vector<const double*> vectors;
  std::vector<const Pattern*> patterns;
};

class Copies final : public Exchange {
 public:
  Copies(World& world, uint32_t rank, const Pattern& pattern)
      : world_(world), pattern_(pattern), rank_(rank), halo_(pattern.neighbours.size()) {
    world.patterns[rank] = &pattern;
    for (const Pattern::Neighbour& n : pattern.neighbours) {
      values_.emplace_back(n.receive);
      halo_[values_.size() - 1] = values_.back().data();
    }
  }
  void start(const double* x) override {
    world_.vectors[rank_] = x;
    started_by_ = std::this_thread::get_id();
    moved_on_ = 0;
  }
  void progress() noexcept override {
    EXPECT_EQ(std::this_thread::get_id(), started_by_);
    ++moved_on_;
  }
  const double* const* wait() override {
    if (rank_ % 2 == 0) {  // one thread, which has a block
      EXPECT_GT(moved_on_, 0U);
    }
    world_.barrier.arrive_and_wait();
    for (std::size_t k = 0; k < pattern_.neighbours.size(); ++k) {
      const Pattern::Neighbour& n = pattern_.neighbours[k];
      const auto& others = world_.patterns[n.part]->neighbours;
      const auto back = std::ranges::find(others, rank_, &Pattern::Neighbour::part);
      if (back == others.end() || back->send.size() != n.receive) {
        ADD_FAILURE() << "part " << n.part << " does not send what part " << rank_ << " receives";
        continue;
      }
      for (uint32_t i = 0; i < n.receive; ++i) values_[k][i] = world_.vectors[n.part][back->send[i]];
    }
    world_.barrier.arrive_and_wait();
    return halo_.data();
  }

 private:
  World& world_;
  const Pattern& pattern_;
  const uint32_t rank_;
  std::thread::id started_by_;
  uint32_t moved_on_ = 0;
  std::vector<std::vector<double>> values_;  // of each neighbour
  std::vector<const double*> halo_;
};

class Sums final : public Reduction {
 public:
  Sums(World& world, uint32_t rank) : world_(world), rank_(rank) {}
  void sum(std::span<double> values) override {
    world_.values[rank_] = values;
    world_.barrier.arrive_and_wait();
    std::vector<double> total(values.size());
    for (const std::span<double> other : world_.values)
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += other[i];
    world_.barrier.arrive_and_wait();
    std::ranges::copy(total, values.begin());
  }

 private:
  World& world_;
  const uint32_t rank_;
};

struct Solution {
  std::vector<double> x;                       // in the matrix's order
  std::vector<std::vector<double>> histories;  // of each rank
};

Solution solve(const Csr& whole, const std::vector<double>& b, const Partition& partition, bool sell) {
  World world(partition.parts);
  Solution out{std::vector<double>(whole.rows), std::vector<std::vector<double>>(partition.parts)};
  std::vector<std::jthread> ranks;
  for (uint32_t rank = 0; rank < partition.parts; ++rank) {
    ranks.emplace_back([&, rank] {
      const LocalMatrix m = localize(whole, partition, rank);
      Team team(rank % 2 + 1);
      Copies exchange(world, rank, m.pattern);
      Sums reduction(world, rank);
      std::vector<double> my_b, my_x(m.own.rows);
      for (const uint32_t row : m.global) my_b.push_back(b[row]);
      const Sell chunks = to_sell(m.own);
      MatrixOperator<Csr> by_rows(m.own, m.coupling, m.interior, exchange, team);
      MatrixOperator<Sell> by_chunks(chunks, m.coupling, m.interior, exchange, team);
      Operator& op = sell ? static_cast<Operator&>(by_chunks) : by_rows;
      out.histories[rank] = cg(op, nullptr, reduction, team, my_b, my_x).history;
      for (uint32_t i = 0; i < my_x.size(); ++i) out.x[m.global[i]] = my_x[i];
    });
  }
  ranks.clear();
  return out;
}

TEST(Ranks, EveryPartitionSolvesTheSame) {
  const Grid grid{{16, 15, 14}};
  const Csr a = generate(stencil_27(), grid);
  std::vector<double> ones(a.rows, 1.0), b(a.rows);
  multiply(a, 0, a.rows, ones.data(), b.data());
  const std::vector<double> expected = solve(a, b, partition_rows(a.rows, 1), false).histories[0];
  for (const uint32_t parts : {2U, 3U, 4U, 7U, 8U}) {
    for (const Partition& partition :
         {partition_rows(a.rows, parts), partition_entries(a.row_lengths(), parts),
          partition_blocks(grid, parts)}) {
      const Solution csr = solve(a, b, partition, false);
      for (const double value : csr.x) ASSERT_NEAR(value, 1, 1e-6);
      ASSERT_EQ(csr.histories[0].size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(csr.histories[0][i], expected[i], 1e-9 * expected[i]);
      for (const auto& history : csr.histories) EXPECT_EQ(history, csr.histories[0]);
      EXPECT_EQ(solve(a, b, partition, true).histories, csr.histories);
    }
  }
}

// Parts that only send, or only receive: the product is right, whatever CG would say of it.
TEST(Ranks, UnsymmetricPattern) {
  std::vector<Entry> entries;
  for (uint32_t i = 0; i < 30; ++i) {
    entries.push_back({i, i, 2});
    if (i >= 10) entries.push_back({i, i - 10, 1.0 + i});
  }
  const Csr a = assemble({0, 30}, 30, entries, Mirror::none, [](uint64_t) { return ""; });
  const Partition partition = partition_rows(30, 3);
  std::vector<double> x(30), expected(30), y(30);
  for (uint32_t i = 0; i < 30; ++i) x[i] = i;
  multiply(a, 0, 30, x.data(), expected.data());
  World world(3);
  {
    std::vector<std::jthread> ranks;
    for (uint32_t rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] {
        const LocalMatrix m = localize(a, partition, rank);
        Team team(1);
        Copies exchange(world, rank, m.pattern);
        MatrixOperator<Csr> op(m.own, m.coupling, m.interior, exchange, team);
        std::vector<double> my_x, my_y(m.own.rows);
        for (const uint32_t row : m.global) my_x.push_back(x[row]);
        op.apply(my_x.data(), my_y.data());
        for (uint32_t i = 0; i < my_y.size(); ++i) y[m.global[i]] = my_y[i];
        world.barrier.arrive_and_wait();  // the others may still look at the pattern
      });
    }
  }
  EXPECT_EQ(y, expected);
}

}  // namespace
