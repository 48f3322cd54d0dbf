// SPDX-License-Identifier: BSD-3-Clause
// The keyed hash against the vectors that its authors publish, and what it is used for.
#include "util/secret.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

namespace ompl {
namespace {

// vectors.h of the reference implementation: key 00 01 .. 0f, messages of 0, 1, 2 ... bytes 00 01 02 ...; as bytes.
struct Vector {
  std::size_t length;
  const char* of_64;
  const char* of_128;
};
constexpr Vector kVectors[] = {
    {0, "310e0edd47db6f72", "a3817f04ba25a8e66df67214c7550293"},
    {1, "fd67dc93c539f874", "da87c1d86b99af44347659119b22fc45"},
    {7, "37d1018bf50002ab", "a1f1ebbed8dbc153c0b84aa61ff08239"},
    {8, "6224939a79f5f593", "3b62a9ba6258f5610f83e264f31497b4"},
    {15, "e545be4961ca29a1", "5493e99933b0a8117e08ec0f97cfc3d9"},
    {63, "724506eb4c328a95", "5150d1772f50834a503e069a973fbd7c"},
};

template <class Value>
std::string hex(const Value& value) {
  std::string out;
  unsigned char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte / 16];
    out += "0123456789abcdef"[byte % 16];
  }
  return out;
}

TEST(SipHash, GivesThePublishedVectors) {
  const MacKey key{0x0706050403020100, 0x0F0E0D0C0B0A0908};
  std::string message;
  for (int byte = 0; byte < 64; ++byte) message.push_back(static_cast<char>(byte));
  for (const Vector& vector : kVectors) {
    const std::string_view part = std::string_view(message).substr(0, vector.length);
    EXPECT_EQ(hex(siphash64(key, part)), vector.of_64) << vector.length;
    EXPECT_EQ(hex(siphash128(key, part)), vector.of_128) << vector.length;
  }
}

// FNV-1a, which stood here before, could be taken back a step at a time: one hash of known bytes gave the state that
// the secret had led to, and with it the hashes of all other bytes.
TEST(KeyedHash, OneHashGivesNoOther) {
  constexpr uint64_t kPrime = 0x100000001B3;
  uint64_t inverse = 1;  // of the prime, modulo 2^64
  for (int i = 0; i < 6; ++i) inverse *= 2 - kPrime * inverse;
  ASSERT_EQ(inverse * kPrime, 1U);
  const std::string known = "said once";
  const std::string wanted = "something else";
  uint64_t state = keyed_hash("the secret", known);
  for (auto byte = known.rbegin(); byte != known.rend(); ++byte)
    state = state * inverse ^ static_cast<uint8_t>(*byte);
  for (const char byte : wanted) state = (state ^ static_cast<uint8_t>(byte)) * kPrime;
  EXPECT_NE(state, keyed_hash("the secret", wanted));
}

TEST(Proofs, DifferInEverythingThatIsSaid) {
  const Proof proof = prove("secret", "label", {1, 2});
  EXPECT_TRUE(same_proof(proof, prove("secret", "label", {1, 2})));
  for (const Proof& other : {prove("secrets", "label", {1, 2}), prove("secret", "labels", {1, 2}),
                             prove("secret", "label", {2, 1}), prove("secret", "label", {1}),
                             prove("secret", "label", {1, 2, 0}), prove("", "label", {1, 2})})
    EXPECT_FALSE(same_proof(proof, other));
}

TEST(UnpredictableNumbers, AreNeverTheSame) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(unpredictable_number()).second);
}

}  // namespace
}  // namespace ompl
