// SPDX-License-Identifier: BSD-3-Clause
// The tcp conduit in parts: what is published, and what a record looks like.
#include <gtest/gtest.h>

#include "conduit/tcp/address.hpp"
#include "conduit/tcp/wire.hpp"

namespace ompl::conduit::tcp {
namespace {

constexpr const char* kSecret = "a secret of the job";

Address example() {
  Address address{.challenge = 7, .host = {.network = 9, .list = {}}, .ports = {4711, 65535, 1}};
  address.host.list.push_back({.ip = std::string("\x7f\0\0\1", 4)});
  address.host.list.push_back({.ip = std::string(16, '\1')});
  return address;
}

TEST(TcpAddress, IsReadBackAsItWasWritten) {
  const Address out = example();
  Address in;
  ASSERT_EQ(in.parse(out.encode(kSecret), kSecret), nullptr);
  EXPECT_EQ(in.challenge, out.challenge);
  EXPECT_EQ(in.ports, out.ports);
  EXPECT_EQ(in.host.ips(), out.host.ips());
  EXPECT_EQ(in.host.network, out.host.network);
}

TEST(TcpAddress, EveryChangedOrMissingByteIsRefused) {
  const std::string good = example().encode(kSecret);
  Address in;
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(in.parse(good.substr(0, i), kSecret), nullptr) << i;
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0x11);
    EXPECT_NE(in.parse(changed, kSecret), nullptr) << i;
  }
  EXPECT_NE(in.parse(good + "x", kSecret), nullptr);
  EXPECT_NE(in.parse(good, "another job's secret"), nullptr);
  EXPECT_TRUE(in.ports.empty()) << "nothing was taken from what is refused";
}

TEST(TcpAddress, ManySlotsStayShort) {
  Address address = example();
  address.ports.assign(64, 1);
  EXPECT_LE(address.encode(kSecret).size(), 256U);
  address.ports.push_back(1);
  Address in;
  EXPECT_NE(in.parse(address.encode(kSecret), kSecret), nullptr);
}

TEST(TcpHandshake, AProofIsGoodForOneGreetingAlone) {
  TcpGreeting greeting{.rank = 1, .slot = 2, .target_slot = 3, .challenge = 4, .asked = 5};
  greeting.proof = greeting.proof_to(6, kSecret);
  EXPECT_TRUE(greeting.is_proven(6, kSecret));
  EXPECT_FALSE(greeting.is_proven(7, kSecret));
  EXPECT_FALSE(greeting.is_proven(6, "another"));
  for (uint32_t* const field : {&greeting.rank, &greeting.slot, &greeting.target_slot}) {
    ++*field;
    EXPECT_FALSE(greeting.is_proven(6, kSecret));
    --*field;
  }
  TcpAnswer answer{.challenge = 8};
  answer.proof = answer.proof_of(6, greeting, kSecret);
  TcpGreeting other = greeting;
  ++other.challenge;
  EXPECT_FALSE(same_proof(answer.proof, answer.proof_of(6, other, kSecret)));
  answer.refusal = TcpRefusal::broken;
  EXPECT_FALSE(same_proof(answer.proof, answer.proof_of(6, greeting, kSecret)));
  const auto confirmation = Confirmation::of(6, greeting, 8, kSecret);
  EXPECT_FALSE(same_proof(confirmation.proof, Confirmation::of(6, greeting, 9, kSecret).proof));
  EXPECT_FALSE(same_proof(confirmation.proof, Confirmation::of(6, other, 8, kSecret).proof));
}

TEST(TcpFrames, ARecordOfManyFieldsIsLonger) {
  const Signal plain{.offset = 64, .value = 3};
  EXPECT_EQ(RecordFrame(plain).size(), sizeof(Frame));
  const Signal full{.offset = 64,
                    .value = 3,
                    .compare = 4,
                    .token = 5,
                    .op = SignalOp::update64,
                    .function = Function::compare_swap};
  const RecordFrame frame(full);
  EXPECT_EQ(frame.size(), kMaxHead);
  const Signal back = to_signal(frame.frame, frame.rest);
  EXPECT_EQ(back.offset, full.offset);
  EXPECT_EQ(back.value, full.value);
  EXPECT_EQ(back.compare, full.compare);
  EXPECT_EQ(back.token, full.token);
  EXPECT_EQ(back.op, full.op);
  EXPECT_EQ(back.function, full.function);
}

}  // namespace
}  // namespace ompl::conduit::tcp
