// SPDX-License-Identifier: BSD-3-Clause
// How ranks prove to each other that they know the job's secret without telling it: SipHash-2-4, a hash made to be keyed
// (Aumasson and Bernstein 2012). Why it is our own: docs/explanation/decisions-networks.md.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace ompl {

// 128 bits.
using MacKey = std::array<uint64_t, 2>;
using Proof = std::array<uint64_t, 2>;

// SipHash-2-4 of 64 and of 128 bits, as published.
uint64_t siphash64(const MacKey& key, std::string_view bytes);
Proof siphash128(const MacKey& key, std::string_view bytes);

// A secret of any length as a key.
MacKey key_of(std::string_view secret);

// Who does not know the secret can neither find the hash of other bytes nor change bytes unseen.
uint64_t keyed_hash(std::string_view secret, std::string_view bytes);

// What only who knows the secret can say about these numbers. `label` says what it is said for: a proof of one
// kind is worth nothing as one of another kind.
Proof prove(std::string_view secret, std::string_view label, std::initializer_list<uint64_t> numbers);

// Takes as long for every difference.
inline bool same_proof(const Proof& a, const Proof& b) { return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0; }

// A number that nobody can foresee, for challenges and names.
uint64_t unpredictable_number();

}  // namespace ompl
