// SPDX-License-Identifier: BSD-3-Clause
#include "util/secret.hpp"

#include <sys/random.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <random>

namespace ompl {
namespace {

// Words are read as the machine has them: ranks of one job run on machines of one byte order, and all of ours are
// little-endian, as the algorithm is.
static_assert(std::endian::native == std::endian::little);

class SipHash {
 public:
  SipHash(const MacKey& key, bool wide)
      : v0_(key[0] ^ 0x736F6D6570736575),
        v1_(key[1] ^ 0x646F72616E646F6D ^ (wide ? 0xEE : 0)),
        v2_(key[0] ^ 0x6C7967656E657261),
        v3_(key[1] ^ 0x7465646279746573) {}

  void take_in(std::string_view bytes) {
    const uint64_t length = bytes.size();
    for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data(), sizeof word);
      compress(word);
    }
    uint64_t last = length << 56;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      last |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    compress(last);
  }
  // `mark` is xored into the state before: 0xFF, or 0xEE for the first half of 128 bits; 0xDD for the second, into v1.
  uint64_t first(uint64_t mark) {
    v2_ ^= mark;
    return finish();
  }
  uint64_t second() {
    v1_ ^= 0xDD;
    return finish();
  }

 private:
  void compress(uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }
  uint64_t finish() {
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }
  void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace

uint64_t siphash64(const MacKey& key, std::string_view bytes) {
  SipHash hash(key, false);
  hash.take_in(bytes);
  return hash.first(0xFF);
}

Proof siphash128(const MacKey& key, std::string_view bytes) {
  SipHash hash(key, true);
  hash.take_in(bytes);
  const uint64_t first = hash.first(0xEE);
  return {first, hash.second()};
}

MacKey key_of(std::string_view secret) {
  constexpr MacKey kOfKeys{0x73736150696E6D4F,
                           0x79656B20656874};  // any numbers: the secret is what is secret
  return siphash128(kOfKeys, secret);
}

uint64_t keyed_hash(std::string_view secret, std::string_view bytes) {
  return siphash64(key_of(secret), bytes);
}

Proof prove(std::string_view secret, std::string_view label, std::initializer_list<uint64_t> numbers) {
  std::array<char, 256> said{};  // connections are proven without memory, too
  std::size_t length = label.size() + 1;
  if (length + numbers.size() * sizeof(uint64_t) > said.size()) std::abort();
  label.copy(said.data(), label.size());
  for (const uint64_t number : numbers) {
    std::memcpy(said.data() + length, &number, sizeof number);
    length += sizeof number;
  }
  return siphash128(key_of(secret), {said.data(), length});
}

uint64_t unpredictable_number() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number)) return number;
  std::random_device random;  // of the processor or a device, where the kernel lacks the call
  return uint64_t{random()} << 32 | random();
}

}  // namespace ompl
