// SPDX-License-Identifier: BSD-3-Clause
// Halo exchange by every strategy: every byte of every exchange is looked at where it landed, with ranks that are late at random.
#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "conformance/conformance.hpp"
#include "omnipgas/halo.h"

namespace ompl::conformance {
namespace {

constexpr std::array kStrategies{OMPL_HALO_DOUBLE_BUFFER, OMPL_HALO_SINGLE, OMPL_HALO_ACKED,
                                 OMPL_HALO_AUTO};
constexpr std::size_t kVector = 40;              // elements of a vector
constexpr int64_t kHaloLimit = 240'000'000'000;  // ns; nothing takes so long

// Elements that `from` sends to `to`: consecutive ones, or every third.
std::vector<uint32_t> elements(uint32_t from, uint32_t to) {
  std::vector<uint32_t> list;
  const uint32_t step = (from + to) % 2 == 0 ? 3 : 1;
  for (uint32_t i = 0; i < 4 + from; ++i)
    list.push_back(static_cast<uint32_t>((2 + to + i * step) % kVector));
  return list;
}

// The byte of an element that stands in a rank's vector during an exchange.
std::byte content(uint32_t rank, uint64_t exchange, std::size_t vector, std::size_t byte) {
  return static_cast<std::byte>(
      (uint64_t{rank} * 7919 + exchange * 104'729 + vector * 31 + byte * 131) >> 2);
}

// One rank's side: lists, vectors, and the halo.
class Side {
 public:
  using Sends = std::function<bool(uint32_t from, uint32_t to)>;

  Side(Rank& r, int32_t strategy, const std::set<uint32_t>& neighbors, const Sends& sends = all,
       std::size_t element = 8, std::size_t vectors = 2)
      : rank_(r.rank), element_(element), vectors_(vectors, std::vector<std::byte>(kVector * element)) {
    for (const uint32_t other : neighbors) {
      out_.push_back(sends(r.rank, other) ? elements(r.rank, other) : std::vector<uint32_t>());
      in_.push_back(sends(other, r.rank) ? elements(other, r.rank) : std::vector<uint32_t>());
      ranks_.push_back(other);
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ompl_halo_neighbor n{};
      n.rank = ranks_[i];
      n.send_indices = out_[i].data();
      n.send_count = out_[i].size();
      n.receive_count = in_[i].size();
      n.receive_positions = in_[i].data();
      list_.push_back(n);
    }
    ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
    config.element = element;
    config.vectors = vectors;
    config.length = kVector;
    config.strategy = strategy;
    ok(ompl_halo_create(&config, list_.data(), list_.size(), &halo_));
  }
  ~Side() { ok(ompl_halo_destroy(halo_)); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  static bool all(uint32_t /*from*/, uint32_t /*to*/) { return true; }

  [[nodiscard]] ompl_halo* halo() const { return halo_; }
  [[nodiscard]] std::size_t neighbors() const { return ranks_.size(); }

  int start(ompl_ctx* ctx, uint64_t exchange, int64_t timeout_ns = kHaloLimit) {
    const bool sends = std::ranges::any_of(out_, [](const auto& list) { return !list.empty(); });
    std::vector<const void*> sources;
    for (std::size_t v = 0; v < vectors_.size(); ++v) {
      for (std::size_t i = 0; i < vectors_[v].size(); ++i)
        vectors_[v][i] = content(rank_, exchange, v, i);
      sources.push_back(sends ? vectors_[v].data() : nullptr);
    }
    return ompl_halo_start(ctx, halo_, sources.data(), timeout_ns);
  }
  // Whether all that came from neighbour i is what it sent in this exchange.
  [[nodiscard]] bool right(std::size_t i, uint64_t exchange) const {
    for (std::size_t v = 0; v < vectors_.size(); ++v) {
      const auto* data = static_cast<const std::byte*>(ompl_halo_data(halo_, i, v));
      for (const uint32_t index : in_[i]) {
        for (std::size_t byte = 0; byte < element_; ++byte, ++data)
          if (*data != content(ranks_[i], exchange, v, index * element_ + byte)) return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool all_right(uint64_t exchange) const {
    for (std::size_t i = 0; i < neighbors(); ++i)
      if (!right(i, exchange)) return false;
    return true;
  }

 private:
  const uint32_t rank_;
  const std::size_t element_;
  std::vector<std::vector<std::byte>> vectors_;
  std::vector<std::vector<uint32_t>> out_, in_;
  std::vector<uint32_t> ranks_;
  std::vector<ompl_halo_neighbor> list_;
  ompl_halo* halo_ = nullptr;
};

std::set<uint32_t> ring(const Rank& r) { return {r.left(), r.right()}; }
std::set<uint32_t> everybody(const Rank& r) {
  std::set<uint32_t> ranks;
  for (uint32_t other = 0; other < r.size; ++other) ranks.insert(other);
  return ranks;
}

// Now and then a rank is late.
class Slips {
 public:
  explicit Slips(uint32_t seed) : random_(seed) {}
  void maybe() {
    if (random_() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
  }

 private:
  std::minstd_rand random_;
};

void exchange_all(Rank& r, Side& side, uint64_t count) {
  Slips slips(r.rank + 1);
  for (uint64_t n = 1; n <= count; ++n) {
    slips.maybe();
    ok(side.start(r.ctx(), n));
    ok(ompl_halo_wait(r.ctx(), side.halo(), kHaloLimit));
    slips.maybe();
    ASSERT_TRUE(side.all_right(n)) << "exchange " << n;
  }
}

TEST_P(Conformance, Halo_EveryStrategyOnARing) {
  for (const int32_t strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    world({.ranks = 3})->run([&](Rank& r) {
      Side side(r, strategy, ring(r));
      exchange_all(r, side, rounds(12));
    });
  }
}

TEST_P(Conformance, Halo_ElementsOfAnySize) {
  world({.ranks = 2})->run([&](Rank& r) {
    for (const std::size_t element : {1U, 4U, 12U, 16U, 1000U}) {
      Side side(r, OMPL_HALO_DOUBLE_BUFFER, everybody(r), Side::all, element, 1 + element % 3);
      exchange_all(r, side, 4);
    }
  });
}

// Data go to higher ranks only: a sender has nothing to read that would hold it back.
TEST_P(Conformance, Halo_OneWay) {
  for (const int32_t strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    world({.ranks = 3})->run([&](Rank& r) {
      const auto upwards = [](uint32_t from, uint32_t to) { return from < to; };
      Side side(r, strategy, everybody(r), upwards);
      exchange_all(r, side, rounds(12));
    });
  }
}

// Signals of different contexts are not ordered; nor need they be.
TEST_P(Conformance, Halo_AnyContextStarts) {
  for (const int32_t strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    world({.ranks = 2})->run([&](Rank& r) {
      const std::unique_ptr<Rank> other = r.context();
      Side side(r, strategy, everybody(r));
      for (uint64_t n = 1; n <= rounds(12); ++n) {
        ok(side.start(n % 2 == 0 ? r.ctx() : other->ctx(), n));
        ok(ompl_halo_wait(n % 3 == 0 ? r.ctx() : other->ctx(), side.halo(), kHaloLimit));
        ASSERT_TRUE(side.all_right(n)) << "exchange " << n;
      }
    });
  }
}

TEST_P(Conformance, Halo_WaitSomeNamesEachNeighbourOnce) {
  for (const int32_t strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    world({.ranks = 3})->run([&](Rank& r) {
      Side side(r, strategy, everybody(r));
      for (uint64_t n = 1; n <= rounds(12); ++n) {
        ok(side.start(r.ctx(), n));
        std::multiset<std::size_t> named;
        std::vector<std::size_t> indices(side.neighbors());
        for (std::size_t found = 1; found > 0;) {
          ok(ompl_halo_wait_some(r.ctx(), side.halo(), indices.data(), &found, kHaloLimit));
          for (std::size_t i = 0; i < found; ++i) {
            named.insert(indices[i]);
            ASSERT_TRUE(side.right(indices[i], n)) << "exchange " << n;
          }
        }
        ASSERT_EQ(named.size(), side.neighbors());
        ASSERT_EQ(std::set(named.begin(), named.end()).size(), side.neighbors());
        EXPECT_EQ(ompl_halo_test(r.ctx(), side.halo()), 1);
      }
    });
  }
}

TEST_P(Conformance, Halo_SeveralThreadsWaitSeveralHalosAtOnce) {
  world({.ranks = 2})->run([&](Rank& r) {
    std::vector<std::unique_ptr<Side>> sides;
    for (const int32_t strategy : kStrategies)
      sides.push_back(std::make_unique<Side>(r, strategy, everybody(r)));
    const std::unique_ptr<Rank> helper = r.context();
    for (uint64_t n = 1; n <= rounds(8); ++n) {
      for (const auto& side : sides) ok(side->start(r.ctx(), n));
      std::atomic<std::size_t> named = 0;
      const auto take = [&](ompl_ctx* ctx) {
        for (const auto& side : sides) {
          std::vector<std::size_t> indices(side->neighbors());
          for (std::size_t found = 1; found > 0; named += found) {
            ok(ompl_halo_wait_some(ctx, side->halo(), indices.data(), &found, kHaloLimit));
            for (std::size_t i = 0; i < found; ++i) EXPECT_TRUE(side->right(indices[i], n));
          }
        }
      };
      std::thread thread(take, helper->ctx());
      take(r.ctx());
      thread.join();
      ASSERT_EQ(named, sides.size() * r.size);
    }
    sides.clear();
  });
}

TEST_P(Conformance, Halo_UnpacksToThePositions) {
  world({.ranks = 2})->run([&](Rank& r) {
    Side side(r, OMPL_HALO_DOUBLE_BUFFER, everybody(r));
    ok(side.start(r.ctx(), 1));
    ok(ompl_halo_wait(r.ctx(), side.halo(), kHaloLimit));
    for (uint32_t from = 0; from < r.size; ++from) {
      std::vector<std::byte> a(kVector * 8), b(kVector * 8);
      std::array<void*, 2> vectors{a.data(), b.data()};
      ok(ompl_halo_unpack(side.halo(), from, vectors.data()));
      const std::vector<uint32_t> list = elements(from, r.rank);
      const std::set<uint32_t> sent(list.begin(), list.end());
      for (uint32_t i = 0; i < kVector * 8; ++i) {
        const bool there = sent.contains(i / 8);
        ASSERT_EQ(a[i], there ? content(from, 1, 0, i) : std::byte{0});
        ASSERT_EQ(b[i], there ? content(from, 1, 1, i) : std::byte{0});
      }
      vectors[1] = nullptr;
      EXPECT_EQ(ompl_halo_unpack(side.halo(), from, vectors.data()), OMPL_ERR_ARG);
    }
    const std::array<const void*, 2> none{};  // of a rank that sends
    EXPECT_EQ(ompl_halo_start(r.ctx(), side.halo(), none.data(), kHaloLimit), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_halo_data(side.halo(), r.size, 0), nullptr);
    EXPECT_EQ(ompl_halo_data(side.halo(), 0, 2), nullptr);
  });
}

// Whether this process has an MPI whose strategies can be used. Collective.
bool has_mpi() {
  ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  config.strategy = OMPL_HALO_MPI;
  ompl_halo* halo = nullptr;
  const int code = ompl_halo_create(&config, nullptr, 0, &halo);
  if (code == OMPL_OK) return ompl_halo_destroy(halo) == OMPL_OK;
  EXPECT_EQ(code, OMPL_ERR_UNSUPPORTED);
  return false;
}

// All ranks keep the same one, and say what the others took.
TEST_P(Conformance, Halo_AutoSettles) {
  world({.ranks = 3})->run([](Rank& r) {
    const std::size_t candidates = has_mpi() ? 7 : 3;
    Side side(r, OMPL_HALO_AUTO, ring(r));
    const auto chosen = [&] {
      std::string text(ompl_halo_describe(side.halo(), nullptr, 0) + 1, '?');
      EXPECT_EQ(ompl_halo_describe(side.halo(), text.data(), text.size()), text.size() - 1);
      EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), candidates);
      std::size_t at = text.find('*');
      if (at != std::string::npos) {
        EXPECT_EQ(text.find('*', at + 1), std::string::npos);
        EXPECT_NE(text.find(" us\n"), std::string::npos);
        at = static_cast<std::size_t>(
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
      }
      return at;
    };
    EXPECT_EQ(chosen(), std::string::npos);
    exchange_all(r, side, 17 * candidates);
    EXPECT_LT(chosen(), candidates);
    const uint64_t all = r.allocate(sizeof(uint32_t) * r.size);
    for (uint32_t to = 0; to < r.size; ++to)
      for (std::size_t i = 0; i < chosen() + 1; ++i) ok(r.signal(to, all + sizeof(uint32_t) * r.rank));
    ok(r.barrier());
    for (uint32_t from = 0; from < r.size; ++from)
      EXPECT_EQ(r.drain(all + sizeof(uint32_t) * from), chosen() + 1);
  });
}

// Who has nothing to exchange takes part, and is never waited for.
TEST_P(Conformance, Halo_WithoutNeighbours) {
  world({.ranks = 2})->run([](Rank& r) {
    Side side(r, OMPL_HALO_ACKED, {});
    exchange_all(r, side, 3);
  });
}

// A neighbour that has not started holds up the next exchange, and with `single` already this one, which goes on later.
TEST_P(Conformance, Halo_TimeLimitsAndTheWrongOrder) {
  world({.ranks = 2})->run([](Rank& r) {
    if (r.size < 2) return;
    for (const int32_t strategy : kStrategies) {
      Side side(r, strategy, {r.right()});
      if (r.rank == 0) {
        const bool held = strategy == OMPL_HALO_SINGLE;
        EXPECT_EQ(side.start(r.ctx(), 1, held ? 1'000'000 : kHaloLimit),
                  held ? OMPL_ERR_TIMEOUT : OMPL_OK);
        if (!held) {
          EXPECT_EQ(ompl_halo_test(r.ctx(), side.halo()), 0);
          EXPECT_EQ(ompl_halo_wait(r.ctx(), side.halo(), 1'000'000), OMPL_ERR_TIMEOUT);
          EXPECT_EQ(side.start(r.ctx(), 1), OMPL_ERR_STATE);
        }
        ok(r.barrier());
        if (held) ok(side.start(r.ctx(), 1));
      } else {
        ok(r.barrier());
        ok(side.start(r.ctx(), 1));
      }
      ok(ompl_halo_wait(r.ctx(), side.halo(), kHaloLimit));
      EXPECT_TRUE(side.all_right(1));
      ok(r.barrier());
    }
  });
}

// A mistake on one rank is an error on all, and the job goes on.
TEST_P(Conformance, Halo_WrongPatterns) {
  world({.ranks = 2})->run([](Rank& r) {
    using Spoil = std::function<void(ompl_halo_config&, std::vector<ompl_halo_neighbor>&)>;
    const uint32_t far[] = {0, kVector};
    const std::pair<Spoil, int> cases[] = {
        {[](auto& config, auto&) { config.size = 1; }, OMPL_ERR_ARG},
        {[](auto& config, auto&) { config.element = 0; }, OMPL_ERR_ARG},
        {[](auto& config, auto&) { config.vectors = 0; }, OMPL_ERR_ARG},
        {[](auto& config, auto&) { config.strategy = 8; }, OMPL_ERR_ARG},
        {[](auto& config, auto&) { config.strategy = OMPL_HALO_MPI; },
         has_mpi() ? OMPL_ERR_ARG : OMPL_ERR_UNSUPPORTED},
        {[](auto&, auto& list) { list[0].rank = 99; }, OMPL_ERR_RANK},
        {[](auto&, auto& list) { list.push_back(list[0]); }, OMPL_ERR_ARG},
        {[](auto&, auto& list) { list[0].send_count = kVector + 1; }, OMPL_ERR_LENGTH},
        {[&](auto&, auto& list) { list[0].send_indices = far; }, OMPL_ERR_LENGTH},
        {[](auto&, auto& list) { list[0].receive_first = SIZE_MAX; }, OMPL_ERR_LENGTH},
        {[](auto&, auto& list) { list[0].send_count = 3; }, OMPL_ERR_ARG},
        {[](auto& config, auto&) { config.element = SIZE_MAX / 4; }, OMPL_ERR_LENGTH},
    };
    std::size_t number = 0;
    for (const auto& [spoil, expected] : cases) {
      SCOPED_TRACE(number++);
      ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
      config.length = kVector;
      std::vector<ompl_halo_neighbor> list(1);
      list[0].rank = r.right();
      list[0].send_count = list[0].receive_count = 2;
      if (r.rank == 0) spoil(config, list);
      ompl_halo* halo = nullptr;
      const int code = ompl_halo_create(&config, list.data(), list.size(), &halo);
      EXPECT_EQ(code, r.rank == 0 && expected != OMPL_ERR_ARG ? expected : OMPL_ERR_ARG);
      EXPECT_EQ(halo, nullptr);
    }
    if (r.size > 1) {  // one lists the other, which does not
      ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
      ompl_halo_neighbor n{};
      n.rank = r.right();
      ompl_halo* halo = nullptr;
      EXPECT_EQ(ompl_halo_create(&config, &n, r.rank == 0 ? 1 : 0, &halo), OMPL_ERR_ARG);
    }
    if (r.size > 1) {
      ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
      config.strategy = r.rank == 0 ? OMPL_HALO_SINGLE : OMPL_HALO_ACKED;
      ompl_halo* halo = nullptr;
      EXPECT_EQ(ompl_halo_create(&config, nullptr, 0, &halo), OMPL_ERR_ARG);
    }
    EXPECT_EQ(ompl_halo_start(r.ctx(), nullptr, nullptr, 0), OMPL_ERR_ARG);
    Side side(r, OMPL_HALO_DOUBLE_BUFFER, everybody(r));
    exchange_all(r, side, 3);
  });
}

}  // namespace
}  // namespace ompl::conformance
