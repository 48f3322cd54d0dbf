// SPDX-License-Identifier: BSD-3-Clause
// Datagrams that do not belong to the job: garbage, forgeries without its secret, and its own ones once more. Nothing
// of them is believed, and the job does not notice. Over the stand-in.
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "conduit/registry.hpp"
#include "conduit/verbs/tests/stub/stub_call.hpp"
#include "conduit/verbs/wire.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

using conduit::verbs::Datagram;
using conduit::verbs::HandshakeStep;

constexpr uint32_t kRanks = 3;
constexpr unsigned kSlots = 2;

std::unique_ptr<ThreadWorld> make_world() {
  log::set_level(log::Level::off);
  const auto fabric = every_rank(conduit::self::make, conduit::verbs::make);
  return std::make_unique<ThreadWorld>(fabric(kRanks), Shape{.ranks = kRanks, .endpoints = kSlots});
}

void inject(const void* bytes, std::size_t size) {
  auto* const function = STUB(verbs_stub_inject_datagram);
  ASSERT_NE(function, nullptr) << "this test needs the stand-in for libibverbs";
  function(bytes, static_cast<uint32_t>(size));
}

void inject_garbage(Rank& r, uint64_t idle) {
  std::mt19937 random(4);
  std::vector<std::byte> bytes(256);
  for (int i = 0; i < 300; ++i) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const uint32_t magic = Datagram::kMagic;
    if (i % 2 == 0) std::memcpy(bytes.data(), &magic, sizeof magic);
    inject(bytes.data(), random() % (bytes.size() + 1));
    EXPECT_EQ(r.poll(idle), 0);  // looks at them, so that the next ones find room
  }
}

// Everything right but the proof: of another secret, or none.
void inject_forgeries(Rank& r, uint64_t idle) {
  for (const char* secret : {"", "a", "0123456789abcdef0123456789abcdef"}) {
    for (const HandshakeStep step :
         {HandshakeStep::request, HandshakeStep::reply, HandshakeStep::ready, HandshakeStep::refuse}) {
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        for (uint32_t slot = 0; slot < kSlots * kSlots; ++slot) {
          Datagram forged;
          forged.rank = rank;
          forged.slot = slot / kSlots;
          forged.target_slot = slot % kSlots;
          forged.queue_pair = 0xBAD;
          forged.step = step;
          forged.mtu = 3;
          if (*secret != '\0') forged.proof = forged.proof_to(r.rank, 0, secret);
          inject(&forged, sizeof forged);
          EXPECT_EQ(r.poll(idle), 0);
        }
      }
    }
  }
}

// Every rank with every other one.
void talk(Rank& r, uint64_t data, uint64_t flag) {
  for (uint64_t round = 1; round <= 20; ++round) {
    for (uint32_t distance = 1; distance < r.size; ++distance) {
      const std::vector<std::byte> source = pattern(500, round + r.rank);
      ok(r.put(source.data(), r.right(distance), data + 512 * r.rank, source.size()));
      ok(r.signal(r.right(distance), flag));
    }
    for (uint32_t distance = 1; distance < r.size; ++distance) ok(r.wait(flag));
    for (uint32_t distance = 1; distance < r.size; ++distance) {
      const uint32_t from = r.right(distance);
      EXPECT_EQ(mismatch(r.own(data + 512 * from), 500, round + from), 500U);
    }
    ok(r.barrier());
  }
  ok(r.quiet());
}

void survive(void (*attack)(Rank&, uint64_t idle)) {
  const auto w = make_world();
  const uint64_t data = w->allocate(4096);
  const uint64_t flag = w->allocate(64);
  for (int time = 0; time < 2; ++time) {  // before and after connections are made
    w->run([&](Rank& r) {
      if (r.rank == 0) attack(r, flag + 8);
      talk(r, data, flag);
    });
  }
}

TEST(VerbsStranger, GarbageHarmsNobody) { survive(inject_garbage); }

TEST(VerbsStranger, WhoDoesNotKnowTheSecretIsNotHeard) { survive(inject_forgeries); }

TEST(VerbsStranger, TheJobsOwnDatagramsOnceMoreHarmNobody) {
  survive([](Rank& r, uint64_t idle) {
    for (int i = 0; i < 5; ++i) {
      STUB(verbs_stub_replay_datagrams)();
      EXPECT_EQ(r.poll(idle), 0);
    }
  });
}

// The first job's requests would make connections to queue pairs that are gone.
TEST(VerbsStranger, AnotherJobsDatagramsAreNotHeard) {
  survive([](Rank&, uint64_t) {});
  const auto w = make_world();
  const uint64_t data = w->allocate(4096);
  const uint64_t flag = w->allocate(64);
  EXPECT_GE(STUB(verbs_stub_replay_datagrams)(), kRanks);
  w->run([&](Rank& r) { talk(r, data, flag); });
}

}  // namespace
}  // namespace ompl::conformance
