// SPDX-License-Identifier: BSD-3-Clause
#include "solver/ranks/alike.hpp"

#include <new>
#include <system_error>

#include "common/input_error.hpp"
#include "solver/ranks/all_to_all.hpp"
#include "solver/ranks/layer.hpp"

namespace ompl::solver {

std::string refusal_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "not enough memory; take a smaller matrix or more machines";
  } catch (const std::system_error& error) {
    return error.what();
  }
  return "";
}

void alike(const std::function<void()>& f) {
  const std::string mine = refusal_of(f);
  const Received<char> all = gather_everywhere<char>(mine, all_ranks());
  for (uint32_t rank = 0; rank < all_ranks(); ++rank) {
    const std::span<const char> why = all.from(rank);
    if (!why.empty()) throw InputError(std::string(why.begin(), why.end()));
  }
}

}  // namespace ompl::solver
