// SPDX-License-Identifier: BSD-3-Clause
// What the C++ tests share: they run on two ranks, each of which does every test at the same time.
#ifndef OMNIPGAS_TESTS_BINDINGS_RANKS_HPP
#define OMNIPGAS_TESTS_BINDINGS_RANKS_HPP

#include <gtest/gtest.h>
#include <omnipgas/ompl.hpp>

namespace ranks {

inline uint32_t partner() { return 1 - omnipgas::rank(); }

// `call` throws an Error of this code, whose text contains `hint`.
template <class Call>
void expect_error(int code, const std::string& hint, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const omnipgas::Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(hint), std::string::npos) << error.what();
  }
}

// The body of main().
inline int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const omnipgas::Session session;
  if (omnipgas::size() != 2) throw omnipgas::Error(OMPL_ERR_LAUNCH, "these tests need two ranks");
  return RUN_ALL_TESTS();
}

}  // namespace ranks

#endif  // OMNIPGAS_TESTS_BINDINGS_RANKS_HPP
