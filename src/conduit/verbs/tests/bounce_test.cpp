// SPDX-License-Identifier: BSD-3-Clause
// Puts of up to 8 KiB from the segment are copied and do not wait for the other side; longer ones, and those that find no
// bounce slot, go from where they are.
#include <vector>

#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"
#include "posts.hpp"

namespace ompl::conformance {
namespace {

constexpr std::size_t kBounce = 8192;
constexpr uint64_t kBounces = 64;

// Puts all from one place of the segment, each with other content, to as many places; returns what was posted up to the
// end of the last put. The receiver looks at all of them.
Posts put_many(std::size_t length, uint64_t puts) {
  log::set_level(log::Level::off);
  const auto fabric = every_rank(conduit::self::make, conduit::verbs::make);
  ThreadWorld w(fabric(2), {.ranks = 2, .endpoints = 1});
  const uint64_t from = w.allocate(length);
  const uint64_t to = w.allocate(puts * length);
  const uint64_t flag = w.allocate(64);
  Posts posts;
  w.run([&](Rank& r) {
    if (r.rank == 1) {
      ok(r.wait(flag));
      ok(r.wait(flag));
      for (uint64_t i = 0; i < puts; ++i)
        EXPECT_EQ(mismatch(r.own(to + i * length), length, i), length) << "put " << i;
      return;
    }
    ok(r.put(r.own(from), 1, to, length));  // connects, learns the key
    ok(r.signal(1, flag));
    ok(r.quiet());
    take_posts();
    for (uint64_t i = 0; i < puts; ++i) {
      const std::vector<std::byte> content = pattern(length, i);
      std::ranges::copy(content, r.own(from));
      ok(r.put(r.own(from), 1, to + i * length, length));
    }
    posts = take_all_posts();
    ok(r.signal(1, flag));
  });
  return posts;
}

TEST(VerbsBounce, APutOfUpTo8KiBFromTheSegmentDoesNotWait) {
  for (const std::size_t length : {std::size_t{5000}, kBounce}) {
    const Posts posts = put_many(length, 20);
    EXPECT_EQ(posts.bulk, 20U);
    EXPECT_EQ(posts.outstanding, 20U) << "nobody has looked for completions";
  }
}

TEST(VerbsBounce, ALongerOneWaits) {
  const Posts posts = put_many(kBounce + 1, 20);
  EXPECT_EQ(posts.bulk, 20U);
  EXPECT_EQ(posts.most, 1U);
  EXPECT_EQ(posts.outstanding, 0U);
}

TEST(VerbsBounce, WithoutAFreeSlotItGoesFromWhereItIs) {
  const Posts posts = put_many(kBounce, 3 * kBounces);
  EXPECT_EQ(posts.bulk, 3 * kBounces);
  EXPECT_EQ(posts.most, kBounces + 1) << "the one that found none waited, and so for all before it";
}

}  // namespace
}  // namespace ompl::conformance
