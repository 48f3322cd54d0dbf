// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as the answers of a launcher to our PMI-1 client.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/pmi1.hpp"
#include "fuzz.hpp"
#include "omnipgas/ompl.h"
#include "util/log.hpp"

namespace {

// The launcher's answers are all there before the client asks.
void use(const ompl::bootstrap::Pmi1Session& session) {
  std::unique_ptr<ompl::bootstrap::Bootstrap> bootstrap;
  if (ompl::bootstrap::open_pmi1(session, &bootstrap) != OMPL_OK) return;
  const auto nodes = bootstrap->node_map();
  fuzz::require(nodes.empty() || nodes.size() == session.size);
  if (bootstrap->set("key", "value") != OMPL_OK || bootstrap->fence() != OMPL_OK) return;
  std::string value;
  for (uint32_t rank = 0; rank < session.size; ++rank) {
    if (bootstrap->get(rank, "key", &value) != OMPL_OK) return;
  }
  static_cast<void>(bootstrap->finish());
}

}  // namespace

void fuzz::one_input(std::string_view bytes) {
  ompl::log::set_level(ompl::log::Level::off);
  std::array<int, 2> ends;
  fuzz::require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  // What does not fit into the socket's buffer is cut off; the client then finds the end of the stream.
  static_cast<void>(send(ends[0], bytes.data(), bytes.size(), MSG_DONTWAIT));
  shutdown(ends[0], SHUT_WR);
  use({ends[1], 1, 3, std::chrono::seconds(1)});
  for (const int end : ends) close(end);
}
